'use strict';

// One query from submission to its settlement: what the events of its slot add
// up to. It settles once, at its Sync, at the loss of its connection, or before
// it was sent. Made by client.js, driven by delivery.js and connection.js.

const {
  CallSite,
  causeOf,
  commandTags,
  isFatal,
  messageOf,
  notSentReason,
  phase,
  ResultError,
  StatementRefusedError,
} = require('../base');
const { ownTypes, Result } = require('../rows');
const { toDatabaseError } = require('../statements');
const { ofUnsent } = require('./outcome');
const { nulError, sizeInFlight, tooLargeError } = require('./parameters');
const { Work } = require('./work');

/**
 * @typedef {import('../statements').Statement} Statement
 * @typedef {import('../statements').StatementInfo} StatementInfo
 * @typedef {import('../rows').TypeSource} TypeSource
 * @typedef {import('../rows').Int8} Int8
 *
 * What those of one client have in common.
 * @typedef {object} QueryDefaults
 * @property {TypeSource} types
 * @property {Int8} int8
 * @property {boolean} [namedParameters]
 * @property {boolean} [queryInErrors]
 *
 * How fast an execution is expected to be.
 * @typedef {'fast' | 'slow' | 'unknown'} Pace
 */

/** For the driver's own. @type {QueryDefaults} */
const OWN_DEFAULTS = Object.freeze({ types: ownTypes, int8: 'string' });

const INSERT = commandTags.indexOf('INSERT');

class Query extends Work {
  // How it is sent.

  /** @type {StatementInfo} */
  // @ts-expect-error not before it is submitted
  info = undefined;
  slot = -1;
  /** The batch that it is a member of. @type {import('./batch').Batch | undefined} */
  batch = undefined;
  /** The prepared statement that it executes. @type {Statement | undefined} */
  statement = undefined;
  /** It has sent the Parse of `statement`. */
  leads = false;
  /** @type {Pace} */
  pace = 'unknown';
  /** Its rows are passed on as they come. */
  isStreamed = false;
  /** It is a COPY of this side. */
  isCopy = false;
  /** It is read as it comes, by somebody who may not want the rest. */
  isRead = false;
  /** Nobody wants the rest. */
  wasStopped = false;
  /** It must not leave a transaction open. */
  endsTransaction = false;
  /** It was a member of a Sync group that failed, and is sent again by itself. */
  wasUndone = false;
  /** It was sent again, once. */
  retried = false;
  /**
   * Why it is sent again without its prepared statement, which this may be the fault of.
   * @type {{ statement: Statement, leads: boolean, error: import('../base').DatabaseError } | undefined}
   */
  doubt = undefined;

  // What it is answered: reset() forgets it before it is sent again.

  /** @type {Result | undefined} */
  result = undefined;
  /** @type {import('../rows').Shape | undefined} */
  shape = undefined;
  /**
   * Of each statement, when it is a text of several, which goes by the simple
   * protocol. @type {Result[] | undefined}
   */
  results = undefined;
  /** Full command tag, where it is not one of commandTags. */
  tag = '';
  /** The first one. @type {Error | undefined} */
  error = undefined;
  /** Its error ended the session. */
  wasFatal = false;
  /** The server has undone it, or never begun. */
  hasFailed = false;
  /** Its Parse has failed. */
  parseFailed = false;
  /** The server skipped it because of somebody else's error in the same Sync. */
  wasSkipped = false;
  /** libpq, or the addon, has not taken it. */
  wasNotSent = false;
  /** The connection was gone before its Execute could be written. */
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
    this.rowAsArray = options.rowMode === 'array';
    this.types = options.types ?? defaults.types;
    this.int8 = defaults.int8;
    this.isTextInErrors = defaults.queryInErrors === true;
    this.prepare = options.prepare;
    this.syncGroup = options.syncGroup;
    this.signal = options.signal ?? undefined;
    this.timeoutMillis = options.timeoutMillis ?? (options.query_timeout || undefined);
    this.runsSolo = this.signal !== undefined;
    /** Not by the simple protocol, whatever is in its text. */
    this.isExtended = options.queryMode === 'extended' || this.name !== undefined;
  }

  /** @param {import('../statements').StatementRegistry} registry */
  identify(registry) {
    const info = (this.info ??= registry.find(this.text));
    if (info.isUntried && this.isInCall && !this.isStreamed) this.callSite ??= new CallSite();
    return info;
  }

  /**
   * @override
   * @param {import('../rows').Shape} shape
   * @param {import('../rows').Cells} cells
   * @param {import('../rows').Chunk} chunk
   * @param {number} cell
   * @param {number} count
   */
  addRows(shape, cells, chunk, cell, count) {
    let { result } = this;
    if (result === undefined) {
      result = this.result = new Result(this.rowAsArray);
      result.fields = shape.fields.slice();
      this.shape = shape;
    }
    if (count === 0 || this.error !== undefined) return;
    try {
      shape.builder(this.rowAsArray, this.types, this.int8)(result.rows, cells, chunk, cell, count);
    } catch (error) {
      this.error = parseError(error);
    }
  }

  /** @override @param {number} tag index into commandTags @param {number} rows */
  complete(tag, rows) {
    const result = (this.result ??= new Result(this.rowAsArray));
    result.command = commandTags[tag];
    result.rowCount = rows;
    if (tag === INSERT) result.oid = 0;
    if (this.results !== undefined) this.#endStatement(result);
  }

  /** @override @param {string} tag */
  completeOther(tag) {
    this.tag = tag;
    const result = (this.result ??= new Result(this.rowAsArray));
    result.addCommandComplete({ text: tag });
    if (this.results !== undefined) this.#endStatement(result);
  }

  /** @override */
  completeEmpty() {
    this.result ??= new Result(this.rowAsArray);
  }

  /** @param {Result} result */
  #endStatement(result) {
    /** @type {Result[]} */ (this.results).push(result);
    this.result = undefined;
  }

  /** What it resolves to; as in `pg`, an array for several statements. */
  get value() {
    const { results } = this;
    if (results === undefined || results.length === 0) return this.result;
    return results.length === 1 ? results[0] : results;
  }

  /**
   * It has got more or fewer rows than the server has told, which otherwise tells it right: where several share a
   * Sync, they may be those of others.
   */
  get isMiscounted() {
    const { result, info } = this;
    if (!info.isCounted || this.error !== undefined || result?.command !== 'SELECT') return false;
    return result.rows.length !== result.rowCount;
  }

  /** @override @param {boolean} _isBinary @param {number} _columns */
  copyIn(_isBinary, _columns) {
    this.error ??= copyError();
    this.connection.endCopy('COPY FROM STDIN needs copyFrom()');
  }

  /** @override @param {boolean} _isBinary @param {number} _columns */
  copyOut(_isBinary, _columns) {
    if (this.error !== undefined) return;
    const error = copyError();
    // Nothing stops the server: what stands beside it is done.
    error.outcome = 'unknown';
    this.error = error;
  }

  /** @override @param {number} failedPhase @param {Readonly<Record<string, string>>} diagnostics */
  failed(failedPhase, diagnostics) {
    if (failedPhase === phase.parse) this.parseFailed = true;
    if (diagnostics.C === undefined) {
      // libpq's own words: it could not read the answer, and the server knows of no error.
      this.error ??= new ResultError(`the answer cannot be read: ${diagnostics.M?.trim()}`);
      return;
    }
    if (isFatal(diagnostics)) this.wasFatal = true;
    this.hasFailed = true;
    this.error ??= toDatabaseError(diagnostics, this);
  }

  /** @override @param {number} skippedPhase */
  skipped(skippedPhase) {
    if (skippedPhase === phase.parse) this.parseFailed = true;
    // Behind its own Parse that has failed: nobody else is to blame.
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
      // The Sync of its group comes or goes for all of them.
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

  /** @override @param {Query[]} queries gets those that the connection takes with it */
  lost(queries) {
    queries.push(this);
  }

  /** Ready to be sent a second time. */
  reset() {
    this.group = undefined;
    this.statement = undefined;
    this.leads = false;
    this.parseFailed = false;
    this.result = undefined;
    if (this.results !== undefined) this.results = [];
    this.shape = undefined;
    this.error = undefined;
    this.hasFailed = false;
    this.wasSkipped = false;
    this.wasNotSent = false;
    this.isUnwritten = false;
    this.tag = '';
  }

  /**
   * Its caller waits no longer; what still comes for it is discarded.
   * @param {import('../base').QueryAbortedError} error
   */
  abandon(error) {
    this.reject(error);
    this.error ??= error;
  }

  /** Never its values, which may be anybody's secrets. @param {Error} error */
  tellText(error) {
    if (this.isTextInErrors) Object.assign(error, { query: this.text });
  }

  /** @override @param {Error} error */
  reject(error) {
    if (!this.isSettled) this.tellText(error);
    super.reject(error);
  }
}

/**
 * @param {unknown} thrown by the parser of a value, perhaps the user's: never passed on as it is, since it may
 *   be anything, and be thrown again for others
 */
function parseError(thrown) {
  const message = messageOf(thrown);
  if (ResultError.isMadeHere(thrown)) return new ResultError(message);
  return new ResultError(`a value of the result cannot be parsed: ${message}`, {
    cause: causeOf(thrown),
  });
}

function copyError() {
  return new StatementRefusedError(
    'COPY FROM STDIN and COPY TO STDOUT are no part of a text: use copyFrom() and copyTo()',
  );
}

module.exports = { OWN_DEFAULTS, Query };
