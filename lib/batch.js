'use strict';

// Several statements behind one Sync: all of them are committed, or none, and
// their results are given out together. Made by client.js and pool.js, sent by
// outbox.js.

const { CallSite, rejection } = require('./caller-stack');
const {
  ConnectionError,
  ParameterError,
  QueryAbortedError,
  StatementRefusedError,
} = require('./errors');
const { Measure, batchTooLargeError } = require('./parameters');
const { OWN_DEFAULTS, Query } = require('./query');
const { checkDeadline, readQuery } = require('./query-arguments');
const { StatementInfo } = require('./statement-registry');

/**
 * @typedef {import('./statement-registry').StatementRegistry} StatementRegistry
 */

/** What ends or splits the transaction that a batch is. */
const SPLITTING = 'a batch is a transaction of its own, which begins and ends with it: leave out';

class BatchMember extends Query {
  index = 0;

  /** @override @param {import('./result').Result} result */
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
  /** @type {import('./connection').Connection | undefined} as a query has it */
  connection = undefined;
  expectedMillis = 0;
  /** That of a transaction(), in which SET LOCAL and its kin may stand. */
  isInTransaction = false;
  isSettled = false;
  isInCall = false;
  isToldElsewhere = false;
  /** @type {CallSite | undefined} */
  callSite = undefined;
  /** @type {import('./result').Result[]} */
  results = [];
  /** @type {undefined} as a query has it */
  callback = undefined;
  /** @type {import('./diagnostics').TraceWriter | undefined} while somebody listens */
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
    /** @type {Promise<import('./result').Result[]>} */
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

/**
 * @param {any} item of a batch that no query can be made of
 * @param {number} index
 * @returns {ParameterError | undefined} says what to write in its place; nothing, if it has a text
 */
function mistakenFor(item, index) {
  if (typeof item === 'string' || typeof item?.text === 'string') return undefined;
  if (Array.isArray(item)) {
    return new ParameterError(
      `statement ${index} of batch() is an array: write { text, values } in place of [text, values]`,
    );
  }
  if (isPromise(item)) {
    return new ParameterError(
      `statement ${index} of batch() is a promise, and a query that has one is sent already: write ` +
        'the text, or { text, values }, in place of query(text, values)',
    );
  }
  return new ParameterError(
    `statement ${index} of batch() must be an SQL text or { text, values }, not ${kindOf(item)}`,
  );
}

/** @param {any} value */
function isPromise(value) {
  return typeof value?.then === 'function';
}

/** @param {any} value that is no text @returns {string} in a sentence */
function kindOf(value) {
  if (value === null || value === undefined) return String(value);
  if (isPromise(value)) return 'a promise';
  return typeof value === 'object' ? 'an object without text' : `a ${typeof value}`;
}

/**
 * @param {any} list of texts, or { text, values, name, rowMode, types, prepare }, or members of our own
 * @param {import('./query').QueryDefaults} defaults
 * @param {any} options signal, timeoutMillis
 * @returns {Batch}
 */
function readBatch(list, defaults, options) {
  if (!Array.isArray(list)) {
    const batch = new Batch([]);
    const isOne = typeof list === 'string' || typeof list?.text === 'string';
    const given = isOne ? 'one alone' : kindOf(list);
    batch.refusal = new ParameterError(
      `batch() needs an array of SQL texts, or of { text, values }, not ${given}`,
    );
    return batch;
  }
  const measure = new Measure();
  // By index, since a hole is wrong too.
  const members = Array.from(list, (item, index) => {
    const query =
      item instanceof BatchMember
        ? item
        : readQuery(item, undefined, undefined, defaults, BatchMember);
    if (query.refusal !== undefined) query.refusal = mistakenFor(item, index) ?? query.refusal;
    if (query.signal !== undefined || query.timeoutMillis !== undefined) {
      query.refusal ??= new ParameterError(
        'a statement of a batch cannot be given up by itself: pass signal and timeoutMillis to batch()',
      );
    }
    // Sent alone it would be rejected by the addon, and its neighbours committed.
    query.refusal ??= measure.add(query.text, query.parameters);
    return query;
  });
  /** @type {Error | undefined} */
  let refusal;
  try {
    checkDeadline(options ?? {});
  } catch (error) {
    refusal = /** @type {Error} */ (error);
  }
  const batch = new Batch(members, refusal === undefined ? (options ?? {}) : {});
  if (measure.isTooLarge) batch.refusal ??= batchTooLargeError();
  batch.refusal = refusal ?? batch.refusal;
  if (batch.refusal === undefined && members.length === 0) batch.finish();
  return batch;
}

module.exports = { Batch, BatchMember, ReadCommitted, readBatch };
