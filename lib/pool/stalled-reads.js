'use strict';

// Reads of leases that stand on a shared connection behind a statement that has stalled, such as one that waits for a
// lock. In `pg` each of them would have a connection of its own, and whoever holds the lock may wait for one of them.
// So they are asked again on another connection, and the first answer counts. Owned by leases.js.

const { QueryAbortedError } = require('../base');
const { Query } = require('../query');

/** @typedef {import('../connection').Connection} Connection */

const LOOK_MILLIS = 20;
/** After a refusal (`maxWaiting`) none is asked again for so long. */
const PAUSE_MILLIS = 1000;

class StalledReads {
  #inFlight;
  #ask;
  #abort;
  /** Reads that were asked again, and as what. @type {Map<Query, Query>} */
  #twins = new Map();
  /** How many queries each overdue connection had settled at the last look. @type {Map<Connection, number>} */
  #overdue = new Map();
  #notBefore = -Infinity;
  /** @type {NodeJS.Timeout | undefined} */
  #timer = undefined;

  /**
   * @param {() => Query[]} inFlight reads of leases. To keep a list here would cost each of them more
   * @param {(query: Query) => void} ask sends it on any shared connection that does not stall
   * @param {(query: Query, reason: QueryAbortedError) => void} abort
   */
  constructor(inFlight, ask, abort) {
    this.#inFlight = inFlight;
    this.#ask = ask;
    this.#abort = abort;
  }

  /** Reads that are in flight for the second time. */
  get count() {
    return this.#twins.size;
  }

  /** @param {Query} query that was submitted */
  watch(query) {
    // Alone on its connection, as a rule.
    if (this.#timer !== undefined || query.connection?.inFlight === 1) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#look();
    }, LOOK_MILLIS).unref();
  }

  #look() {
    const now = performance.now();
    const overdue = new Map();
    // One may wait for a connection, but not all of them: those who ask for the first time come before them.
    let mayAsk = now >= this.#notBefore && [...this.#twins.values()].every(isSent);
    const reads = [...this.#inFlight(), ...this.#twins.values()];
    for (const query of reads) {
      const { connection } = query;
      if (connection === undefined || !connection.load.isOverdue(now)) continue;
      overdue.set(connection, connection.settled);
      // At the first look it may be this process that was busy, and has not read the answers yet.
      if (this.#overdue.get(connection) !== connection.settled || this.#twins.has(query)) continue;
      // What has the text of the stalled statement would wait for the same lock, and take one connection more.
      if (mayAsk && connection.head?.info !== query.info) mayAsk = this.#askAgain(query, now);
    }
    this.#overdue = overdue;
    for (const query of reads) this.watch(query);
  }

  /** @param {Query} query @param {number} now performance.now() @returns {boolean} whether it did not have to wait */
  #askAgain(query, now) {
    const { text, parameters, rowMode, types, int8, prepare, rowKeys, syncGroup } = query;
    const options = { rowMode, types, prepare, rowKeys, syncGroup };
    const twin = new Query(text, parameters, options, { types, int8 });
    twin.profile = query.profile;
    twin.noticeTaker = query.noticeTaker;
    this.#twins.set(query, twin);
    query.onceSettled(() => {
      this.#twins.delete(query);
      if (!twin.isSettled) this.#abort(twin, answeredError());
    });
    twin.promise.then(
      (result) => this.#answer(query, result),
      // Its own connection will tell what is wrong with it. Until then it may be asked once more.
      () => this.#twins.delete(query),
    );
    this.#ask(twin);
    if (twin.isSettled) this.#notBefore = now + PAUSE_MILLIS;
    return isSent(twin);
  }

  /** @param {Query} query @param {import('../rows').Result} result */
  #answer(query, result) {
    if (query.isSettled) return;
    query.resolve(result);
    this.#abort(query, answeredError());
  }
}

/** @param {Query} query */
function isSent({ connection }) {
  return connection !== undefined;
}

function answeredError() {
  return new QueryAbortedError('it was answered on another connection', 'ABORT_ERR');
}

module.exports = { StalledReads };
