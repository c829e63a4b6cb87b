'use strict';

// Clients without a pool that share connections (the option `multiplex`): those of equal settings are leases on the
// connections of one group, which nobody sees. There are never more connections than clients, so that whoever needs
// one alone gets it, as with `pg`. The last client that ends closes them. Installed in lib/client by index.js.

const { ConnectionError, copyError, DatabaseError } = require('../base');
const { connectionOf } = require('../client');
const { Catalog } = require('../connection');
const { readShared } = require('../options');
const { StatementRegistry } = require('../statements');
const { Admission } = require('./admission');
const { ClientLease } = require('./client-lease');
const { Dispatcher } = require('./dispatcher');
const { Leases } = require('./leases');

/**
 * @typedef {import('../client').Client} Client
 * @typedef {import('../client').ClientEvents} ClientEvents
 * @typedef {import('../options').Settings} Settings
 */

/** So many serve thousands of clients; more are opened only behind slow reads, and for what is alone on one. */
const MAX_SHARED = 10;
/** At most so many are opened at a time, or as many as there are. */
const MIN_CONNECTING = 8;
/** Who connects within this time of somebody else need not ask the server. */
const FRESH_MILLIS = 1000;
const PATIENCE_MILLIS = 1000;
/** For so long connect() waits for what the catalog says. */
const LOOK_MILLIS = 250;
/** For so long clients of equal settings connect by themselves, if the server is none that may be shared. */
const UNFIT_MILLIS = 60_000;

/**
 * What ALTER ROLE ... SET and ALTER DATABASE ... SET have set for new sessions of this role and database (PostgreSQL
 * documentation, "pg_db_role_setting"). In text, so that parsers do not matter; '' if there is nothing.
 */
const SETTINGS_OF_NEW_SESSIONS = `
  select coalesce(pg_catalog.string_agg(s::pg_catalog.text, ' ' order by s.setdatabase, s.setrole), '')
  from pg_catalog.pg_db_role_setting s
  where s.setdatabase in
      (0, (select oid from pg_catalog.pg_database where datname = pg_catalog.current_database()))
    and s.setrole in (0, (select oid from pg_catalog.pg_roles where rolname = session_user))`;

/** By the key of their settings. @type {Map<string, SharedClients>} */
const groups = new Map();
/** Until when clients are not to share (performance.now()), by the key of their settings. @type {Map<string, number>} */
const unfit = new Map();

class SharedClients {
  #key;
  /** @type {Dispatcher} */
  #dispatcher;
  /** @type {Leases} */
  #leases;
  /** @type {Set<ClientLease>} */
  #places = new Set();
  /** When the server was last seen to be there, and the login good (performance.now()). */
  #provedAt = -Infinity;
  /** In which epoch of the schema that was: ALTER ROLE and ALTER DATABASE begin another one. */
  #provedEpoch = 0;
  /** What new sessions began with when the first one was opened. @type {Promise<string | undefined> | undefined} */
  #newSessions = undefined;
  /** New sessions begin otherwise: whoever connects from now on shares others. */
  #isOutdated = false;
  /** @type {Promise<void> | undefined} */
  #proof = undefined;
  /** @type {Error | undefined} */
  #toldError = undefined;
  #isLoopRef = true;

  /** @param {string} key @param {Settings} settings */
  constructor(key, settings) {
    this.#key = key;
    const registry = new StatementRegistry(new Catalog(settings));
    /** @returns {number} */
    const size = () => this.#leases.count;
    /** @returns {number} */
    const beside = () => this.#leases.besideCount;
    /** @returns {number} */
    const open = () => this.#dispatcher.activity.totalCount;
    /** @type {import('./connections').Limits} */
    const limits = {
      comeBack: false,
      // So that what the driver asks for itself keeps nobody waiting.
      get all() {
        return size() + beside();
      },
      // Most of those who wait are served by those that come back meanwhile.
      get connecting() {
        return Math.max(MIN_CONNECTING, open() / 2);
      },
      get shared() {
        return Math.min(size(), MAX_SHARED);
      },
    };
    // An idle client keeps the process alive, and is to find the connection that does so.
    const own = { ...settings, min: 1, max: Infinity };
    /** @type {import('./dispatcher').DispatcherOwner} */
    const owner = {
      refuse: () => undefined,
      hasSetUp: () => false,
      hasFloating: () => false,
      onShared: (work) => this.#leases.watch(work),
      onOpened: (client) => this.#onOpened(client),
      onOpenFailed: () => {},
      // Nobody had it: who floats gets another one.
      onLost: () => {},
      onClosed: (client) => this.#onClosed(client),
    };
    this.#dispatcher = new Dispatcher(own, registry, owner, limits);
    const admission = new Admission(own, registry, this.#dispatcher, undefined);
    this.#leases = new Leases(own, registry, this.#dispatcher, admission);
    this.#leases.areLasting = true;
  }

  /** @param {ClientEvents} events of a client that is about to connect */
  join(events) {
    const lease = new ClientLease(this, this.#leases, events);
    this.#leases.add(lease);
    this.#places.add(lease);
    lease.showLoopRef(this.#isLoopRef);
    return lease;
  }

  /** @param {ClientLease} lease that is called once for @returns {Promise<void>} */
  async leave(lease) {
    this.#leases.remove(lease);
    this.#places.delete(lease);
    if (this.#leases.count === 0) {
      if (groups.get(this.#key) === this) groups.delete(this.#key);
      this.#dispatcher.dismiss(new ConnectionError('the last client has ended'));
      await this.#dispatcher.end();
      return;
    }
    this.updateLoopRef();
    this.#dispatcher.shrink();
    // If it fails, the next statement tells why.
    if (this.#dispatcher.activity.totalCount === 0) this.#dispatcher.open();
  }

  /** A pinned client is about to close its connection: opens another if that is the last, and others go on. */
  async openAnother() {
    // All of them may be ended in one call.
    await null;
    const areOthers = [...this.#places].some(({ isEnding }) => !isEnding);
    if (areOthers && this.#dispatcher.activity.totalCount === 1) await this.#dispatcher.open();
  }

  /** @param {Client} client whose connection was lost or closed */
  #onClosed(client) {
    const connection = /** @type {unknown} */ (connectionOf(client));
    // Pinned to it, it has ended as with `pg`, and may never be told to.
    if (connection instanceof ClientLease) connection.leave();
  }

  // --- Whether the server is there ----------------------------------------------

  /** @returns {Promise<boolean>} whether clients may share; rejects with what connecting has failed with */
  async prove() {
    if (!this.#isProved) {
      this.#proof ??= this.#prove();
      await this.#proof.catch((error) => this.#fail(error));
    }
    if (this.#isOutdated) return false;
    // Before it matters; and first statements are not to find the connection busy with it.
    if (this.#leases.mayMultiplex) await within(LOOK_MILLIS, this.#leases.whenLearned());
    // It may have shown that a pooler is between.
    if (this.#leases.mayMultiplex) return true;
    unfit.set(this.#key, performance.now() + UNFIT_MILLIS);
    return false;
  }

  /** @param {Error} error of which each client gets one of its own @returns {never} */
  #fail(error) {
    if (error === this.#toldError) throw copyError(error);
    this.#toldError = error;
    throw error;
  }

  get #isProved() {
    const { open } = this.#dispatcher.activity.look();
    const isFresh = performance.now() - this.#provedAt < FRESH_MILLIS;
    return open > 0 && isFresh && this.#provedEpoch === this.#leases.registry.schemaEpoch;
  }

  async #prove() {
    try {
      const [idle] = this.#dispatcher.activity.idleClients;
      const found = idle && (await within(PATIENCE_MILLIS, askForNewSessions(idle)));
      if (found !== undefined) {
        this.#onProved();
        this.#compare(found, await this.#newSessions);
        return;
      }
      const failure = await this.#dispatcher.open();
      if (failure !== undefined) throw failure;
      await this.#newSessions;
    } finally {
      this.#proof = undefined;
    }
  }

  #onProved() {
    this.#provedAt = performance.now();
    this.#provedEpoch = this.#leases.registry.schemaEpoch;
  }

  /**
   * Its connections are as sessions were when they were opened; with `pg` a new client has a new one.
   * @param {string} now
   * @param {string | undefined} first
   */
  #compare(now, first) {
    if (first === undefined) this.#newSessions = Promise.resolve(now);
    if (first === undefined || first === now) return;
    this.#isOutdated = true;
    if (groups.get(this.#key) === this) groups.delete(this.#key);
  }

  // --- Whether the process stays alive ------------------------------------------

  updateLoopRef() {
    const leases = [...this.#places];
    const isRef = leases.some((lease) => lease.isRef);
    if (isRef === this.#isLoopRef) return;
    this.#isLoopRef = isRef;
    for (const lease of leases) lease.showLoopRef(isRef);
    for (const client of this.#dispatcher.activity.clients) connectionOf(client).setLoopRef(isRef);
  }

  /** @param {Client} client of a connection that was opened */
  #onOpened(client) {
    this.#onProved();
    if (!this.#isLoopRef) connectionOf(client).setLoopRef(false);
    this.#newSessions ??= askForNewSessions(client);
  }
}

/**
 * @template T
 * @param {number} millis
 * @param {Promise<T>} promise
 * @returns {Promise<T | undefined>} undefined: it is not settled in time
 */
async function within(millis, promise) {
  /** @type {NodeJS.Timeout | undefined} */
  let timer;
  const late = new Promise((resolve) => {
    timer = setTimeout(() => resolve(undefined), millis);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    clearTimeout(timer);
  }
}

/**
 * @param {Client} client of a connection that nobody else has now
 * @returns {Promise<string | undefined>} what new sessions begin with; undefined: its server does not answer
 */
function askForNewSessions(client) {
  return connectionOf(client)
    .ask(SETTINGS_OF_NEW_SESSIONS)
    .then(
      ({ rows }) => String(Object.values(rows[0])[0]),
      // Not every server that speaks the protocol has this.
      (error) => (error instanceof DatabaseError ? '' : undefined),
    );
}

/**
 * @param {Settings} settings of a client that is about to connect
 * @param {ClientEvents} events
 * @returns {ClientLease | undefined} nothing if it is to have a connection of its own
 */
function findPlace(settings, events) {
  const same = readShared(settings);
  if (same === undefined) return undefined;
  const { key } = same;
  const unfitUntil = unfit.get(key);
  if (unfitUntil !== undefined) {
    if (performance.now() < unfitUntil) return undefined;
    unfit.delete(key);
  }
  let group = groups.get(key);
  if (group === undefined) {
    group = new SharedClients(key, same.settings);
    groups.set(key, group);
  }
  return group.join(events);
}

module.exports = { findPlace, SharedClients };
