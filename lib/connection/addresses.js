'use strict';

// The addresses of several hosts, in the order in which one connection tries them, one by one. libpq takes a list, too, but
// cannot be told to go on to the next one while it waits for a server that accepts connections and says nothing
// (PostgreSQL documentation, "Specifying Multiple Hosts" and "connect_timeout"). Owned by handshake.js.

const { DatabaseError } = require('../base');
const { binding } = require('../native');
const { connectError, isTransient, systemCodeIn } = require('./errors');

/** @typedef {Record<string, string>} Conninfo */

/** A host that did not answer is tried behind the others for so long. */
const SILENT_MILLIS = 30_000;
const DEFAULT_PORT = '5432';

/** A server that is starting or shutting down: another one may be there in its place. */
const UNAVAILABLE = ['57P01', '57P02', '57P03'];

/** Until when (performance.now()) an address counts as silent, for all connections of the process. @type {Map<string, number>} */
const silentUntil = new Map();

/**
 * @param {string} place an address, or the folder of a unix socket, and its port, as the addon's serverAddress() tells it
 */
function noteSilent(place) {
  const now = performance.now();
  for (const [other, until] of silentUntil) if (until < now) silentUntil.delete(other);
  silentUntil.set(place, now + SILENT_MILLIS);
}

/** @param {Conninfo} target */
function placeOf({ host, hostaddr, port }) {
  return `${hostaddr || host} ${port || DEFAULT_PORT}`;
}

/** @param {Conninfo} target */
function isSilent(target) {
  const until = silentUntil.get(placeOf(target));
  return until !== undefined && until > performance.now();
}

/**
 * @param {Conninfo} resolved with lists of hosts, addresses and ports
 * @returns {Conninfo[]} one for each address; all in one if only libpq can tell them apart, or say what is wrong with them
 */
function split(resolved) {
  // What is in a service file, libpq knows.
  if (resolved.service) return [resolved];
  const defaults = binding.conninfoDefaults();
  const [names, addresses, ports] = ['host', 'hostaddr', 'port'].map((key) =>
    (resolved[key] ?? defaults[key] ?? '').split(','),
  );
  const count = Math.max(names.length, addresses.length);
  const fits = [names, addresses].every((list) => list.length === count || list.join() === '');
  if (count === 1 || !fits || ![1, count].includes(ports.length)) return [resolved];
  return Array.from({ length: count }, (_, index) => {
    const address = addresses[index] ?? '';
    const port = ports.length === 1 ? ports[0] : ports[index];
    // Without a name libpq goes by the address.
    return { ...resolved, host: names[index] || address, hostaddr: address, port };
  });
}

/** @template T @param {T[]} items @returns {T[]} the same, in random order */
function shuffle(items) {
  for (let index = items.length - 1; index > 0; --index) {
    const other = Math.floor(Math.random() * (index + 1));
    [items[index], items[other]] = [items[other], items[index]];
  }
  return items;
}

/** @param {Conninfo} resolved @param {string} name */
function optionOf(resolved, name) {
  return resolved[name] ?? binding.conninfoDefaults()[name];
}

class Addresses {
  count;
  /** Those that are still to be tried. @type {Conninfo[]} */
  #left;
  /** The one that is being tried. @type {Conninfo | undefined} */
  #current = undefined;
  /** Those that will do if no standby is found. @type {Conninfo[]} */
  #secondChoice = [];
  #prefersStandby;
  /** Why the others have failed, in the words of libpq. @type {Set<string>} */
  #reasons = new Set();
  #onlySilent = true;

  /** @param {Conninfo} resolved */
  constructor(resolved) {
    const targets = split(resolved);
    this.count = targets.length;
    if (optionOf(resolved, 'load_balance_hosts') === 'random') shuffle(targets);
    this.#left =
      targets.length === 1
        ? targets
        : [...targets.filter((each) => !isSilent(each)), ...targets.filter(isSilent)];
    this.#prefersStandby =
      targets.length > 1 && optionOf(resolved, 'target_session_attrs') === 'prefer-standby';
  }

  /** How many are still to be tried, with the one that next() gives. */
  get leftCount() {
    return this.#left.length;
  }

  /** @returns {Conninfo | undefined} what to connect with; undefined: there are no more */
  next() {
    if (this.#left.length === 0) {
      // As libpq's second pass.
      this.#left = this.#secondChoice.splice(0);
      this.#prefersStandby = false;
    }
    this.#current = this.#left.shift();
    if (this.#current === undefined || this.count === 1) return this.#current;
    const wanted = optionOf(this.#current, 'target_session_attrs');
    if (wanted !== 'prefer-standby') return this.#current;
    return { ...this.#current, target_session_attrs: this.#prefersStandby ? 'standby' : 'any' };
  }

  /**
   * @param {string} reason libpq's, why the current one has failed
   * @returns {boolean} whether another one may do
   */
  failed(reason) {
    this.#reasons.add(reason.trimEnd());
    this.#onlySilent = false;
    const hasAnswered = systemCodeIn(reason) === undefined;
    if (hasAnswered && this.#prefersStandby) {
      this.#secondChoice.push(/** @type {Conninfo} */ (this.#current));
    }
    if (this.#left.length + this.#secondChoice.length === 0) return false;
    const error = connectError(reason);
    return error instanceof DatabaseError
      ? UNAVAILABLE.includes(String(error.code))
      : isTransient(error);
  }

  /** The current one has not answered in its time. @returns {boolean} whether another one may do */
  silent() {
    const current = /** @type {Conninfo} */ (this.#current);
    noteSilent(placeOf(current));
    const { host, hostaddr, port } = current;
    const at = host === hostaddr || hostaddr === '' ? `"${host}"` : `"${host}" (${hostaddr})`;
    this.#reasons.add(
      `connection to server at ${at}, port ${port || DEFAULT_PORT} failed: Connection timed out`,
    );
    return this.#left.length + this.#secondChoice.length > 0;
  }

  /** The current one is connected. */
  succeeded() {
    if (this.count > 1) silentUntil.delete(placeOf(/** @type {Conninfo} */ (this.#current)));
  }

  /** Why none would do, in the words of libpq; undefined: none has answered. */
  get reason() {
    return this.#onlySilent ? undefined : [...this.#reasons].join('\n');
  }
}

module.exports = { Addresses, noteSilent };
