'use strict';

// Counts of a pool: what its connections count, and what those counted that are
// closed. Used by pool.js for stats().

const COUNTERS = /** @type {const} */ (['queries', 'parses', 'syncs', 'flushes', 'wakeups']);
const CACHE_COUNTERS = /** @type {const} */ (['hits', 'misses', 'evictions']);

/** @typedef {import('./member').Member} Member */

class Metrics {
  /** Sums over connections that are closed. */
  #closed = {
    counters: { queries: 0, parses: 0, syncs: 0, flushes: 0, wakeups: 0 },
    statements: { hits: 0, misses: 0, evictions: 0 },
  };

  /** @param {Member} member that is being closed */
  keep({ connection }) {
    add(this.#closed, connection);
  }

  /**
   * @template T
   * @param {Iterable<Member>} members
   * @param {T} totals
   */
  report(members, totals) {
    const sums = {
      counters: { ...this.#closed.counters },
      statements: { ...this.#closed.statements },
    };
    const connections = [];
    for (const { connection, state } of members) {
      const counters = add(sums, connection);
      const { id, processID, inFlight, load, statements } = connection;
      connections.push({
        id,
        processID,
        state,
        inFlight,
        expectedMillis: load.expectedMillis,
        preparedStatements: statements.size,
        ...counters,
      });
    }
    return { ...totals, ...sums.counters, statementCache: sums.statements, connections };
  }
}

/**
 * @param {{ counters: Record<string, number>, statements: Record<string, number> }} sums
 * @param {import('../connection').Connection} connection
 */
function add(sums, connection) {
  const counters = connection.counters();
  for (const name of COUNTERS) sums.counters[name] += counters[name];
  for (const name of CACHE_COUNTERS) sums.statements[name] += connection.statements[name];
  return counters;
}

module.exports = { Metrics };
