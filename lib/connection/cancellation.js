'use strict';

// One cancel on a connection, from the request until the connection can be used again. The signal
// hits whatever the backend runs when it arrives. So nothing is sent until the request is through,
// all that was in flight has its Sync, and an empty query has absorbed a signal that came late
// (PostgreSQL documentation, "Canceling Requests in Progress"). Made by canceller.js.

const { ConnectionError, Deferred, QUERY_CANCELED, TimeLimit } = require('../base');
const { isUnreplicated } = require('./unreplicated');

/**
 * @typedef {import('./connection').Connection} Connection
 * @typedef {import('../query').Query} Query
 * @typedef {import('../query').Batch} Batch
 * @typedef {import('../base').QueryAbortedError} QueryAbortedError
 */

/**
 * How long the server may take to receive the request and to stop. Then the query is rejected, with
 * the outcome 'unknown'.
 */
const GRACE_MILLIS = 2000;
/**
 * The most such periods for a query whose remaining rows nobody wants, while data still arrives.
 */
const MAX_GRACES = 15;

/** A cancel request that has no effect within this time is sent again. */
const AGAIN_MILLIS = 100;
/** How much longer each further request is waited for: 8 of them in 2 s, 19 in 30 s. */
const AGAIN_GROWTH = 1.25;
/**
 * The same with other queries in flight: a second signal would hit one of them if the first was
 * only slow.
 */
const AGAIN_BESIDE_OTHERS_MILLIS = 1000;

class Cancellation {
  #connection;
  #outbox;
  #isThrough = false;
  /** A request has reached the server, which may answer it by an error only after the rows sent before. */
  #hasReachedServer = false;
  #timesAsked = 0;
  /** `settled` of the connection when the cancel began. */
  #settledBefore;
  #isBarrierSent = false;
  #graces = 0;
  #wakeupsBefore = 0;
  #target;
  #reason;
  /** @type {TimeLimit | undefined} */
  #limit = undefined;
  /** @type {TimeLimit | undefined} */
  #again = undefined;
  /** @type {() => void} */
  #resolve = () => {};
  /** @type {Deferred<void>} */
  #asked = new Deferred();

  /**
   * @param {Connection} connection
   * @param {import('./outbox').Outbox} outbox
   * @param {Query | Batch} [target] the only one in flight; without it the cancel is for whatever
   *   runs
   * @param {QueryAbortedError} [reason] why it is cancelled
   */
  constructor(connection, outbox, target, reason) {
    this.#connection = connection;
    this.#outbox = outbox;
    this.#target = target;
    this.#reason = reason;
    /** @type {Promise<void>} resolves when others may use the connection */
    this.done = new Promise((resolve) => {
      this.#resolve = resolve;
    });
    this.done.then(() => this.#asked.resolve());
    // Not every caller uses `asked`.
    this.asked.catch(() => {});
    this.#settledBefore = connection.settled;
    outbox.block();
    this.#startLimit();
  }

  /** @returns {Promise<void>} as `done`, but rejects if the server could not be asked in time */
  get asked() {
    return this.#asked.promise;
  }

  /**
   * The only query in flight was given up while a cancel without a target was already under way.
   * @param {Query | Batch} target
   * @param {QueryAbortedError} reason
   */
  adopt(target, reason) {
    if (this.#target !== undefined) return;
    this.#target = target;
    this.#reason = reason;
    this.#startLimit();
  }

  #startLimit() {
    this.#limit?.cancel();
    this.#wakeupsBefore = this.#connection.counters().wakeups;
    this.#limit = new TimeLimit(GRACE_MILLIS, () => {
      if (this.#isDraining && ++this.#graces < MAX_GRACES) {
        this.#startLimit();
        return;
      }
      // The cancel has had its effect; it was not meant for what is still in flight.
      if (this.#target === undefined && this.#isThrough && this.#hasHadEffect) return;
      if (!this.#isThrough && !this.#outbox.asides.withdrawSignal()) {
        this.#connection.canceller.expectLateSignal();
      }
      this.#isThrough = true;
      this.#abort();
    });
  }

  /** The request has reached the server, or could not be sent. @param {boolean} ok */
  onCancelled(ok) {
    if (this.#isThrough) return;
    this.#isThrough = true;
    if (ok) {
      this.#hasReachedServer = true;
      this.advance();
      if (this.#connection.load.sent > 0) this.#askAgainLater();
      return;
    }
    this.#abort();
  }

  /** A signal that arrives before its query has no effect. */
  #askAgainLater() {
    this.#again?.cancel();
    const mayHitOthers = this.#target === undefined && this.#connection.load.sent > 1;
    const first = mayHitOthers ? AGAIN_BESIDE_OTHERS_MILLIS : AGAIN_MILLIS;
    const millis = first * AGAIN_GROWTH ** this.#timesAsked++;
    this.#again = new TimeLimit(millis, () => {
      if (this.#isBarrierSent || this.#connection.load.sent === 0) return;
      // With a target nothing else is sent before that is settled. Without one, another query may
      // be running by now.
      if (this.#target === undefined && this.#hasHadEffect) return;
      this.#isThrough = false;
      this.#connection.canceller.ask();
    });
  }

  /**
   * Whether rows that the server sent before it stopped still arrive, to be discarded: the network
   * is slow.
   */
  get #isDraining() {
    const target = this.#target;
    if (!this.#hasReachedServer || target === undefined) return false;
    if (!('wasStopped' in target) || !target.wasStopped) return false;
    return this.#connection.counters().wakeups > this.#wakeupsBefore;
  }

  /** As far as can be seen from here. */
  get #hasHadEffect() {
    return this.#connection.settled > this.#settledBefore;
  }

  /** Something in flight is settled. */
  advance() {
    if (!this.#isThrough || this.#isBarrierSent || this.#connection.load.sent > 0) return;
    this.#isBarrierSent = true;
    this.#outbox.sendBarrier(() => this.end());
  }

  /** Ends the cancel: it is done, or the connection is closed. */
  end() {
    this.#limit?.cancel();
    this.#again?.cancel();
    this.#outbox.unblock();
    this.#resolve();
  }

  /**
   * Replaces the server's error for the cancelled query by the reason why it was cancelled.
   * @template {Error | undefined} T
   * @param {Query | Batch} work
   * @param {T} error
   */
  explain(work, error) {
    const reason = this.#reason;
    if (work !== this.#target || reason === undefined) return error;
    if (isUnreplicated(error)) reason.outcome = 'unknown';
    else if (/** @type {any} */ (error)?.code !== QUERY_CANCELED) return error;
    reason.cause ??= error;
    return reason;
  }

  /** Stops waiting: rejects the target, and closes its connection. */
  #abort() {
    // Before libpq 17 a refused request looks like one that had no effect.
    this.#asked.reject(new ConnectionError('the server could not be asked to cancel in time'));
    const reason = this.#reason;
    if (this.#target !== undefined && reason !== undefined && !this.#target.isSettled) {
      reason.outcome = 'unknown';
      this.#target.abandon(reason);
      this.#connection.destroy();
    }
    this.advance();
  }
}

module.exports = { Cancellation };
