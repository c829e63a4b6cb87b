'use strict';

// One query from submission to settlement, and what the events of its slot add up to. It is settled
// once: at its Sync, at the loss of its connection, or before it was sent. Made by
// query-arguments.js, driven by delivery.js, settled by answers.js and connection.js.

const {
  CallSite,
  commandTags,
  isFatal,
  messageOf,
  notSentReason,
  phase,
  ResultError,
  standFor,
} = require('../base');
const { ticks } = require('../native');
const { ColumnResult, countRows, newResult, ownTypes, toRowKeys } = require('../rows');
const { toDatabaseError } = require('../statements');
const { ofUnsent } = require('./outcome');
const { nulError, sizeInFlight, tooLargeError } = require('./parameters');
const { Role } = require('./role');
const { Work } = require('./work');

/**
 * @typedef {import('../statements').Statement} Statement
 * @typedef {import('../statements').StatementInfo} StatementInfo
 * @typedef {import('../rows').TypeSource} TypeSource
 * @typedef {import('../rows').Int8} Int8
 *
 * What the queries of one client have in common.
 * @typedef {object} QueryDefaults
 * @property {TypeSource} types
 * @property {Int8} int8
 * @property {boolean} [namedParameters]
 * @property {boolean} [queryInErrors]
 * @property {'camel' | false | ((name: string) => string)} [rowKeys]
 *
 * @typedef {{ onNotice: (fields: Readonly<Record<string, string>>) => void }} NoticeTaker
 *
 * How fast an execution is expected to be.
 * @typedef {'fast' | 'slow' | 'unknown'} Pace
 */

/** For the driver's own queries. @type {QueryDefaults} */
const OWN_DEFAULTS = Object.freeze({ types: ownTypes, int8: 'string' });

const INSERT = commandTags.indexOf('INSERT');

/** What it is besides one of query() is its role: a subclass would make all queries slower (CONTRIBUTING.md, "Style"). */
class Query extends Work {
  /** @type {Role | undefined} */
  role = undefined;

  // How it is sent.

  /** @type {StatementInfo} */
  // @ts-expect-error not before it is submitted
  info = undefined;
  slot = -1;
  /** The batch that it is a member of. @type {import('./batch').Batch | undefined} */
  batch = undefined;
  /** Its place in the batch. */
  index = 0;
  /** Whether it is answered as an empty statement, without its tag. */
  isTagless = false;
  /** Of the driver's own: if true, there is no deadline without `query_timeout`. */
  mayTakeLong = false;
  /** The prepared statement that it executes. @type {Statement | undefined} */
  statement = undefined;
  /** Whether it has sent the Parse of `statement`. */
  leads = false;
  /** The settings that its lease has made; undefined: those of the pool. @type {import('../statements').Profile | undefined} */
  profile = undefined;
  /** @type {Pace} */
  pace = 'unknown';
  /** Whether it may wait for the lock of a row, as far as was known when it was submitted: set by the load of its connection. */
  mayLock = true;
  /** Whether its rows are passed on as they come. */
  isStreamed = false;
  /** Whether only its types are asked for: its text must never be executed. */
  isDescription = false;
  /** Whether it was made by copyFrom(), copyRows() or copyTo(). */
  isCopy = false;
  /** Whether its output is read as it comes, by a reader who may not want the rest. */
  isRead = false;
  /** Its reader does not want the rest. */
  wasStopped = false;
  /** Is told of its notices, in the place of the connection's owner. @type {NoticeTaker | undefined} */
  noticeTaker = undefined;
  /** Whether it was sent by the simple protocol, in the pipeline. */
  isSimple = false;
  /** Whether it was, and its command is complete only when it is committed. */
  commitsAlone = false;
  /** Whether it must not leave a transaction open. */
  endsTransaction = false;
  /** Whether it was a member of a Sync group that failed, and is sent again by itself. */
  wasUndone = false;
  /** Whether it was sent again, once, without its prepared statement. */
  retried = false;
  /**
   * The error for which it is sent again without its prepared statement, which may be to blame.
   * @type {{ statement: Statement, leads: boolean, error: import('../base').DatabaseError } | undefined}
   */
  doubt = undefined;

  // The answer to it. reset() clears this before it is sent again.

  /** @type {import('../rows').Result | undefined} */
  result = undefined;
  /** @type {import('../rows').Shape | undefined} */
  shape = undefined;
  /** Makes rows of that shape. @type {import('../rows').Builder | undefined} */
  build = undefined;
  /**
   * For a text of several statements, which is sent by the simple protocol: the result of each.
   * @type {import('../rows').Result[] | undefined}
   */
  results = undefined;
  /** The full command tag, if it is not one of commandTags. */
  tag = '';
  /** The first error. @type {Error | undefined} */
  error = undefined;
  /** Whether its error ended the session. */
  wasFatal = false;
  /** Whether the server has undone it, or never begun it. */
  hasFailed = false;
  /** Whether its Parse has failed. */
  parseFailed = false;
  /** Whether the server skipped it because of another query's error before the same Sync. */
  wasSkipped = false;
  /** Whether libpq, or the addon, refused to send it. */
  wasNotSent = false;
  /** Whether the connection was gone before its Execute could be written. */
  isUnwritten = false;

  /**
   * @param {string} text
   * @param {readonly import('./parameters').Parameter[]} parameters
   * @param {Record<string, any>} options name, rowMode, types, prepare
   * @param {QueryDefaults} defaults
   */
  constructor(text, parameters, options, defaults) {
    super();
    this.text = text;
    this.parameters = parameters;
    this.size = sizeInFlight(text, parameters);
    this.name = options.name || undefined;
    /** @type {'array' | 'columns' | undefined} */
    this.rowMode = options.rowMode || undefined;
    this.types = options.types ?? defaults.types;
    this.int8 = defaults.int8;
    const { rowKeys = defaults.rowKeys } = options;
    this.rowKeys = rowKeys && toRowKeys(rowKeys);
    this.isTextInErrors = defaults.queryInErrors === true;
    this.prepare = options.prepare;
    this.syncGroup = options.syncGroup;
    this.signal = options.signal ?? undefined;
    this.timeoutMillis = options.timeoutMillis ?? (options.query_timeout || undefined);
    this.runsSolo = this.signal !== undefined;
    /** Whether it must not be sent by the simple protocol, whatever its text contains. */
    this.isExtended = options.queryMode === 'extended' || this.name !== undefined;
  }

  /** Whether it is what a caller gives query(): no stream, no COPY, nothing of the driver's own. */
  get isPlain() {
    return !this.isStreamed && !this.isCopy && !this.isDescription && !this.isOwn;
  }

  /** @param {import('../statements').StatementRegistry} registry */
  identify(registry) {
    const info = (this.info ??= registry.find(this.text));
    if (info.isUntried && this.isInCall && !this.isStreamed && this.callSite === undefined) {
      if (registry.mayRecord(info, ticks.turn())) this.callSite = new CallSite();
    }
    return info;
  }

  /**
   * @override
   * @param {import('../rows').Shape} shape
   * @param {import('../rows').Cells} cells
   * @param {import('../rows').Chunk} chunk
   * @param {number} cell
   * @param {number} count
   * @param {boolean} hasNulls
   */
  addRows(shape, cells, chunk, cell, count, hasNulls) {
    // As behind an extended query: whether it is one or not depends on how often it was used.
    if (this.isSimple && this.info.returnsNothing) return;
    let { result } = this;
    if (result === undefined) {
      result = this.result = newResult(this.rowMode);
      result.fields = shape.fields.slice();
      this.shape = shape;
      this.build = undefined;
      if (this.role !== undefined) this.role.onFields(shape.fields);
    } else if (this.isSimple && this.shape !== shape) {
      // Another result of the same statement; as in `pg`, its rows are behind the others.
      result.fields = shape.fields.slice();
      this.shape = shape;
      this.build = undefined;
    }
    const { rowMode, types, int8 } = this;
    if ((count === 0 && rowMode !== 'columns') || this.error !== undefined) return;
    try {
      const named = this.rowKeys && rowMode !== 'array' ? shape.renamed(this.rowKeys) : shape;
      if (result instanceof ColumnResult) {
        result.describe(named, types, int8, this.info.rows);
        result.addCells(named, cells, chunk, cell, count, hasNulls);
      } else {
        // All of a result have the same parsers, whatever is set meanwhile.
        if (this.build === undefined || this.shape !== shape) {
          this.build = named.builder(rowMode === 'array', types, int8, count);
        }
        this.build(result.rows, cells, chunk, cell, count);
      }
    } catch (error) {
      this.error = parseError(error);
    }
    if (this.role !== undefined) this.role.onRows();
  }

  /** @override @param {number} tag index into commandTags @param {number} rows */
  complete(tag, rows) {
    const result = (this.result ??= newResult(this.rowMode));
    if (result instanceof ColumnResult) result.finish();
    result.command = commandTags[tag];
    result.rowCount = rows;
    if (tag === INSERT) result.oid = 0;
    if (this.results !== undefined) this.#endStatement(result);
  }

  /** @override @param {string} tag */
  completeOther(tag) {
    if (this.isTagless) {
      this.completeEmpty();
      return;
    }
    this.tag = tag;
    const result = (this.result ??= newResult(this.rowMode));
    if (result instanceof ColumnResult) result.finish();
    result.addCommandComplete({ text: tag });
    if (this.results !== undefined) this.#endStatement(result);
  }

  /** @override */
  completeEmpty() {
    this.result ??= newResult(this.rowMode);
  }

  /** @param {import('../rows').Result} result */
  #endStatement(result) {
    /** @type {import('../rows').Result[]} */ (this.results).push(result);
    this.result = undefined;
  }

  /** The value of its promise. */
  get value() {
    return this.role === undefined ? this.ownValue : this.role.value;
  }

  /** Its result; as in `pg`, an array for several statements. */
  get ownValue() {
    const { results } = this;
    if (results === undefined || results.length === 0) return this.result;
    return results.length === 1 ? results[0] : results;
  }

  /**
   * Whether it has received another number of rows than the server reported, although the server is
   * known to report it correctly. In a shared Sync the rows may be those of other queries.
   */
  get isMiscounted() {
    const { result, info } = this;
    if (!info.isCounted || this.error !== undefined || result?.command !== 'SELECT') return false;
    return countRows(result) !== result.rowCount;
  }

  /** Whether nothing of it can last if the connection is lost now. */
  get isUncommitted() {
    return this.role !== undefined && this.role.isUncommitted;
  }

  /** What the server begins with it is answered by its role, also where query() expects nothing of the kind. */
  get #copyRole() {
    return this.role ?? new Role(this);
  }

  /** @override */
  copyIn() {
    this.#copyRole.copyIn();
  }

  /** @override */
  copyOut() {
    this.#copyRole.copyOut();
  }

  /** @override */
  copyBoth() {
    this.#copyRole.copyBoth();
  }

  /** @override @param {Buffer} data */
  copyData(data) {
    this.#copyRole.copyData(data);
  }

  /** @override */
  copyDrained() {
    this.#copyRole.copyDrained();
  }

  /** @override @param {number} failedPhase @param {Readonly<Record<string, string>>} diagnostics */
  failed(failedPhase, diagnostics) {
    if (failedPhase === phase.parse) this.parseFailed = true;
    if (diagnostics.C === undefined) {
      // libpq's own error: it could not read the answer, and the server knows of no error.
      this.error ??= new ResultError(`the answer cannot be read: ${diagnostics.M?.trim()}`);
      return;
    }
    if (isFatal(diagnostics)) this.wasFatal = true;
    this.hasFailed = true;
    // Rows that came before may have failed to be parsed, which tells less.
    if (this.error === undefined || this.error instanceof ResultError) {
      this.error = toDatabaseError(diagnostics, this);
    }
  }

  /** @override @param {Readonly<Record<string, string>>} fields */
  noticed(fields) {
    if (this.noticeTaker === undefined || this.isSettled) return false;
    this.noticeTaker.onNotice(fields);
    return true;
  }

  /** @override @param {number} skippedPhase */
  skipped(skippedPhase) {
    if (skippedPhase === phase.parse) this.parseFailed = true;
    // Skipped behind its own Parse that has failed: no other query is to blame.
    if (this.hasFailed) return;
    this.hasFailed = true;
    this.wasSkipped = true;
  }

  /**
   * @override
   * @param {number} reason
   * @param {number} detail
   * @returns {boolean} whether no other event comes for it
   */
  notSent(reason, detail) {
    if (reason === notSentReason.connectionGone) {
      if (detail === 0) this.isUnwritten = true;
      // For a member of a group, the group's Sync decides: it is sent or dropped for all of them.
      return this.group === undefined;
    }
    this.wasNotSent = true;
    if (reason === notSentReason.tooLarge) {
      this.error ??= tooLargeError();
    } else {
      this.error ??= nulError(detail);
    }
    if (detail < 0) this.parseFailed = true;
    return false;
  }

  /** @override @param {number} column */
  unreadable(column) {
    const name = this.result?.fields[column]?.name ?? column;
    this.error ??= new ResultError(
      `column "${name}" of the result cannot be read: it, or the text of its row, is longer than a ` +
        "JavaScript string may be (512 MB), or its bytes are not what the type's format says",
    );
  }

  /** @override @param {number} transactionStatus @param {number} costMillis @param {number} now */
  synced(transactionStatus, costMillis, now) {
    this.connection.answers.onSync(this, transactionStatus, costMillis, now);
  }

  /** @override It was not sent, and no other event comes for it. */
  dropped() {
    this.connection.onNotSent(this, ofUnsent([this]));
  }

  /** @override @param {Query[]} queries receives those that are lost with the connection */
  lost(queries) {
    queries.push(this);
  }

  /** Prepares it for being sent a second time. */
  reset() {
    this.group = undefined;
    this.statement = undefined;
    this.leads = false;
    this.parseFailed = false;
    this.result = undefined;
    if (this.results !== undefined) this.results = [];
    this.shape = undefined;
    this.build = undefined;
    this.error = undefined;
    this.hasFailed = false;
    this.wasSkipped = false;
    this.wasNotSent = false;
    this.isUnwritten = false;
    this.tag = '';
  }

  /**
   * Its caller no longer waits; what still comes for it is discarded.
   * @param {import('../base').QueryAbortedError} error
   */
  abandon(error) {
    this.reject(error);
    this.error ??= error;
  }

  /** Adds the text to an error; never the values, which may be secrets. @param {Error} error */
  tellText(error) {
    if (this.isTextInErrors) Object.assign(error, { query: this.text });
  }

  /** @override @param {any} value */
  resolve(value) {
    if (this.batch === undefined) super.resolve(value);
    else this.batch.results[this.index] = value;
  }

  /** @override @param {Error} error */
  reject(error) {
    if (this.batch !== undefined) {
      this.batch.onMemberFailed(this, error);
      return;
    }
    if (!this.isSettled) {
      this.tellText(error);
      this.role?.onFailing(error);
    }
    super.reject(error);
  }
}

/**
 * @param {unknown} thrown an exception of the parser of a value, perhaps the user's. It may
 *   be anything, and may be thrown again for other queries
 */
function parseError(thrown) {
  const message = messageOf(thrown);
  if (ResultError.isMadeHere(thrown)) return new ResultError(message);
  return standFor(new ResultError(`a value of the result cannot be parsed: ${message}`), thrown);
}

module.exports = { OWN_DEFAULTS, Query };
