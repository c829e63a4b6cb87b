'use strict';

// What copyRows() sends: several texts, each when the one before is answered, with each COPY alone in its own, since
// poolers lose their place in an answer that has more. The connection is its own for all that time. outbox.js asks it
// for the next text, rows.js gives it rows. Made by rows.js.
//
// A few rows need the columns' types, which may be known, and one COPY. For more, rows that the binary format does not
// take may follow as text, so both are one transaction; in a transaction of the caller's they are a part of that.

const {
  ConnectionError,
  DatabaseError,
  Deferred,
  escapeIdentifier,
  QUERY_CANCELED,
  QueryAbortedError,
  StatementRefusedError,
} = require('../base');
const { OWN_DEFAULTS, Query } = require('../query');
const { Result } = require('../rows');
const { describeText, readColumns } = require('./columns');
const { encodeFew } = require('./few-rows');
const { CopyRole } = require('./role');

/**
 * @typedef {import('./columns').Columns} Columns
 *
 * - describe: asks for the types of the columns
 * - begin: begins a transaction, locks the table and asks for them again
 * - alone: the only COPY
 * - binary, text: one COPY and, perhaps, the other
 * @typedef {'describe' | 'begin' | 'alone' | 'binary' | 'text' | 'commit' | 'rollback'} Step
 *
 * What the server waits for.
 * @typedef {object} Format
 * @property {Columns['types']} types
 * @property {Columns['encoders']} encoders of the binary format; else it is text
 * @property {Buffer} [bytes] all that there is to be sent
 *
 * What is known of the text, for all who copy to these columns.
 * @typedef {object} Known
 * @property {Columns} [columns] that the server will refuse to have mistaken
 * @property {boolean} [refusesBlocks] a pooler takes no transactions
 */

/** No columns are known. @type {Columns} */
const NONE = { types: [], encoders: undefined, guard: undefined };
const IDLE = 0;
/** A cancel request is sent 8 times at most before the connection is given up (cancellation.js). */
const MAX_ROLLBACKS = 10;

class CopyRowsRole extends CopyRole {
  /** What the rows are to be written as, once the server waits for them. @type {Deferred<Format>} */
  whenReady = new Deferred();
  /** Rows that go as text are to follow. */
  wantsText = false;
  /** Rows that went before the COPY of text, where the server counts from 1 again. */
  rowsBefore = 0;
  /** @type {Step | undefined} */
  #step = undefined;
  #target;
  #names;
  #copy;
  #rows;
  /** @type {Known} */
  #known = {};
  /** Whether it is a part of a transaction of the caller's. */
  #isInside = false;
  /** Whether the types were asked for just now. */
  #isFresh = false;
  #hasAsked = false;
  /** Whether the server has begun a COPY. */
  #hasBegun = false;
  #columns = NONE;
  /** Of a few rows. @type {Format | undefined} */
  #format = undefined;
  #rowCount = 0;
  #rollbacks = 0;
  /** Why it is undone. @type {Error | undefined} */
  #failure = undefined;

  /**
   * @param {string} target
   * @param {readonly string[]} names of the columns
   * @param {any} rows
   */
  constructor(target, names, rows) {
    const copy = `copy ${target} (${names.map(escapeIdentifier).join(', ')}) from stdin`;
    super('in', new Query(copy, [], {}, OWN_DEFAULTS));
    this.query.isSequence = true;
    this.#target = target;
    this.#names = names;
    this.#copy = copy;
    this.#rows = rows;
    this.whenReady.promise.catch(() => {});
  }

  get names() {
    return this.#names;
  }

  /** Whether rows were asked for, which are not there a second time. */
  get hasAsked() {
    return this.#hasAsked;
  }

  /** @override */
  get isUncommitted() {
    switch (this.#step) {
      case 'describe':
      case 'begin':
      case 'rollback':
        return true;
      case 'binary':
      case 'text':
        return !this.#isInside;
      default:
        return false;
    }
  }

  // --- The texts --------------------------------------------------------------------

  /** @override @param {boolean} isInside whether it is in a transaction */
  begin(isInside) {
    if (this.#step !== undefined) return;
    this.#known = this.query.info.copied ??= {};
    this.#isInside = isInside;
    const { columns, refusesBlocks } = this.#known;
    // In a transaction nothing can be tried a second time.
    if (columns === undefined || refusesBlocks || isInside) this.#ask();
    else this.#choose(columns);
  }

  /**
   * @override
   * @param {number} transactionStatus PQTransactionStatusType
   * @returns {boolean} whether `text` is to be sent next
   */
  next(transactionStatus) {
    try {
      return this.#next(transactionStatus);
    } catch (error) {
      this.query.error = /** @type {Error} */ (error);
      return this.#end(transactionStatus);
    }
  }

  /** @param {number} transactionStatus */
  #next(transactionStatus) {
    if (this.#step === 'rollback' || this.#step === 'commit') return this.#end(transactionStatus);
    if (this.query.error !== undefined) {
      return this.#tryAgain(this.query.error) || this.#end(transactionStatus);
    }
    if (this.side === undefined || this.query.isSettled || this.side.destroyed) {
      this.query.error = new QueryAbortedError('The stream was destroyed', 'ABORT_ERR');
      return this.#end(transactionStatus);
    }
    switch (this.#step) {
      case 'describe':
        this.#columns = this.#readColumns();
        this.#isFresh = true;
        this.#choose(this.#columns);
        return true;
      case 'begin':
        this.#columns = this.#readColumns();
        return this.#copyAs(this.#columns.encoders === undefined ? 'text' : 'binary');
      case 'binary':
        this.#count();
        if (this.wantsText) return this.#copyAs('text');
        break;
      default:
        this.#count();
    }
    return this.#end(transactionStatus);
  }

  #readColumns() {
    return readColumns(this.#names, /** @type {any} */ (this.query.results?.at(-1)?.rows ?? []));
  }

  #ask() {
    return this.#go('describe', describeText(this.#target, this.#names));
  }

  /** @param {Columns} columns */
  #choose(columns) {
    this.#columns = columns;
    const { types, encoders, guard } = columns;
    // One COPY: of text, where nothing else will do.
    if (encoders === undefined || this.#known.refusesBlocks) {
      this.#copyPlain();
      return;
    }
    const few = guard === undefined ? undefined : encodeFew(this.#rows, columns);
    if (few === undefined) {
      // Locked as COPY does it, the table keeps the types that it is seen to have then.
      const lock = `lock table only ${this.#target} in row exclusive mode`;
      const texts = [lock, describeText(this.#target, this.#names)];
      this.#go('begin', (this.#isInside ? texts : ['begin', ...texts]).join('; '));
      return;
    }
    if (!this.#isInside) this.#known.columns = columns;
    this.#format = { types, encoders: few.isBinary ? encoders : undefined, bytes: few.bytes };
    this.#go('alone', `${this.#copy}${few.isBinary ? ' binary' : ''}${guard}`);
  }

  /** @param {'binary' | 'text'} step */
  #copyAs(step) {
    const { types, encoders } = this.#columns;
    this.#askRows({ types, encoders });
    return this.#go(step, step === 'binary' ? `${this.#copy} binary` : this.#copy);
  }

  /** One COPY, of text, for as many rows as there are. */
  #copyPlain() {
    this.#askRows({ types: this.#columns.types, encoders: undefined });
    return this.#go('alone', this.#copy);
  }

  /** @param {Format} format */
  #askRows(format) {
    this.#hasAsked = true;
    this.whenReady.resolve(format);
  }

  /** @param {Step} step @param {string} text @returns {true} */
  #go(step, text) {
    this.#step = step;
    // While the types are asked for, its deadline is that of the driver's own statements.
    this.query.isOwn = step === 'describe';
    this.query.text = text;
    return true;
  }

  #count() {
    const result = /** @type {Result | undefined} */ (this.query.results?.at(-1));
    this.#rowCount += Number(result?.rowCount ?? 0);
  }

  /**
   * The server has refused a text that was to tell whether the types are as expected: they are not, or it does not
   * know such a text.
   * @param {Error} error
   * @returns {boolean} whether `text` is tried in its place
   */
  #tryAgain(error) {
    const isGuarded = this.#step === 'alone' && this.query.text !== this.#copy && !this.#hasBegun;
    if (!isGuarded || !(error instanceof DatabaseError) || !/^(?:42|0A)/.test(String(error.code))) {
      return false;
    }
    this.#known.columns = undefined;
    if (this.#isInside) {
      const why = 'a column was altered while copyRows() began: call it again';
      this.query.error = Object.assign(new StatementRefusedError(why), { cause: error });
      return false;
    }
    return this.#isFresh ? this.#copyPlain() : this.#ask();
  }

  /**
   * Ends the transaction, if that is its own.
   * @param {number} transactionStatus
   * @returns {boolean} whether `text` is to be sent for that
   */
  #end(transactionStatus) {
    const isOpen = transactionStatus > IDLE && !this.#isInside;
    if (this.#step === 'commit') {
      if (this.query.error === undefined && this.query.results?.at(-1)?.command !== 'COMMIT') {
        this.query.error = new ConnectionError('COMMIT was not answered as such');
      }
      return false;
    }
    if (this.#step === 'rollback') {
      if (isOpen && isOfCancel(this.query.error) && ++this.#rollbacks < MAX_ROLLBACKS) {
        return this.#go('rollback', 'rollback');
      }
      // It cannot be trusted any more.
      if (isOpen) this.query.connection.cut(new ConnectionError('ROLLBACK has failed'));
      this.query.error = this.#failure;
      this.query.hasFailed = true;
      return false;
    }
    if (!isOpen) return false;
    if (this.query.error === undefined) return this.#go('commit', 'commit');
    this.#failure = this.query.error;
    return this.#go('rollback', 'rollback');
  }

  // --- What its stream and its caller are told --------------------------------------

  /** @override */
  copyIn() {
    if (this.#step === 'describe' || this.#step === 'begin') {
      super.copyIn();
      return;
    }
    this.#hasBegun = true;
    if (this.#format !== undefined) this.#askRows(this.#format);
    super.copyIn();
  }

  /** @override @param {any} error */
  onFailing(error) {
    if (this.rowsBefore > 0 && typeof error.where === 'string') {
      error.where = error.where.replace(
        /^(COPY .*, line )(\d+)/,
        (/** @type {string[]} */ ...[, copy, line]) => copy + (Number(line) + this.rowsBefore),
      );
    }
    this.whenReady.reject(error);
  }

  /** @override */
  get value() {
    const sum = new Result();
    sum.command = 'COPY';
    sum.rowCount = this.#rowCount;
    return sum;
  }
}

/**
 * Whether a signal has ended what was running, which may have been meant for what ran before. It is told as what has
 * made somebody send it.
 * @param {any} error
 */
function isOfCancel(error) {
  return error?.code === QUERY_CANCELED || error instanceof QueryAbortedError;
}

module.exports = { CopyRowsRole };
