'use strict';

// The pool of standbys that a pool with the option `replicas` has: where it connects, and reads that
// wait until a standby has what they are to see. Used by pool.js.

const { setTimeout: delay } = require('node:timers/promises');
const { callBack, checkLimits, isLimits, readQuery } = require('../client');
const { libpqKeywords } = require('../options');
const { OWN_DEFAULTS, readCommitted } = require('../query');

/**
 * @typedef {import('./pool').Pool} Pool
 * @typedef {import('../client').Callback} Callback
 * @typedef {import('../query').Limits} Limits
 */

/** Where a pool connects: of the other pool, or not at all. */
const ELSEWHERE = [
  ...['connectionString', 'host', 'hostaddr', 'port', 'service', 'replicas'],
  ...['target_session_attrs', 'load_balance_hosts'],
];

/**
 * @param {any} config of the pool
 * @param {import('../options').Settings} settings what became of it
 * @returns {Record<string, any>} options of the other pool
 */
function replicaOptions(config, { conninfo, password, replicas }) {
  const shared = typeof config === 'object' && !(config instanceof URL) ? { ...config } : {};
  for (const name of ELSEWHERE) delete shared[name];
  return {
    ...shared,
    user: conninfo.user,
    database: conninfo.dbname,
    password: password ?? conninfo.password,
    target_session_attrs: 'prefer-standby',
    ...(libpqKeywords.has('load_balance_hosts') && { load_balance_hosts: 'random' }),
    ...replicas,
  };
}

/** What is asked together with a read, on the same standby and before it. */
const HAS_REPLAYED =
  'select not pg_catalog.pg_is_in_recovery() or pg_catalog.pg_last_wal_replay_lsn() >= $1::pg_catalog.pg_lsn as yes';
/** Of the read, in its batch. */
const READ_INDEX = 2;
const FIRST_PAUSE_MILLIS = 2;
const MAX_PAUSE_MILLIS = 50;

/**
 * @param {typeof import('./pool').Pool} Pool which needs what is defined here
 * @param {(pool: Pool) => import('../options').Settings} settingsOf
 */
function defineReadPool(Pool, settingsOf) {
  /** The pool of standbys, or of whatever the option `replicas` names. */
  return class ReadPool extends Pool {
    #primary;
    #catchUpMillis;

    /** @param {Record<string, any>} config @param {Pool} primary */
    constructor(config, primary) {
      super(config);
      this.#primary = primary;
      this.#catchUpMillis = settingsOf(this).catchUpMillis;
    }

    /**
     * @override
     * @param {any} text or { text, values, after, … }
     * @param {any} [values]
     * @param {Callback | Limits | null} [third]
     */
    query(text, values, third) {
      if (typeof text !== 'object' || text === null || text.after === undefined) {
        return super.query(text, values, third);
      }
      const { after, ...own } = text;
      // What templates for SQL make has these as getters of its class.
      const query = { ...own, text: text.text, values: text.values, name: text.name };
      if (typeof values !== 'function' && values !== undefined) query.values = values;
      const given = typeof values === 'function' ? values : third;
      const result = this.#queryAfter(query, after, isLimits(third) ? third : undefined);
      if (typeof given !== 'function') return result;
      callBack(result, given);
      return undefined;
    }

    /**
     * On a standby that has replayed the position; after a while, on the primary.
     *
     * The check and the read are one batch, so that a pooler sends both to one server, and one transaction.
     * Its snapshot must not be older than the answer to the check, so each has its own: READ COMMITTED.
     * @param {Record<string, any>} given
     * @param {string} position
     * @param {Limits} [beside] the text
     */
    async #queryAfter(given, position, beside = {}) {
      checkLimits(beside);
      const {
        signal: ownSignal,
        timeoutMillis: ownMillis,
        query_timeout: queryTimeout,
        ...query
      } = given;
      const signal = beside.signal ?? ownSignal;
      const timeoutMillis = beside.timeoutMillis ?? ownMillis;
      const limit = timeoutMillis ?? (queryTimeout || settingsOf(this).query_timeout);
      const begunAt = performance.now();
      const givesUpAt = begunAt + this.#catchUpMillis;
      // One limit for all attempts.
      const limits = () => {
        if (!(limit > 0)) return { signal, timeoutMillis };
        const left = Math.ceil(begunAt + limit - performance.now());
        return { signal, timeoutMillis: Math.max(1, left) };
      };
      for (let pause = FIRST_PAUSE_MILLIS; ; pause = Math.min(2 * pause, MAX_PAUSE_MILLIS)) {
        const values = [position];
        const check = readQuery(HAS_REPLAYED, values, undefined, OWN_DEFAULTS);
        try {
          const [, { rows }, result] = await this.batch([readCommitted(), check, query], limits());
          if (rows[0].yes) return result;
        } catch (error) {
          const { index } = /** @type {{ index?: number }} */ (error);
          if (index !== READ_INDEX) throw error;
          delete (/** @type {{ index?: number }} */ (error).index);
          // A table that is not there yet, perhaps: the check was answered before the read has failed.
          if (check.result?.rows[0]?.yes !== false) throw error;
        }
        if (performance.now() + pause > givesUpAt) {
          return this.#primary.query({ ...query, ...limits() });
        }
        await delay(pause);
      }
    }
  };
}

module.exports = { defineReadPool, replicaOptions };
