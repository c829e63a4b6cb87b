'use strict';

// Reads of leases that stand on a shared connection behind a statement that has stalled, such as one that waits for a
// lock. In `pg` each of them would have a connection of its own, and whoever holds the lock may wait for one of them.
// So they are asked again on another connection, and the first answer counts. Owned by leases.js.

const { QueryAbortedError } = require('../base');
const { Query } = require('../query');

/** @typedef {import('../connection').Connection} Connection */

const LOOK_MILLIS = 20;

class StalledReads {
  #ask;
  #giveUp;
  /** Reads that had others in front of them, or may have; settled ones until the next look. @type {Set<Query>} */
  #reads = new Set();
  /** How many queries each overdue connection had settled at the last look. @type {Map<Connection, number>} */
  #overdue = new Map();
  /** @type {NodeJS.Timeout | undefined} */
  #timer = undefined;

  /**
   * @param {(query: Query) => void} ask sends it on any shared connection that does not stall
   * @param {(query: Query, reason: QueryAbortedError) => void} giveUp
   */
  constructor(ask, giveUp) {
    this.#ask = ask;
    this.#giveUp = giveUp;
  }

  /** @param {Query} query that was submitted */
  watch(query) {
    // Alone on its connection, as a rule.
    if (query.connection?.inFlight === 1) return;
    this.#reads.add(query);
    this.#lookLater();
  }

  #lookLater() {
    if (this.#timer !== undefined) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#look();
      if (this.#reads.size > 0) this.#lookLater();
    }, LOOK_MILLIS).unref();
  }

  #look() {
    const now = performance.now();
    const overdue = new Map();
    for (const query of [...this.#reads]) {
      const { connection } = query;
      if (query.isSettled) this.#reads.delete(query);
      if (query.isSettled || connection === undefined || !connection.load.isOverdue(now)) continue;
      overdue.set(connection, connection.settled);
      // At the first look it may be this process that was busy, and has not read the answers yet.
      if (this.#overdue.get(connection) !== connection.settled) continue;
      // What has the text of the stalled statement would wait for the same lock, and take one connection more.
      if (connection.head?.info !== query.info) this.#askAgain(query);
    }
    this.#overdue = overdue;
  }

  /** @param {Query} query */
  #askAgain(query) {
    this.#reads.delete(query);
    const { text, parameters, rowAsArray, types, int8, prepare, syncGroup } = query;
    const rowMode = rowAsArray ? 'array' : undefined;
    const twin = new Query(
      text,
      parameters,
      { rowMode, types, prepare, syncGroup },
      { types, int8 },
    );
    query.onceSettled(() => {
      if (!twin.isSettled) this.#giveUp(twin, answeredError());
    });
    twin.promise.then(
      (result) => this.#answer(query, result),
      () => {
        // Its own connection will tell what is wrong with it.
        if (!query.isSettled) this.watch(query);
      },
    );
    this.#ask(twin);
  }

  /** @param {Query} query @param {import('../rows').Result} result */
  #answer(query, result) {
    if (query.isSettled) return;
    query.resolve(result);
    this.#giveUp(query, answeredError());
  }
}

function answeredError() {
  return new QueryAbortedError('it was answered on another connection', 'ABORT_ERR');
}

module.exports = { StalledReads };
