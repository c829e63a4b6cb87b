'use strict';

// What a caller has requested and is told by one promise: a query, or a batch. It is settled here,
// once, and every rejection names a line of the caller's code (caller-stack.js). Extended by
// query.js and batch.js.

const { rejection, toldError } = require('../base');
const { SlotEntry } = require('../native');

/**
 * When the caller stops waiting.
 * @typedef {{ signal?: AbortSignal | null, timeoutMillis?: number }} Limits
 *
 * @typedef {(error: any, result?: any) => void} Callback
 *
 * What observers of a query need to know of the connection that it is sent on.
 * @typedef {{ processID: number, load: { sent: number } }} Carrier
 *
 * @typedef {object} QueryObserver
 * @property {(connection: Carrier) => void} sent
 * @property {(result: any, error?: Error) => void} settled in the middle of a delivery
 * @property {QueryObserver} [next] an observer that this one informs
 */

class Work extends SlotEntry {
  isSettled = false;
  /** Whether the call that it was made by has not returned. */
  isInCall = false;
  /** Whether its failure must not count as an unhandled rejection. */
  isToldElsewhere = false;
  /** @type {import('../base').CallSite | undefined} */
  callSite = undefined;
  /** @type {Callback | undefined} */
  callback = undefined;
  /** @type {QueryObserver | undefined} set while the channel has subscribers */
  trace = undefined;
  /** Why it must not be sent at all. @type {Error | undefined} */
  refusal = undefined;
  /** @type {AbortSignal | undefined} */
  signal = undefined;
  /** @type {number | undefined} */
  timeoutMillis = undefined;
  /**
   * The limit of the option query_timeout, which does not run while a lease waits for a connection: as in `pg`, where
   * connect() waits.
   * @type {{ pause: () => void, restart: () => void } | undefined}
   */
  defaultLimit = undefined;
  /** Nothing else may be in flight with it: cancelling it would hit others. */
  runsSolo = false;
  /** Whether a connection has closed before it was sent there, since settings were refused. */
  hasMoved = false;
  /** Whether it may be a member of a Sync group. */
  sharesSync = false;
  /** Whether it is several texts, which its role gives, each sent by the simple protocol when the one before is answered. */
  isSequence = false;
  /** Whether it is a part of a transaction(): SET LOCAL may be a member of its batches, and it tells the outcome of errors. */
  isInTransaction = false;
  /** What it was expected to cost the server when it was submitted, in ms. */
  expectedMillis = 0;
  /** @type {(() => void) | undefined} */
  whenSettled = undefined;
  /** Is called before it is rejected, once, and may say isToldElsewhere. @type {((error: Error) => void) | undefined} */
  onFailing = undefined;

  constructor() {
    super();
    /** @type {Promise<any>} */
    this.promise = new Promise((resolve) => {
      this.settle = resolve;
    });
  }

  /** @param {Limits} limits */
  limit({ signal, timeoutMillis }) {
    this.timeoutMillis = timeoutMillis ?? this.timeoutMillis;
    if (!signal) return;
    this.signal = signal;
    this.runsSolo = true;
  }

  /** @param {any} value */
  resolve(value) {
    if (this.isSettled) return;
    this.callSite = undefined;
    this.#settle(value);
    this.trace?.settled(value);
  }

  /** @param {Error} error */
  reject(error) {
    if (this.isSettled) return;
    this.onFailing?.(error);
    this.#settle(rejection(this, error));
    this.trace?.settled(undefined, toldError(error));
  }

  /** The promise first: nothing that follows can leave it pending. @param {any} outcome */
  #settle(outcome) {
    this.isSettled = true;
    /** @type {(value: any) => void} */ (this.settle)(outcome);
    this.whenSettled?.();
  }

  /**
   * Unlike a handler of its promise, this does not hide a rejection that nobody
   * else handles. It may run in the middle of a delivery.
   * @param {() => void} callback
   */
  onceSettled(callback) {
    const { whenSettled } = this;
    this.whenSettled = () => {
      whenSettled?.();
      callback();
    };
  }
}

module.exports = { Work };
