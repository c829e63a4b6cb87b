'use strict';

// Work whose caller no longer waits. If it was sent among others, its answer is discarded. But such
// queries must not occupy a connection forever: when nothing else is in flight and the server
// settles nothing for a while, it is asked to cancel them. If that has no effect, the connection is
// closed. A pool whose caller's time limit has passed goes on without the connection instead.
// Owned by connection.js.

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
  ownInFlight = 0;
  /** @type {NodeJS.Timeout | undefined} */
  #timer = undefined;
  /** Nothing more is sent on the connection, which ends as soon as no caller waits for it. */
  #isLeft = false;
  #isCut = false;

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
   * @param {() => void} [leave] called if it was sent, before it is settled: the connection's pool goes on without it
   */
  abort(work, reason, leave) {
    const connection = this.#connection;
    const members = membersOf(work);
    if (this.#outbox.remove(work)) {
      for (const query of members) connection.forget(query);
      work.reject(reason);
      connection.afterSettling();
      return;
    }
    if (leave !== undefined) {
      this.#isLeft = true;
      leave();
    }
    if (!this.#isLeft && !connection.isShared && connection.load.sent === members.length) {
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
    ++this.ownInFlight;
    query.onceSettled(() => {
      --this.ownInFlight;
    });
  }

  /** Whether no caller waits for anything in flight. */
  get #isAll() {
    const { size } = this.#queries;
    return size > 0 && size + this.ownInFlight === this.#connection.inFlight;
  }

  /** Whether callers wait for what is in flight. */
  get isAwaited() {
    return this.#connection.inFlight > this.#queries.size + this.ownInFlight;
  }

  /** Starts to watch the server, if only such queries are in flight. */
  watch() {
    if (this.#isLeft) {
      if (this.#isAll) this.#cut();
      return;
    }
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

  /** The server is not to work for nobody. If it cannot be told so, that is all the same. */
  #cut() {
    if (this.#isCut) return;
    this.#isCut = true;
    const close = () => this.#connection.destroy();
    this.#connection.canceller.cancel().then(close, close);
    // One signal ends one statement, and the next one may wait for the same lock.
    clearTimeout(this.#timer);
    this.#timer = setTimeout(close, SILENCE_MILLIS);
  }

  /** The connection is closed. */
  stop() {
    clearTimeout(this.#timer);
  }
}

module.exports = { Unwanted };
