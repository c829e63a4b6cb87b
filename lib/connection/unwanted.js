'use strict';

// Queries in flight whose callers no longer wait. They must not occupy a connection forever: when
// nothing else is in flight and the server settles nothing for a while, it is asked to cancel them.
// If that has no effect, the connection is closed. Owned by connection.js.

/** How long the server may settle nothing before the cancel, and again after it. */
const SILENCE_MILLIS = 2000;

class Unwanted {
  #connection;
  /** @type {Set<import('../query').Query>} */
  #queries = new Set();
  /** Queries of the driver's own that are not settled. */
  #ownInFlight = 0;
  /** @type {NodeJS.Timeout | undefined} */
  #timer = undefined;

  /** @param {import('./connection').Connection} connection */
  constructor(connection) {
    this.#connection = connection;
  }

  /** @param {readonly import('../query').Query[]} queries whose callers no longer wait */
  add(queries) {
    for (const query of queries) this.#queries.add(query);
    this.watch();
  }

  /** @param {import('../query').Query} query that is settled */
  delete(query) {
    if (this.#queries.size > 0) this.#queries.delete(query);
  }

  /** @param {import('../query').Query} query of the driver's own, which no caller waits for */
  addOwn(query) {
    ++this.#ownInFlight;
    query.onceSettled(() => {
      --this.#ownInFlight;
    });
  }

  /** Whether no caller waits for anything in flight. */
  get #isAll() {
    const { size } = this.#queries;
    return size > 0 && size + this.#ownInFlight === this.#connection.inFlight;
  }

  /** Starts to watch the server, if only such queries are in flight. */
  watch() {
    if (this.#queries.size === 0 || this.#timer !== undefined || !this.#isAll) return;
    const { settled } = this.#connection;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      if (this.#isAll) this.#look(settled);
    }, SILENCE_MILLIS);
  }

  /** @param {number} settledBefore */
  #look(settledBefore) {
    const { cancellation, settled } = this.#connection;
    if (settled === settledBefore) {
      if (cancellation !== undefined) {
        this.#connection.destroy();
        return;
      }
      this.#connection.cancel();
    }
    this.watch();
  }

  /** The connection is closed. */
  stop() {
    clearTimeout(this.#timer);
  }
}

module.exports = { Unwanted };
