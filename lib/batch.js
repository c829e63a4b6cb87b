'use strict';

// Several statements behind one Sync: all of them are committed, or none, and
// their results are given out together. Made by client.js and pool.js, sent by
// outbox.js.

const { ConnectionError, ParameterError, StatementRefusedError } = require('./errors');
const { findUnsendable } = require('./parameters');
const { Query, rejectWithCallerStack } = require('./query');
const { readQuery } = require('./query-arguments');

/**
 * @typedef {import('./row-builder').TypeSource} TypeSource
 * @typedef {import('./row-builder').Int8} Int8
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
    // The loss of the connection is nobody's fault.
    const index = error instanceof ConnectionError ? undefined : this.index;
    /** @type {Batch} */ (this.batch).reject(error, index);
  }
}

class Batch {
  /** It has its Sync to itself. */
  sharesSync = false;
  runsSolo = false;
  /** @type {import('./connection').Connection | undefined} as a query has it */
  connection = undefined;
  expectedMillis = 0;
  isSettled = false;
  /** @type {import('./result').Result[]} */
  results = [];
  /** @type {undefined} as a query has it */
  callback = undefined;
  /** Why it is not to be sent at all. @type {Error | undefined} */
  refusal = undefined;

  /** @type {(() => void) | undefined} */
  #whenSettled = undefined;

  /** @param {BatchMember[]} members in their order */
  constructor(members) {
    this.members = members;
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
    this.#settle();
    /** @type {(value: any) => void} */ (this.resolve)(this.results);
  }

  /**
   * The first reason counts.
   * @param {Error} error
   * @param {number} [index] of the member whose fault it is
   */
  reject(error, index) {
    if (this.isSettled) return;
    this.#settle();
    if (index !== undefined) withIndex(error, index);
    /** @type {(value: any) => void} */ (this.resolve)(rejectWithCallerStack(error));
  }

  #settle() {
    this.isSettled = true;
    this.#whenSettled?.();
  }

  /** As Query has it. @param {() => void} callback */
  onceSettled(callback) {
    this.#whenSettled = callback;
  }

  /** A statement in it wants no neighbours. */
  get runsAlone() {
    return this.members.some(({ info }) => info.class.kind === 'alone');
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
      if (kind === 'plain' || kind === 'alone' || (kind === 'session' && !isShared)) continue;
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
 * @param {any} list of texts, or { text, values, name, rowMode, types, prepare }
 * @param {TypeSource} types
 * @param {Int8} int8
 * @returns {Batch}
 */
function readBatch(list, types, int8) {
  if (!Array.isArray(list)) {
    const batch = new Batch([]);
    batch.refusal = new ParameterError(
      `batch() needs an array of SQL texts, or of { text, values }, not ${list === null ? 'null' : typeof list}`,
    );
    return batch;
  }
  // By index, since a hole is wrong too.
  const members = Array.from(list, (item) => {
    const query = readQuery(item, undefined, undefined, types, int8, BatchMember);
    if (query.signal !== undefined || query.timeoutMillis !== undefined) {
      query.refusal ??= new ParameterError(
        'signal and timeoutMillis are for query(): a statement of a batch cannot be given up by itself',
      );
    }
    // Sent alone it would be rejected by the addon, and its neighbours committed.
    query.refusal ??= findUnsendable(query.text, query.parameters);
    return query;
  });
  const batch = new Batch(members);
  if (members.length === 0) batch.finish();
  return batch;
}

module.exports = { Batch, readBatch };
