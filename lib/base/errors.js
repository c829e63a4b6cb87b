'use strict';

// The classes of all errors that this package makes. A leaf: imports nothing.
//
// `outcome` of a query's error says what became of the query:
//   'not-run'  nothing of it lasts: it was never sent, was skipped, or failed
//              and was rolled back
//   'unknown'  something of it may last, for example because the connection was lost
//              before the server's answer was complete

/** @typedef {'not-run' | 'unknown'} Outcome */

/** Base class: `error instanceof ConduitError` tells them from all others. */
class ConduitError extends Error {
  /**
   * @param {string} message `pg`'s, if it has one for this: applications compare messages
   * @param {string} code
   * @param {{ cause?: unknown, outcome?: Outcome, detail?: string, hint?: string }} [options]
   *   `detail`: more about it; `hint`: what to do
   */
  constructor(message, code, options) {
    super(message, options?.cause === undefined ? undefined : { cause: options.cause });
    this.name = new.target.name;
    if (options?.detail !== undefined) this.detail = options.detail;
    if (options?.hint !== undefined) this.hint = options.hint;
    /** @type {string | undefined} */
    this.code = code;
    /** @type {Outcome} */
    this.outcome = options?.outcome ?? 'not-run';
  }
}

/** An option's value is wrong, or not available. Code `ERR_PG_CONDUIT_OPTION`. */
class OptionError extends ConduitError {
  /** @param {string} message @param {{ cause?: unknown }} [options] */
  constructor(message, options) {
    super(message, 'ERR_PG_CONDUIT_OPTION', options);
  }
}

/** A query's text or parameter cannot be sent. Code `ERR_PG_CONDUIT_PARAMETER`. */
class ParameterError extends ConduitError {
  /** @param {string} message @param {{ cause?: unknown, hint?: string }} [options] */
  constructor(message, options) {
    super(message, 'ERR_PG_CONDUIT_PARAMETER', options);
  }
}

/**
 * A statement that must not run where it was sent: on a shared connection it would change the
 * session of other callers. Code `ERR_PG_CONDUIT_REFUSED`.
 */
class StatementRefusedError extends ConduitError {
  /** @param {string} message */
  constructor(message) {
    super(message, 'ERR_PG_CONDUIT_REFUSED');
  }
}

/**
 * The fields of the system's errors.
 * @typedef {{ errno?: number, syscall?: string, address?: string, port?: number, hostname?: string,
 *   errors?: Error[] }} SystemFields
 */

/**
 * No connection could be made, or it was lost, or it is closed. `code` is the system's
 * (`ECONNREFUSED`, `ENOTFOUND`, `ECONNRESET`, `ETIMEDOUT`) if there is one, else
 * `ERR_PG_CONDUIT_CONNECTION`.
 */
class ConnectionError extends ConduitError {
  /**
   * @param {string} message
   * @param {{ cause?: unknown, outcome?: Outcome, code?: string, detail?: string, hint?: string }
   *   & SystemFields} [options]
   */
  constructor(message, options = {}) {
    super(message, options.code ?? 'ERR_PG_CONDUIT_CONNECTION', options);
    const { errno, syscall, address, port, hostname, errors } = options;
    if (errno !== undefined) this.errno = errno;
    if (syscall !== undefined) this.syscall = syscall;
    if (address !== undefined) this.address = address;
    if (port !== undefined) this.port = port;
    if (hostname !== undefined) this.hostname = hostname;
    if (errors !== undefined) this.errors = errors;
  }
}

/**
 * The caller stopped waiting, by the query's `signal` (name `AbortError`, code `ABORT_ERR`, `cause`
 * the signal's reason) or by its time limit (code `ERR_PG_CONDUIT_QUERY_TIMEOUT`).
 */
class QueryAbortedError extends ConduitError {}

/**
 * A transaction was rolled back although its function did not throw
 * (`ERR_PG_CONDUIT_TRANSACTION_ABORTED`, `cause` the error of the statement that failed), or it has
 * ended and accepts nothing more (`ERR_PG_CONDUIT_TRANSACTION_ENDED`), or no synchronous standby has
 * confirmed its commit (`ERR_PG_CONDUIT_NOT_REPLICATED`).
 */
class TransactionError extends ConduitError {}

/**
 * The pool did not run it: the pool has ended (`ERR_PG_CONDUIT_POOL_ENDED`), too many callers are
 * waiting (`ERR_PG_CONDUIT_POOL_FULL`), or the wait took too long (`ERR_PG_CONDUIT_POOL_TIMEOUT`).
 */
class PoolError extends ConduitError {}

/**
 * A subscription to the changes of tables cannot begin or go on: the server, the publication or the slot is not as it
 * must be, or changes are lost and nobody is told. Code `ERR_PG_CONDUIT_REPLICATION`.
 */
class ReplicationError extends ConduitError {
  /** @param {string} message @param {{ cause?: unknown, hint?: string }} [options] */
  constructor(message, options) {
    super(message, 'ERR_PG_CONDUIT_REPLICATION', options);
  }
}

/**
 * A value that the server sent cannot be represented: a string longer than V8 allows, an int8
 * beyond 2^53 with `int8: 'number'`, bytes that are not valid in their type's format, or a type
 * parser that threw. The query itself was run. Code `ERR_PG_CONDUIT_RESULT`.
 */
class ResultError extends ConduitError {
  #brand = true;

  /** Unlike `instanceof` it triggers no trap of a Proxy. @param {unknown} thrown */
  static isMadeHere(thrown) {
    return typeof thrown === 'object' && thrown !== null && #brand in thrown;
  }

  /** @param {string} message @param {{ cause?: unknown }} [options] */
  constructor(message, options) {
    super(message, 'ERR_PG_CONDUIT_RESULT', { ...options, outcome: 'unknown' });
  }
}

/**
 * Names that `pg` gives to the fields of ErrorResponse and NoticeResponse
 * (PostgreSQL documentation, "Error and Notice Message Fields").
 * @param {Readonly<Record<string, string>>} fields by field code
 */
function nameFields(fields) {
  return {
    severity: fields.S,
    code: fields.C,
    detail: fields.D,
    hint: fields.H,
    position: fields.P,
    internalPosition: fields.p,
    internalQuery: fields.q,
    where: fields.W,
    schema: fields.s,
    table: fields.t,
    column: fields.c,
    dataType: fields.d,
    constraint: fields.n,
    file: fields.F,
    line: fields.L,
    routine: fields.R,
  };
}

/**
 * Whether the error ended the session. Poolers and servers before 9.6 send only the severity that
 * PostgreSQL translates.
 * @param {Readonly<Record<string, string>>} fields by field code
 */
function isFatal({ V, S }) {
  const severity = V ?? S;
  return severity === 'FATAL' || severity === 'PANIC';
}

/**
 * @param {Readonly<Record<string, string>>} fields by field code
 * @returns {number} bytes of the message that they came in, without its type
 */
function messageLength(fields) {
  // A code and a terminator for each field; a length of 4 bytes and a terminator for the message.
  return Object.values(fields).reduce((sum, value) => sum + Buffer.byteLength(value) + 2, 5);
}

/** SQLSTATE query_canceled: of a cancel request, or of a timeout of the server's. */
const QUERY_CANCELED = '57014';

/** An error of the server; `code` is the SQLSTATE. */
class DatabaseError extends ConduitError {
  /** @param {Readonly<Record<string, string>>} fields by field code */
  constructor(fields) {
    super(fields.M ?? 'unknown error', fields.C);
    this.name = 'error'; // as in `pg`
    this.length = messageLength(fields);
    const named = nameFields(fields);
    this.code = named.code;
    this.severity = named.severity;
    this.detail = named.detail;
    this.hint = named.hint;
    this.position = named.position;
    this.internalPosition = named.internalPosition;
    this.internalQuery = named.internalQuery;
    this.where = named.where;
    this.schema = named.schema;
    this.table = named.table;
    this.column = named.column;
    this.dataType = named.dataType;
    this.constraint = named.constraint;
    this.file = named.file;
    this.line = named.line;
    this.routine = named.routine;
  }
}

/** Errors that user code has thrown. */
const thrownByUser = new WeakSet();

/** @param {Error} error that user code has thrown: its stack names a line of that code already */
function keepStack(error) {
  thrownByUser.add(error);
  return error;
}

/** @param {unknown} error @returns {error is ConduitError} whether the driver writes its stack */
function isOurs(error) {
  return error instanceof ConduitError && !thrownByUser.has(error);
}

/**
 * A copy of an error for another promise: each has its own stack.
 * @template {Error} E
 * @param {E} error
 * @returns {E}
 */
function copyError(error) {
  const copy = new Error(error.message, error.cause === undefined ? {} : { cause: error.cause });
  Object.assign(Object.setPrototypeOf(copy, Object.getPrototypeOf(error)), error);
  if (thrownByUser.has(error)) {
    keepStack(copy);
    try {
      copy.stack = error.stack;
    } catch {
      // It may be an accessor of the user's.
    }
  }
  return /** @type {E} */ (copy);
}

module.exports = {
  copyError,
  ConduitError,
  OptionError,
  ParameterError,
  QUERY_CANCELED,
  QueryAbortedError,
  StatementRefusedError,
  ConnectionError,
  TransactionError,
  PoolError,
  ReplicationError,
  ResultError,
  DatabaseError,
  isFatal,
  isOurs,
  keepStack,
  messageLength,
  nameFields,
};
