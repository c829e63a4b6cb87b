'use strict';

// The cancelling of what one connection runs. The server signals its backend,
// which hits whatever runs when the signal arrives: so nothing is sent meanwhile,
// and not before the cancel request is through, what was in flight has its Sync,
// and an empty query has taken a signal that came late (PostgreSQL documentation,
// "Canceling Requests in Progress"). Owned by connection.js.

const { ConnectionError, Deferred, TimeLimit } = require('../base');

/**
 * @typedef {import('./connection').Connection} Connection
 * @typedef {import('../query').Query} Query
 * @typedef {import('../query').Batch} Batch
 * @typedef {import('../base').QueryAbortedError} QueryAbortedError
 */

/** So long the server may take to stop, or to be asked; then its caller is told that nobody knows. */
const GRACE_MILLIS = 2000;
/** So many times as long, as long as something arrives, where nobody waits for what is cancelled. */
const MAX_GRACES = 15;

/** After so long without an effect it is asked once more. */
const AGAIN_MILLIS = 100;
/** The same where others are behind, whom a second signal would hit if the first was only slow. */
const AGAIN_BESIDE_OTHERS_MILLIS = 1000;

/** query_canceled */
const QUERY_CANCELED = '57014';

class Cancellation {
  #connection;
  #outbox;
  #isThrough = false;
  /** What was settled when it began. */
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
   * @param {Query | Batch} [target] the only one in flight
   * @param {QueryAbortedError} [reason] why it is cancelled
   */
  constructor(connection, outbox, target, reason) {
    this.#connection = connection;
    this.#outbox = outbox;
    this.#target = target;
    this.#reason = reason;
    /** @type {Promise<void>} the connection may be used by others */
    this.done = new Promise((resolve) => {
      this.#resolve = resolve;
    });
    this.done.then(() => this.#asked.resolve());
    // Not everybody wants to know.
    this.asked.catch(() => {});
    this.#settledBefore = connection.settled;
    outbox.block();
    this.#startLimit();
  }

  /** @returns {Promise<void>} `done`, unless the server could not be asked */
  get asked() {
    return this.#asked.promise;
  }

  /**
   * A cancel without a target was under way already when somebody gave up the
   * only query in flight.
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
      // What is still in flight was not to be cancelled.
      if (this.#target === undefined && this.#isThrough && this.#hasHadEffect) return;
      if (!this.#isThrough && !this.#outbox.asides.withdrawSignal()) {
        this.#connection.mayBeSignalled = true;
      }
      this.#isThrough = true;
      this.#giveUp();
    });
  }

  /** The server has got the request, or could not be reached. @param {boolean} ok */
  onCancelled(ok) {
    this.#connection.mayBeSignalled = false;
    if (this.#isThrough) return;
    this.#isThrough = true;
    if (ok) {
      this.advance();
      if (this.#connection.load.sent > 0) this.#askAgainLater();
      return;
    }
    this.#giveUp();
  }

  /** A signal that has come before the query did hits nothing. */
  #askAgainLater() {
    this.#again?.cancel();
    const mayHitOthers = this.#target === undefined && this.#connection.load.sent > 1;
    const millis = mayHitOthers ? AGAIN_BESIDE_OTHERS_MILLIS : AGAIN_MILLIS;
    this.#again = new TimeLimit(millis, () => {
      if (this.#isBarrierSent || this.#connection.load.sent === 0) return;
      // Others wait until it is settled, but without a target something else may run by now.
      if (this.#target === undefined && this.#hasHadEffect) return;
      this.#isThrough = false;
      this.#connection.askToCancel();
    });
  }

  /** What the server has sent before it stopped is still arriving, and is discarded: the network is slow. */
  get #isDraining() {
    const target = this.#target;
    if (target === undefined || !('wasStopped' in target) || !target.wasStopped) return false;
    return this.#connection.counters().wakeups > this.#wakeupsBefore;
  }

  /** As far as can be seen. */
  get #hasHadEffect() {
    return this.#connection.settled > this.#settledBefore;
  }

  /** Something in flight is settled. */
  advance() {
    if (!this.#isThrough || this.#isBarrierSent || this.#connection.load.sent > 0) return;
    this.#isBarrierSent = true;
    this.#outbox.sendBarrier(() => this.end());
  }

  /** Nothing is to be waited for any more: it is done, or the connection is gone. */
  end() {
    this.#limit?.cancel();
    this.#again?.cancel();
    this.#outbox.unblock();
    this.#resolve();
  }

  /**
   * What the server says of the one that was cancelled, as its caller is to hear it.
   * @template {Error | undefined} T
   * @param {Query | Batch} work
   * @param {T} error
   */
  explain(work, error) {
    const reason = this.#reason;
    const isCancelled = /** @type {any} */ (error)?.code === QUERY_CANCELED;
    if (work !== this.#target || reason === undefined || !isCancelled) return error;
    reason.cause ??= error;
    return reason;
  }

  /** The query is not waited for any longer, and the connection is given up. */
  #giveUp() {
    // Before libpq 17 a request that was turned away looks like one that had no effect.
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
