'use strict';

// Work whose caller no longer waits. If it was sent among others, its answer is discarded. But such
// queries must not occupy a connection forever: when nothing else is in flight and the server
// settles nothing for a while, it is asked to cancel them. If that has no effect, the connection is
// closed. Owned by connection.js.

const { membersOf } = require('../query');

/**
 * @typedef {import('../query').Query} Query
 * @typedef {import('../query').Batch} Batch
 */

/** How long the server may settle nothing before the cancel, and again after it. */
const SILENCE_MILLIS = 2000;

class Unwanted {
  #connection;
  #outbox;
  /** @type {Set<Query>} */
  #queries = new Set();
  /** Queries of the driver's own that are not settled. */
  #ownInFlight = 0;
  /** @type {NodeJS.Timeout | undefined} */
  #timer = undefined;

  /**
   * @param {import('./connection').Connection} connection
   * @param {import('./outbox').Outbox} outbox
   */
  constructor(connection, outbox) {
    this.#connection = connection;
    this.#outbox = outbox;
  }

  /**
   * The caller no longer waits for it. If it was not sent yet, it is removed. If it is alone on a
   * connection that is not shared, it is cancelled. Otherwise its answer is discarded, and its
   * neighbours are not affected.
   * @param {Query | Batch} work
   * @param {import('../base').QueryAbortedError} reason
   */
  abort(work, reason) {
    const connection = this.#connection;
    const members = membersOf(work);
    if (this.#outbox.remove(work)) {
      for (const query of members) connection.forget(query);
      work.reject(reason);
      connection.afterSettling();
    } else if (!connection.isShared && connection.load.sent === members.length) {
      connection.canceller.cancel(work, reason);
    } else {
      reason.outcome = 'unknown';
      work.abandon(reason);
      for (const query of members) this.#queries.add(query);
      this.watch();
    }
  }

  /** @param {Query} query that is settled */
  delete(query) {
    if (this.#queries.size > 0) this.#queries.delete(query);
  }

  /** @param {Query} query of the driver's own, which no caller waits for */
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
    const { canceller, settled } = this.#connection;
    if (settled === settledBefore) {
      if (canceller.current !== undefined) {
        this.#connection.destroy();
        return;
      }
      canceller.cancel();
    }
    this.watch();
  }

  /** The connection is closed. */
  stop() {
    clearTimeout(this.#timer);
  }
}

module.exports = { Unwanted };
