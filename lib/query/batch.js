'use strict';

// Several statements behind one Sync: all of them are committed, or none, and
// their results are given out together. Made by read-batch.js, sent by outbox.js.

const {
  CallSite,
  ConnectionError,
  QueryAbortedError,
  rejection,
  StatementRefusedError,
} = require('../base');
const { StatementInfo } = require('../statements');
const { OWN_DEFAULTS, Query } = require('./query');

/**
 * @typedef {import('../statements').StatementRegistry} StatementRegistry
 */

/** What ends or splits the transaction that a batch is. */
const SPLITTING = 'a batch is a transaction of its own, which begins and ends with it: leave out';

class BatchMember extends Query {
  index = 0;

  /** @override @param {import('../rows').Result} result */
  resolve(result) {
    /** @type {Batch} */ (this.batch).results[this.index] = result;
  }

  /** @override @param {Error} error */
  reject(error) {
    // The loss of the connection is nobody's fault, nor is a cancel.
    const isNobodys = error instanceof ConnectionError || error instanceof QueryAbortedError;
    const index = isNobodys ? undefined : this.index;
    if (!isNobodys) this.tellText(error);
    /** @type {Batch} */ (this.batch).reject(error, index);
  }
}

const READ_COMMITTED = "set transaction_isolation to 'read committed'";
/** To others it is nothing that changes their session: it ends with the batch, as SET TRANSACTION does. */
const HARMLESS = Object.assign(new StatementInfo(READ_COMMITTED), {
  class: new StatementInfo('select').class,
  touchesSession: false,
  touchesTransaction: false,
  isNeverPrepared: true,
});

/**
 * Stands first in a batch whose statements are each to see what is committed when they begin, whatever the
 * default isolation level is. SET TRANSACTION would do it with a warning of the server, since no BEGIN is there.
 */
class ReadCommitted extends BatchMember {
  constructor() {
    super(READ_COMMITTED, [], { prepare: false }, OWN_DEFAULTS);
    this.info = HARMLESS;
  }

  /** @override without the tag of a SET, which would have the prepared statements given up */
  completeOther() {
    this.completeEmpty();
  }
}

class Batch {
  /** It has its Sync to itself. */
  sharesSync = false;
  /** @type {any} as a query has it */
  connection = undefined;
  expectedMillis = 0;
  /** That of a transaction(), in which SET LOCAL and its kin may stand. */
  isInTransaction = false;
  isSettled = false;
  isInCall = false;
  isToldElsewhere = false;
  /** @type {CallSite | undefined} */
  callSite = undefined;
  /** @type {import('../rows').Result[]} */
  results = [];
  /** @type {undefined} as a query has it */
  callback = undefined;
  /** @type {import('./query').QueryObserver | undefined} while somebody listens */
  trace = undefined;
  /** Why it is not to be sent at all. @type {Error | undefined} */
  refusal = undefined;

  /** @type {(() => void) | undefined} */
  #whenSettled = undefined;

  /**
   * @param {BatchMember[]} members in their order
   * @param {import('./query').Limits} [options]
   */
  constructor(members, { signal, timeoutMillis } = {}) {
    this.members = members;
    this.signal = signal ?? undefined;
    this.timeoutMillis = timeoutMillis;
    /** Nothing else may be in flight with it: cancelling it would hit others. */
    this.runsSolo = this.signal !== undefined;
    this.size = 0;
    for (const [index, query] of members.entries()) {
      this.size += query.size;
      query.batch = this;
      query.index = index;
      if (this.refusal === undefined && query.refusal !== undefined) {
        this.refusal = withIndex(query.refusal, index);
      }
    }
    /** @type {Promise<import('../rows').Result[]>} */
    this.promise = new Promise((resolve) => {
      this.resolve = resolve;
    });
  }

  /** All members have been told what became of them. */
  finish() {
    if (this.isSettled) return;
    this.#settle(this.results);
    this.trace?.settled(this.results);
  }

  /**
   * The first reason counts.
   * @param {Error} error
   * @param {number} [index] of the member whose fault it is
   */
  reject(error, index) {
    if (this.isSettled) return;
    if (index !== undefined) withIndex(error, index);
    this.#settle(rejection(this, error));
    this.trace?.settled(undefined, error);
  }

  /** As Query has it. @param {any} outcome */
  #settle(outcome) {
    this.isSettled = true;
    /** @type {(value: any) => void} */ (this.resolve)(outcome);
    this.#whenSettled?.();
  }

  /** As Query has it. @param {() => void} callback */
  onceSettled(callback) {
    const earlier = this.#whenSettled;
    this.#whenSettled = () => {
      earlier?.();
      callback();
    };
  }

  /** Its caller waits no longer. @param {Error} error */
  abandon(error) {
    this.reject(error);
  }

  /** It, or a statement in it, wants no neighbours. */
  get runsAlone() {
    return this.runsSolo || this.members.some(({ info }) => info.class.kind === 'alone');
  }

  /**
   * @param {StatementRegistry} registry
   * @param {boolean} isShared whether it is for a connection that others share
   * @returns {boolean} whether it may run there; if not, it is rejected
   */
  admit(registry, isShared) {
    for (const query of this.members) {
      query.info ??= registry.find(query.text);
      const { kind, keyword, refusal } = query.info.class;
      if (query.info.isUntried && this.isInCall) this.callSite ??= new CallSite();
      if (kind === 'plain' || kind === 'alone' || (kind === 'session' && !isShared)) continue;
      if (kind === 'transaction' && this.isInTransaction) continue;
      const why = kind === 'transaction' ? `${keyword}: ${SPLITTING} ${keyword}` : String(refusal);
      query.reject(new StatementRefusedError(why));
      return false;
    }
    return true;
  }
}

/**
 * @template {Error} T
 * @param {T} error
 * @param {number} index
 */
function withIndex(error, index) {
  return Object.assign(error, { index });
}

module.exports = { Batch, BatchMember, ReadCommitted };
