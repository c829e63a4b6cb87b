'use strict';

// The steps from settings to a connection: resolves the names, calls the password function and
// starts libpq, for one address after the other, with a time limit for each and for all of it. Used by
// lifecycle.js, which passes on what the addon reports.

const { afterDelivery, CallSite, Deferred, TimeLimit, toFailure } = require('../base');
const { toParameters } = require('../options');
const { Addresses } = require('./addresses');
const { connectError, expiredError, noStringError } = require('./errors');
const { resolveHosts } = require('./resolve-hosts');
const { SocketPump } = require('./socket-pump');

/** What each of several addresses but the last one has if the caller sets no limit. */
const DEFAULT_MILLIS = 10_000;

class Handshake {
  /** @type {Deferred<void>} */
  #outcome = new Deferred(new CallSite());
  /** @type {TimeLimit[]} */
  #limits = [];
  #isOver = false;
  #native;
  #settings;
  #beganAt = performance.now();
  /** @type {Addresses | undefined} */
  #addresses = undefined;
  /** Counts addresses that were begun or have failed. */
  #attempts = 0;
  /** Of the address that is being tried. @type {TimeLimit | undefined} */
  #limit = undefined;
  /** For a socket that is not libpq's own. @type {SocketPump | undefined} */
  pump = undefined;
  #namesHost;

  /**
   * @param {import('../native').NativeConnection} native
   * @param {import('../options').Settings} settings
   * @param {(error: Error) => void} [onStreamFailed] at any time
   */
  constructor(native, settings, onStreamFailed = (error) => this.fail(error)) {
    this.#native = native;
    this.#settings = settings;
    if (settings.wire !== undefined) this.pump = new SocketPump(settings.wire, onStreamFailed);
    const { PGHOST, PGHOSTADDR, PGSERVICE } = process.env;
    const { host = PGHOST, hostaddr = PGHOSTADDR, service = PGSERVICE } = settings.conninfo;
    this.#namesHost = Boolean(host || hostaddr || service);
    this.#expectWithin(settings.connectionTimeoutMillis, 'connectionTimeoutMillis');
    this.#start().catch((error) => this.fail(error));
  }

  /**
   * @returns {Promise<void>} rejects with a ConnectionError or DatabaseError, or with what a hook
   *   has thrown
   */
  get done() {
    return this.#outcome.promise;
  }

  /** @param {number} millis 0: no limit @param {string} option */
  #expectWithin(millis, option) {
    if (millis === 0) return;
    const limit = new TimeLimit(millis, () => this.fail(expiredError(millis, option)));
    this.#limits.push(limit);
  }

  async #start() {
    const { conninfo, password, tls } = this.#settings;
    const { pump } = this;
    const resolved =
      pump === undefined
        ? await resolveHosts(conninfo, tls.servername)
        : { ...withoutPlace(conninfo), ...(await pump.listen()) };
    if (password !== undefined) {
      const answer = await askPassword(password, toParameters(this.#settings));
      if (answer) resolved.password = answer;
    }
    this.#addresses = new Addresses(resolved);
    this.#tryNext();
  }

  #tryNext() {
    // It may have been given up meanwhile.
    if (this.#isOver) return;
    const addresses = /** @type {Addresses} */ (this.#addresses);
    const millis = this.#shareOf(addresses.leftCount, addresses.count);
    const conninfo = /** @type {Record<string, string>} */ (addresses.next());
    const attempt = ++this.#attempts;
    // What has come in the same turn as the end of the limit is delivered first, or it would count for the next attempt.
    const onOver = () => setTimeout(() => attempt === this.#attempts && this.#onSilent(), 0);
    if (millis > 0) this.#limit = new TimeLimit(millis, onOver);
    const { tls, scramMaxIterations, busyPollMicros } = this.#settings;
    const files = this.pump === undefined ? tls.files : {};
    this.#native.connect(
      Object.keys(conninfo),
      Object.values(conninfo),
      Object.keys(files),
      Object.values(files),
      scramMaxIterations,
      busyPollMicros,
    );
  }

  /**
   * libpq leaves connect_timeout to those who poll it while it connects.
   * @param {number} left addresses @param {number} count all of them
   * @returns {number} ms that the next one has; 0: no limit of its own
   */
  #shareOf(left, count) {
    const { connectTimeoutSeconds, connectionTimeoutMillis } = this.#settings;
    if (connectTimeoutSeconds > 0) return connectTimeoutSeconds * 1000;
    if (count === 1 || left === 1) return 0;
    if (connectionTimeoutMillis === 0) return DEFAULT_MILLIS;
    const remaining = this.#beganAt + connectionTimeoutMillis - performance.now();
    return Math.max(1, Math.floor(remaining / left));
  }

  #onSilent() {
    if (this.#isOver) return;
    const addresses = /** @type {Addresses} */ (this.#addresses);
    // Gives up this attempt; there is no answer that could come any more.
    this.#native.close();
    if (addresses.silent()) {
      this.#tryNext();
      return;
    }
    const millis = this.#settings.connectTimeoutSeconds * addresses.count * 1000;
    this.fail(addresses.reason ?? expiredError(millis, 'connect_timeout'));
  }

  /** @param {string} reason libpq's, why the address that is being tried has failed */
  onConnectFailed(reason) {
    if (this.#isOver) return;
    ++this.#attempts;
    this.#limit?.cancel();
    const addresses = this.#addresses;
    if (addresses?.failed(reason)) afterDelivery(() => this.#tryNext());
    else this.fail(addresses?.reason ?? reason);
  }

  succeed() {
    this.#addresses?.succeeded();
    this.#end();
    this.#outcome.resolve();
  }

  /** @param {string | Error} reason an error, or libpq's message */
  fail(reason) {
    this.#end();
    this.pump?.destroy();
    this.#outcome.reject(
      typeof reason === 'string' ? connectError(reason, this.#namesHost) : reason,
    );
  }

  #end() {
    this.#isOver = true;
    this.#limit?.cancel();
    for (const limit of this.#limits) limit.cancel();
  }
}

/** Where it leads to, and by which TLS, is the pump's affair. @param {Readonly<Record<string, string>>} conninfo */
function withoutPlace(conninfo) {
  const isOfPlace =
    /^(?:host|hostaddr|port|service|requirepeer|load_balance_hosts|ssl.*|keepalives.*|tcp_user_timeout)$/;
  return Object.fromEntries(Object.entries(conninfo).filter(([name]) => !isOfPlace.test(name)));
}

/**
 * @param {import('../options').AskPassword} password
 * @param {object} parameters of the connection that it is for
 * @returns {Promise<string | null | undefined>} nothing if there is none, or if it is in the
 *   password file
 */
async function askPassword(password, parameters) {
  let value;
  try {
    value = await password(parameters);
  } catch (error) {
    throw toFailure(error, 'the password function');
  }
  if (value === undefined || value === null || typeof value === 'string') return value;
  throw noStringError();
}

module.exports = { Handshake };
