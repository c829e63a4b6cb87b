'use strict';

// Pools and `pg` clients that an action has to itself and that the weather leaves alone, so that a rule
// may be strict: no error is excused by a cut connection. Used by the actions that compare with `pg` or
// break connections by themselves.

const pg = require('pg');
const { Client, Pool } = require('../..');
const { connectionString, options: withServer, SCHEMA } = require('../support/connect');
const { CALM } = require('./schema');

/** Where an action's statements run, as verdicts.js wants to know it. */
class CalmPlace {
  isShared = true;
  isEnding = false;
  mayBeLost = false;
  resets = true;
  hasSetUp = false;

  /**
   * @param {string} name
   * @param {any} on
   * @param {Record<string, any>} options
   * @param {string[]} [codes]
   */
  constructor(name, on, options, codes = []) {
    this.name = name;
    this.on = on;
    this.options = {
      query_timeout: 0,
      statement_timeout: false,
      connectionTimeoutMillis: 0,
      maxWaiting: Infinity,
      int8: 'string',
      max: 10,
      statementCacheSize: 256,
      ...options,
    };
    this.codes = new Set(codes);
  }

  describe() {
    return `${this.name} ${JSON.stringify(this.options)}`;
  }
}

/** Options that may change what a pool sends, and never what its callers see. @param {import('./random').Random} random */
function calmOptions(random) {
  return {
    max: random.pick([1, 2, 3, 4]),
    prepareThreshold: random.pick([1, 2, 2, 2, 4]),
    statementCacheSize: random.pick([1, 3, 256, 256, 256]),
    syncGroup: random.pick(['off', 'reads', 'reads', 'all']),
    maxInFlight: random.pick([1, 3, 40, 1024, 1024]),
  };
}

/**
 * Runs `use` on a pool of its own, which is ended then.
 * @param {import('./action').Action} action
 * @param {string} name
 * @param {Record<string, any>} options
 * @param {(place: CalmPlace) => Promise<void>} use
 * @param {{ relay?: any, codes?: string[] }} [given]
 */
async function withPool(action, name, options, use, { relay, codes } = {}) {
  const application_name = calmName(action.round);
  const all = { application_name, ...options };
  const pool = new Pool(relay?.options(all) ?? withServer(all));
  const place = new CalmPlace(`${name} of ${action.name}`, pool, options, codes);
  action.log(place.describe());
  try {
    await use(place);
  } finally {
    place.isEnding = true;
    await action.inTime(`end() of ${place.name}`, pool.end());
  }
}

/** A client of `pg` that takes one query after the other, as it wants them. */
class Reference extends pg.Client {
  /** @type {Promise<any>} */
  #last = Promise.resolve();

  /** @param {string} text @param {unknown[]} [values] @returns {Promise<any>} */
  ask(text, values) {
    const result = this.#last.then(() => this.query(text, values));
    this.#last = result.catch(() => {});
    return result;
  }
}

/**
 * Runs `use` on a client of `pg`, which is ended then.
 * @template T
 * @param {import('./action').Action} action
 * @param {Record<string, any>} options
 * @param {(client: Reference) => Promise<T>} use
 */
async function withPgClient(action, options, use) {
  const application_name = calmName(action.round);
  const client = new Reference(withServer({ application_name, ...options }));
  client.on('error', () => {});
  await client.connect();
  try {
    return await use(client);
  } finally {
    await client.end();
  }
}

/** Options of a login as somebody else. @param {string} user @param {Record<string, any>} [given] */
function loginAs(user, given) {
  const { host, port, database } = new Client(connectionString());
  return { connectionString: undefined, host, port, database, user, ...given };
}

/** @param {import('./round').Round} round */
function calmName({ number }) {
  return `${CALM}_${process.pid}_${number}`;
}

module.exports = {
  CalmPlace,
  calmName,
  SCHEMA,
  calmOptions,
  loginAs,
  withPgClient,
  withPool,
};
