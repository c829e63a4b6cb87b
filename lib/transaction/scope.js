'use strict';

// Where a statement of a transaction belongs: the transaction itself (attempt.js) or a savepoint in it, which is made
// here. A scope begins with its first statement, admits statements until it ends, and remembers the first failure.
// gate.js asks it for each statement.

const { copyError, DatabaseError, QueryAbortedError, ResultError } = require('../base');
const { findUnsendable, outcome } = require('../query');
const { controlQuery, findControl } = require('./control');
const {
  abortedError,
  controlError,
  endedError,
  innerError,
  openEndError,
  openError,
  openInnerError,
} = require('./errors');
const { checkSavepoint } = require('./options');
const { Transaction } = require('./transaction');

/**
 * @typedef {import('../query').Batch} Batch
 * @typedef {import('../base').TransactionError} TransactionError
 * @typedef {import('../query').Query} Query
 * @typedef {import('./gate').TransactionGate} TransactionGate
 * @typedef {import('./attempt').Attempt} Attempt
 * @typedef {import('./transaction').Body} Body
 */

/** The transaction was aborted by an earlier statement. */
const IN_FAILED_TRANSACTION = '25P02';

function ignore() {}

/** One attempt at a transaction, or a savepoint in one. */
class Scope {
  hasBegun = false;
  /** No statement is admitted any more. */
  hasEnded = false;
  /** Why it has ended before its function has. @type {TransactionError | undefined} */
  interruption = undefined;
  /** Of the first statement that failed. @type {Error | undefined} */
  failure = undefined;
  /** The savepoint that is open in it. @type {Scope | undefined} */
  inner = undefined;
  /** What nest() of a savepoint gives. @type {Promise<any> | undefined} */
  done = undefined;
  /** BEGIN, or SAVEPOINT, once it is sent. @type {Query | undefined} */
  #beginning = undefined;
  #hasBeginFailed = false;
  #begin;

  /**
   * @param {TransactionGate} gate
   * @param {string} begin text of the statement
   * @param {Scope} [outer]
   */
  constructor(gate, begin, outer) {
    this.gate = gate;
    this.#begin = begin;
    this.outer = outer;
    /** @type {Attempt} */
    this.top = outer === undefined ? /** @type {any} */ (this) : outer.top;
    this.transaction = new Transaction(this);
  }

  // --- Statements -----------------------------------------------------------------

  /**
   * Begins it with the first statement.
   * @param {Query | Batch} work that is to be sent
   * @returns {Error | undefined} why it cannot be
   */
  admit(work) {
    if (this.hasEnded) return this.#endedError();
    this.#watch(work);
    const refusal = work.refusal ?? this.#refuse(work);
    if (refusal !== undefined || work.isSettled) return refusal;
    this.begin();
    // It may have been refused in the call.
    if (this.top.refusal !== undefined) return copyError(this.top.refusal);
    if ('role' in work && work.role !== undefined) this.top.open = work.role;
    return undefined;
  }

  #endedError() {
    return this.interruption === undefined ? endedError() : copyError(this.interruption);
  }

  /** @param {Query | Batch} work */
  #refuse(work) {
    const { refusal } = this.top;
    if (refusal !== undefined) return copyError(refusal);
    if (this.inner !== undefined) return innerError();
    if (this.top.open?.isOpen) return openError();
    work.isInTransaction = true;
    if (!('members' in work)) return this.#refuseQuery(work);
    return work.members
      .map((query) => this.#refuseQuery(query))
      .find((error) => error !== undefined);
  }

  /** @param {Query} query */
  #refuseQuery(query) {
    query.info ??= this.gate.registry.find(query.text);
    const keyword = findControl(query.info);
    if (keyword !== undefined) return controlError(keyword);
    if (query.info.isDoubtful || query.info.outlastsRollback) this.top.isDoubtful = true;
    // The addon would refuse it only when COMMIT has been sent already.
    return findUnsendable(query.text, query.parameters);
  }

  /** Notes a failure when it happens, which is before the promise of the statement is rejected. */
  #watch(/** @type {any} */ work) {
    work.onFailing = (/** @type {Error} */ error) => {
      const isStopped = work.wasStopped && error instanceof QueryAbortedError;
      // The transaction will be rejected with it, so the statement's own rejection may go unhandled.
      if (!isStopped && this.note(error)) work.isToldElsewhere = true;
    };
  }

  begin() {
    if (this.hasBegun) return;
    this.hasBegun = true;
    this.outer?.begin();
    // Known before it is sent: it may fail in the call.
    this.#beginning = controlQuery(this.#begin, (error) => {
      this.#hasBeginFailed = true;
      this.onBeginFailed(error);
    });
    this.#submit(this.#beginning);
  }

  /** Whether no connection has got its BEGIN, nor anything behind it: a lease waits for one, or has waited in vain. */
  get isUnsent() {
    return this.#beginning !== undefined && this.#beginning.connection === undefined;
  }

  /** While it is unsent: nothing of it is. @param {() => Error} getReason */
  withdraw(getReason) {
    if (!this.isUnsent) return;
    // Only a lease has statements that wait for a connection.
    const { connection } = /** @type {{ connection: any }} */ (this.gate);
    connection.withdraw?.(this.#beginning, getReason());
  }

  get hasServerBegun() {
    return this.#beginning?.isSettled === true && !this.#hasBeginFailed;
  }

  /** @param {Error} error */
  onBeginFailed(error) {
    this.note(error);
  }

  /**
   * @param {string} text
   * @param {(error: Error) => void} [onFailed]
   */
  send(text, onFailed = (error) => this.note(error)) {
    const query = controlQuery(text, onFailed);
    this.#submit(query);
    return query;
  }

  /** @param {Query} query */
  #submit(query) {
    const { refusal } = this.top;
    if (refusal === undefined) this.gate.connection.submit(query);
    else query.reject(copyError(refusal));
  }

  /**
   * @param {Error} error of a statement
   * @returns {boolean} whether it fails the transaction
   */
  note(error) {
    const { top } = this;
    if (error instanceof ResultError) return false;
    const { code, cause, outcome: told } = /** @type {any} */ (error);
    // What was given up behind COMMIT may have been a part of it, unless it was never sent.
    if (error instanceof QueryAbortedError && top.isCommitSent && told !== 'not-run') return false;
    const { failure } = this;
    const earlier = failure ?? this.outer?.failure ?? top.failure;
    const isFollowing = code === IN_FAILED_TRANSACTION && cause === undefined;
    if (isFollowing && earlier !== undefined) error.cause = earlier;
    outcome.tellInTransaction(error, top);
    if (failure === undefined) this.failure = error;
    return true;
  }

  // --- Savepoints -----------------------------------------------------------------

  /**
   * @param {Body} body
   * @param {unknown} options
   */
  nest(body, options) {
    const inner = new Scope(this.gate, `SAVEPOINT ${this.top.nameSavepoint()}`, this);
    inner.done = this.#nest(inner, body, options);
    return inner.done;
  }

  /** @param {Scope} inner @param {Body} body @param {unknown} options */
  async #nest(inner, body, options) {
    if (this.hasEnded) throw this.#endedError();
    checkSavepoint(body, options);
    const isOpen = this.top.open?.isOpen;
    if (this.inner !== undefined || isOpen) {
      const error = isOpen ? openError() : innerError();
      this.note(error);
      throw error;
    }
    this.inner = inner;
    try {
      return await inner.#runInside(this, body);
    } finally {
      if (this.inner === inner) this.inner = undefined;
    }
  }

  /** @param {Scope} outer @param {Body} body */
  async #runInside(outer, body) {
    let value;
    try {
      value = await body(this.transaction);
    } catch (error) {
      this.end();
      this.#undo(outer);
      throw error;
    }
    this.end();
    if (this.interruption !== undefined) {
      this.#undo(outer);
      throw this.interruption;
    }
    if (this.failure !== undefined) {
      this.#undo(outer);
      throw abortedError(this.failure);
    }
    if (this.hasBegun) await this.#release(outer);
    return value;
  }

  get #name() {
    return this.#begin.slice('SAVEPOINT '.length);
  }

  /** @param {Scope} outer */
  async #release(outer) {
    const text = `RELEASE ${this.#name}`;
    if (this.gate.connection.inFlight === 0) {
      // All statements in it have succeeded, so RELEASE will, too.
      outer.send(text);
      return;
    }
    try {
      await this.send(text).promise;
    } catch (error) {
      this.#undo(outer);
      throw error instanceof DatabaseError ? abortedError(this.failure) : error;
    }
    if (this.failure === undefined) return;
    outer.note(this.failure);
    throw abortedError(this.failure);
  }

  /** @param {Scope} outer */
  #undo(outer) {
    // The end of the outer one has ended the savepoint, too.
    if (!this.hasBegun || outer.hasEnded) return;
    outer.send(`ROLLBACK TO ${this.#name}`);
    outer.send(`RELEASE ${this.#name}`);
  }

  // --- The end --------------------------------------------------------------------

  /** @param {TransactionError} [interruption] why, if its function has not ended */
  end(interruption) {
    if (this.hasEnded) return;
    this.hasEnded = true;
    this.interruption = interruption;
    const { inner, top } = this;
    if (top.open?.isOpen) {
      this.interruption ??= openEndError();
      top.open.interrupt(copyError(this.interruption));
    }
    if (inner === undefined) return;
    this.interruption ??= openInnerError();
    inner.end(endedError());
    // The transaction is rejected for it.
    inner.done?.catch(ignore);
  }
}

module.exports = { Scope };
