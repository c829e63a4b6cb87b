'use strict';

// One attempt at a transaction: BEGIN travels with the first statement and
// COMMIT comes right behind the last one; inside of it, savepoints. Made by
// gate.js, which is the way of its statements to the client.

const {
  afterDelivery,
  copyError,
  DatabaseError,
  QueryAbortedError,
  ResultError,
} = require('../base');
const { OwnQuery } = require('../connection');
const { findUnsendable, outcome } = require('../query');
const { classifyStatement, splitStatements } = require('../statements');
const {
  abortedError,
  controlError,
  endedError,
  incompleteError,
  innerError,
  looseError,
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
 * @typedef {import('../statements').StatementInfo} StatementInfo
 * @typedef {import('./transaction').Body} Body
 *
 * Rows or data as they come, or go.
 * @typedef {import('../query').StreamedQuery | import('../copy').CopyQuery} OpenQuery
 */

/** The transaction was aborted by an earlier statement. */
const IN_FAILED_TRANSACTION = '25P02';

const COMMIT = 'COMMIT';
const ROLLBACK = 'ROLLBACK';

/** What begins, ends or splits a transaction. The kind `transaction` has SET LOCAL and the like, too. */
const CONTROL = new Set([
  ...['BEGIN', 'START', 'COMMIT', 'END', 'ROLLBACK', 'ABORT'],
  ...['SAVEPOINT', 'RELEASE', 'PREPARE TRANSACTION'],
]);

/** @param {StatementInfo} info @returns {string | undefined} its keyword */
function findControl({ text, isSeveral, touchesTransaction, class: { keyword } }) {
  if (!touchesTransaction) return undefined;
  if (!isSeveral) return CONTROL.has(keyword) ? keyword : undefined;
  return splitStatements(text)
    .map((statement) => classifyStatement(statement).keyword)
    .find((each) => CONTROL.has(each));
}

function ignore() {}

/** BEGIN and its kin. */
class ControlQuery extends OwnQuery {
  /** The server has said so. */
  isDone = false;
  #onFailed;

  /** @param {string} text @param {(error: Error) => void} onFailed is called at once */
  constructor(text, onFailed) {
    super(text);
    // Deferred constraints are checked then, and synchronous standbys waited for.
    this.mayTakeLong = text === COMMIT;
    this.#onFailed = onFailed;
    this.isToldElsewhere = true;
  }

  /** @override @param {import('../rows').Result} result */
  resolve(result) {
    this.isDone = true;
    super.resolve(result);
  }

  /** @override @param {Error} error */
  reject(error) {
    if (!this.isSettled) this.#onFailed(error);
    super.reject(error);
  }
}

/** One attempt at a transaction, or a savepoint in one. */
class Scope {
  hasBegun = false;
  /** Nothing more is taken. */
  hasEnded = false;
  /** It was ended from outside, and this is why. @type {TransactionError | undefined} */
  interruption = undefined;
  /** Of the first statement that failed. @type {Error | undefined} */
  failure = undefined;
  /** The savepoint that is open in it. @type {Scope | undefined} */
  inner = undefined;
  /** Settles with a savepoint. @type {Promise<any> | undefined} */
  done = undefined;
  /** BEGIN, or SAVEPOINT, once it is sent. @type {ControlQuery | undefined} */
  #beginning = undefined;
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
    /** @type {TransactionScope} */
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
    if ('isOpen' in work) this.top.open = /** @type {OpenQuery} */ (work);
    return undefined;
  }

  #endedError() {
    return this.interruption === undefined ? endedError() : copyError(this.interruption);
  }

  /** @param {Query | Batch} work */
  #refuse(work) {
    if (this.inner !== undefined) return innerError();
    if (this.top.open?.isOpen) return openError();
    if (!('members' in work)) return this.#refuseQuery(work);
    work.isInTransaction = true;
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
    // The addon would find it when COMMIT is on its way already.
    return findUnsendable(query.text, query.parameters);
  }

  /** Learns of a failure when it happens, and not when somebody's promise says so. */
  #watch(/** @type {any} */ work) {
    const { reject } = work;
    work.reject = (/** @type {Error} */ error, /** @type {number | undefined} */ index) => {
      const isStopped = work.wasStopped && error instanceof QueryAbortedError;
      // The transaction will be rejected: nobody needs to hear it twice.
      if (!work.isSettled && !isStopped && this.note(error)) work.isToldElsewhere = true;
      reject.call(work, error, index);
    };
  }

  begin() {
    if (this.hasBegun) return;
    this.hasBegun = true;
    this.outer?.begin();
    this.#beginning = this.send(this.#begin, (error) => this.onBeginFailed(error));
  }

  get hasServerBegun() {
    return this.#beginning?.isDone === true;
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
    const query = new ControlQuery(text, onFailed);
    this.gate.connection.submit(query);
    return query;
  }

  /**
   * @param {Error} error of a statement
   * @returns {boolean} whether it fails the transaction
   */
  note(error) {
    const { top } = this;
    if (error instanceof ResultError) return false;
    if (error instanceof QueryAbortedError && top.isCommitSent) return false;
    const { failure } = this;
    const earlier = failure ?? this.outer?.failure ?? top.failure;
    const { code, cause } = /** @type {any} */ (error);
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
      // All of it has succeeded, so this will.
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
    // What has ended takes the savepoint with it.
    if (!this.hasBegun || outer.hasEnded) return;
    outer.send(`ROLLBACK TO ${this.#name}`);
    outer.send(`RELEASE ${this.#name}`);
  }

  // --- The end --------------------------------------------------------------------

  /** @param {TransactionError} [interruption] why, when its function has not ended */
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
    // The failure of the whole tells it.
    inner.done?.catch(ignore);
  }
}

class TransactionScope extends Scope {
  /** The last one: there is never more than one. @type {OpenQuery | undefined} */
  open = undefined;
  isCommitSent = false;
  /** The client was released: nothing more may be sent. */
  isAbandoned = false;
  /** BEGIN has failed: what was sent behind it ran without a transaction. */
  isLoose = false;
  /** A text in it may have ended it, or has taken what no rollback gives back. */
  isDoubtful = false;
  /** BEGIN was sent, and the server has not said yet that nothing of it is left. */
  mayLast = false;
  #savepoints = 0;

  nameSavepoint() {
    return `pg_conduit_${++this.#savepoints}`;
  }

  /** @override */
  begin() {
    this.mayLast = true;
    super.begin();
  }

  /** @override @param {Error} error */
  onBeginFailed(error) {
    this.note(error);
    if (!(error instanceof DatabaseError)) return;
    this.isLoose = true;
    afterDelivery(() => this.gate.connection.destroy());
  }

  /** @param {Body} body */
  async run(body) {
    let value;
    try {
      value = await body(this.transaction);
    } catch (error) {
      this.end();
      await this.#rollBack();
      throw this.isLoose ? looseError(this.failure) : error;
    }
    this.end();
    await this.#commit();
    return value;
  }

  async #commit() {
    if (this.interruption !== undefined || this.failure !== undefined) {
      await this.#rollBack();
      if (this.isLoose) throw looseError(this.failure);
      throw outcome.tellOfRollback(this.interruption ?? abortedError(this.failure), this);
    }
    if (!this.hasBegun) return;
    this.isCommitSent = true;
    const { connection } = this.gate;
    const query = this.send(COMMIT, ignore);
    let command;
    try {
      ({ command } = await query.promise);
    } catch (error) {
      if (error instanceof DatabaseError && connection.transactionStatus !== 0) {
        await this.#rollBack();
      } else if (error instanceof DatabaseError && !query.wasFatal) {
        this.mayLast = false;
      }
      if (this.isLoose) throw looseError(this.failure);
      outcome.tellOfCommit(/** @type {Error} */ (error), this);
      throw error;
    }
    if (this.isLoose) throw looseError(this.failure);
    if (command === ROLLBACK) this.mayLast = false;
    if (command !== COMMIT) throw outcome.tellOfRollback(abortedError(this.failure), this);
    if (this.failure !== undefined) throw incompleteError(this.failure);
  }

  async #rollBack() {
    // After release() the pool does it.
    if (!this.hasBegun || this.isAbandoned) return;
    const { connection } = this.gate;
    try {
      const { command } = await this.send(ROLLBACK, ignore).promise;
      if (command === ROLLBACK) this.mayLast = false;
    } catch {
      // Lost already, or not to be used by anybody.
      connection.destroy();
    }
  }
}

module.exports = { Scope, TransactionScope };
