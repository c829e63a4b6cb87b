'use strict';

// Where statements run: pools with random options, clients lent by them or made by an action, and
// transactions. Pools may be ended while they are busy, and are replaced then. Made by round.js.

const { Client, Pool } = require('../..');
const { options: withServer, SCHEMA } = require('../support/connect');
const { pooler } = require('./pooler');

const SETUP = "set stress.setup = 'done'";
/** What is set back by a text of one's own. */
const RESET_BY_HAND =
  'reset all; close all; unlisten *; select pg_advisory_unlock_all(); discard temp; deallocate all';

/** Behind other statements: an altered table, and a statement that a function has taken away. */
const CANNOT_BE_HEALED = ['0A000', '26000'];

/**
 * @typedef {object} Place
 * @property {string} name
 * @property {any} on what has query(): a pool, a client or a transaction
 * @property {Record<string, any>} options
 * @property {ReadonlySet<string>} codes SQLSTATEs that anything may end in here
 * @property {boolean} isShared
 * @property {boolean} mayBeLost
 * @property {boolean} isEnding
 */

/**
 * Options of a session, which pools and clients both have.
 * @param {import('./random').Random} random
 */
function sessionOptions(random) {
  const isSerializable = random.chance(0.12);
  const isolation = isSerializable ? ' -c default_transaction_isolation=serializable' : '';
  return {
    isSerializable,
    given: {
      options: `-c search_path=${SCHEMA},public${isolation}`,
      prepare: random.chance(0.85),
      prepareThreshold: random.pick([1, 2, 2, 2, 4]),
      statementCacheSize: random.pick([1, 3, 16, 256, 256]),
      int8: random.pick(['string', 'number', 'bigint']),
      query_timeout: random.chance(0.12) ? random.int(20, 1500) : 0,
      statement_timeout: random.chance(0.06) ? random.int(20, 300) : false,
      connectionTimeoutMillis: random.pick([0, 0, 0, 10000, 200, 20]),
      waitForServer: random.chance(0.5),
      // Said, as an answer that is asked for may be lost with its connection: an outcome is unknown then.
      distributed: random.chance(0.25),
    },
  };
}

/** @param {import('./random').Random} random */
function poolOptions(random) {
  const { isSerializable, given } = sessionOptions(random);
  const reset = random.weighted([
    ['default', 6],
    ['by hand', 2],
    ['none', 1],
  ]);
  // What sets it up must not be ended by a time limit.
  const mayBeSetUp = given.statement_timeout === false && !pooler.sharesSessions;
  const hasSetUp = random.chance(0.25) && mayBeSetUp;
  const byHand = hasSetUp ? `${RESET_BY_HAND}; ${SETUP}` : RESET_BY_HAND;
  return {
    isSerializable,
    hasSetUp,
    resets: reset !== 'none',
    given: {
      ...given,
      max: random.pick([1, 1, 2, 3, 4, 8]),
      min: random.pick([0, 0, 0, 1, 2]),
      syncGroup: random.pick(['off', 'reads', 'all', 'all']),
      maxInFlight: random.pick([1, 3, 40, 1024, 1024]),
      maxWaiting: random.chance(0.1) ? random.small(0, 100) : Infinity,
      maxUses: random.chance(0.35) ? random.small(1, 100) : Infinity,
      maxLifetimeSeconds: random.chance(0.2) ? 1 : 0,
      idleTimeoutMillis: random.pick([1, 20, 200, 10000, 0]),
      allowExitOnIdle: random.chance(0.2),
      leakWarningMillis: random.chance(0.1) ? 60000 : 0,
      ...(reset === 'none' && { resetQuery: '' }),
      ...(reset === 'by hand' && { resetQuery: byHand }),
    },
  };
}

/** @param {string} theme @param {import('./random').Random} random */
function ofTheme(theme, random) {
  switch (theme) {
    // Few connections, for many who may share a Sync.
    case 'groups':
      return { max: random.int(1, 2), syncGroup: 'all', maxInFlight: 1024 };
    // One, for few who do not wait for long.
    case 'waiting':
      return { max: 1, connectionTimeoutMillis: random.pick([0, random.int(5, 60)]) };
    default:
      return {};
  }
}

/** A pool, and what is to be known of it. */
class PoolPlace {
  isShared = true;
  /** @type {any} */
  on;

  /**
   * @param {import('./round').Round} round
   * @param {string} name
   * @param {import('./random').Random} random
   */
  constructor(round, name, random) {
    const { isSerializable, hasSetUp, resets, given } = poolOptions(random);
    Object.assign(given, ofTheme(round.theme, random));
    this.round = round;
    this.name = name;
    this.hasSetUp = hasSetUp;
    this.resets = resets;
    this.options = given;
    this.codes = new Set(isSerializable ? ['40001'] : []);
    this.relay = round.pickRelay(random);
    const application_name = round.applicationName;
    this.on = new Pool(
      this.relay?.options({ ...given, application_name }) ??
        withServer({ ...given, application_name }),
    );
    if (hasSetUp) {
      this.on.on('connect', (client) =>
        client.query({ text: SETUP, timeoutMillis: 0 }).catch(() => {}),
      );
    }
    if (random.chance(0.5)) this.on.on('error', () => {});
  }

  /** A pooler keeps sessions from round to round, and may close one by itself. */
  get mayBeLost() {
    return this.round.isStormy || pooler.isThere;
  }

  get isEnding() {
    return this.on.ending;
  }

  describe() {
    const { max, syncGroup } = this.options;
    const way = this.relay === undefined ? 'direct' : 'by relay';
    return `${this.name} ${way} ${JSON.stringify({ ...this.options, max, syncGroup, hasSetUp: this.hasSetUp })}`;
  }
}

/** A client that an action has to itself. */
class ClientPlace {
  isShared = false;
  /** Its owner has ended it, or given it back. */
  isEnding = false;
  /** The borrower's own statements may be cancelled by cancel(). */
  #pool;

  /**
   * @param {import('./round').Round} round
   * @param {string} name
   * @param {any} client
   * @param {{ options: Record<string, any>, codes: ReadonlySet<string>, pool?: PoolPlace }} given
   */
  constructor(round, name, client, { options, codes, pool }) {
    this.round = round;
    this.name = name;
    this.on = client;
    this.options = options;
    this.codes = new Set([...codes, ...CANNOT_BE_HEALED]);
    this.#pool = pool;
  }

  get mayBeLost() {
    return this.round.isStormy || this.isEnding || pooler.isThere;
  }

  get pool() {
    return this.#pool;
  }
}

/**
 * @param {import('./round').Round} round
 * @param {string} name
 * @param {import('./random').Random} random
 */
function newClientPlace(round, name, random) {
  const { isSerializable, given } = sessionOptions(random);
  const relay = round.pickRelay(random);
  const application_name = round.applicationName;
  const client = new Client(
    relay?.options({ ...given, application_name }) ?? withServer({ ...given, application_name }),
  );
  const codes = new Set(isSerializable ? ['40001'] : []);
  return new ClientPlace(round, name, client, { options: given, codes });
}

/** @param {Place} place @param {Partial<Place>} given what is otherwise inside of it @returns {Place} */
function placeWithin(place, given) {
  return Object.assign(Object.create(place), given);
}

module.exports = { CANNOT_BE_HEALED, ClientPlace, PoolPlace, SETUP, newClientPlace, placeWithin };
