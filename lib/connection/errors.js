'use strict';

// The errors of connections that could not be made, or are lost. libpq reports a failed attempt as
// one text, which is taken apart here; the addon asks for verbose messages, so that the text has
// the server's SQLSTATE. Used in this folder and by the pool.

const os = require('node:os');
const {
  ConnectionError,
  copyError,
  DatabaseError,
  HOOK_CODE,
  PoolError,
  StatementRefusedError,
} = require('../base');
const { isTlsError, tlsError } = require('./tls-errors');

// "FATAL:  28P01: password authentication failed for user "x"", perhaps after
// 'connection to server at "h" (1.2.3.4), port 5432 failed: '; further lines
// are DETAIL, HINT and LOCATION. The severity is in the server's language.
const SERVER_SAID = /(?:^|failed: )([^\n:]+): {2}([0-9A-Z]{5}): (.*)$/m;
const DETAIL = /^DETAIL: {2}(.*)$/m;
const HINT = /^HINT: {2}(.*)$/m;
const LOCATION = /^LOCATION: {2}(\w+), ([^:]+):(\d+)$/m;

const TERMINATED = 'Connection terminated';
const UNEXPECTED = 'Connection terminated unexpectedly';
const EXPIRED = 'timeout expired';
/** Characters of a statement that an error message quotes. */
const MAX_TEXT = 60;

/** @type {(keyof typeof STRERROR)[]} */
const ERRNO_NAMES = [
  'ECONNREFUSED',
  'ECONNRESET',
  'ETIMEDOUT',
  'EHOSTUNREACH',
  'ENETUNREACH',
  'ENOENT',
  'EACCES',
  'EPIPE',
];

// What strerror() says for them; libpq's messages end in it.
const STRERROR = Object.freeze({
  ECONNREFUSED: 'Connection refused',
  ECONNRESET: 'Connection reset by peer',
  ETIMEDOUT: 'Connection timed out',
  EHOSTUNREACH: 'No route to host',
  ENETUNREACH: 'Network is unreachable',
  ENOENT: 'No such file or directory',
  EACCES: 'Permission denied',
  EPIPE: 'Broken pipe',
});

const PASSWORD_ADVICE =
  'check user and password; in a URL write the password as encodeURIComponent() gives it';

const WHAT_TO_DO = Object.freeze({
  '28P01': PASSWORD_ADVICE,
  28000: 'check the user, and pg_hba.conf of the server',
  '3D000': 'check the name of the database, or create it with createdb',
  53300: 'the server has no connection left: lower the max of the pools, or use a pooler',
});

/** From PgBouncer, whose messages are always in English. */
const STARTUP_PARAMETER = /^unsupported startup parameter/;
const NO_STARTUP_PARAMETER =
  'a pooler refuses such settings at the start of a session (options, statement_timeout, …): set them ' +
  'for the role (ALTER ROLE … SET …) or with SET LOCAL in transactions. If you add them to ' +
  'ignore_startup_parameters of PgBouncer, it accepts them, but ignores them';

const NO_HOST =
  'no host was given, and the default was tried: give connectionString or host (a connectionString that is ' +
  'undefined, as DATABASE_URL is where nobody has set it, counts as none)';
const NO_PASSWORD = 'no password supplied, and the server asks for one';
const NO_STRING = 'Password must be a string';

// One match for each address that was tried; the address of a name is in parentheses behind it.
const ATTEMPT =
  /connection to server (?:at "([^"]*)"(?: \(([^)]*)\))?, port (\d+)|on socket "([^"]*)") failed: (.*)/g;

/**
 * @param {string} text
 * @returns {keyof typeof STRERROR | undefined} the name of the system error in it
 */
function systemCodeIn(text) {
  return ERRNO_NAMES.find((name) => text.includes(STRERROR[name]));
}

/**
 * @param {string} text libpq's
 * @returns {ConnectionError | undefined} as Node.js words it, if the system refused each address
 */
function refusedError(text) {
  const errors = [...text.matchAll(ATTEMPT)].map(([, host, hostaddr, port, path, reason]) => {
    const code = systemCodeIn(reason);
    if (code === undefined) return undefined;
    const address = path ?? hostaddr ?? host;
    const place = path === undefined ? `${address}:${port}` : path;
    const errno = -os.constants.errno[code];
    return new ConnectionError(`connect ${code} ${place}`, {
      code,
      detail: text,
      errno,
      syscall: 'connect',
      address,
      port: path === undefined ? Number(port) : undefined,
    });
  });
  const [first] = errors;
  if (first === undefined || errors.includes(undefined)) return undefined;
  if (errors.length === 1) return first;
  const { errno, syscall, code } = first;
  // For several addresses `pg` has an AggregateError, without a message.
  return new ConnectionError(errors.map((error) => error?.message).join(', '), {
    code,
    detail: text,
    errno,
    syscall,
    errors: /** @type {Error[]} */ (errors),
  });
}

/**
 * @param {string} text libpq's, about a socket that was connected
 * @returns {ConstructorParameters<typeof ConnectionError> | undefined} the arguments of its error,
 *   as Node.js words it, if the system ended the connection
 */
function brokenBySystem(text) {
  const code = systemCodeIn(text);
  if (code === undefined) return undefined;
  const syscall = code === 'EPIPE' ? 'write' : 'read';
  const errno = -os.constants.errno[code];
  return [`${syscall} ${code}`, { code, detail: text, errno, syscall }];
}

/**
 * @param {string} message libpq's
 * @param {boolean} [namesHost] the caller has said where the server is
 * @returns {DatabaseError | ConnectionError}
 */
function connectError(message, namesHost = true) {
  const text = message.trim();
  const said = SERVER_SAID.exec(text);
  if (said !== null) {
    const location = LOCATION.exec(text);
    /** @type {Record<string, string>} */
    const fields = { S: said[1], C: said[2], M: said[3] };
    const detail = DETAIL.exec(text)?.[1];
    const advice = STARTUP_PARAMETER.test(said[3])
      ? NO_STARTUP_PARAMETER
      : /** @type {any} */ (WHAT_TO_DO)[said[2]];
    const hint = HINT.exec(text)?.[1] ?? advice;
    if (detail !== undefined) fields.D = detail;
    if (hint !== undefined) fields.H = hint;
    if (location !== null) {
      [, fields.R, fields.F, fields.L] = location;
    }
    return new DatabaseError(fields);
  }
  if (text.includes('no password supplied')) {
    return new ConnectionError(NO_PASSWORD, {
      detail: text,
      hint: 'give it in the connection string, in the option password, in PGPASSWORD or in ~/.pgpass',
    });
  }
  const insecure = tlsError(text);
  if (insecure !== undefined) return insecure;
  const refused = refusedError(text);
  if (refused !== undefined) return namesHost ? refused : Object.assign(refused, { hint: NO_HOST });
  const broken = brokenBySystem(text);
  if (broken !== undefined) return new ConnectionError(...broken);
  if (!text.includes('server closed the connection unexpectedly')) return new ConnectionError(text);
  // libpq does not tell whether it was closed or reset.
  return new ConnectionError(UNEXPECTED, { code: 'ECONNRESET', detail: text });
}

/** SQLSTATEs of servers that may accept connections a little later. */
const TRANSIENT_STATES = new Set(['57P03', '57P01', '57P02', '53300', '53400']);

/**
 * @param {any} error of a failed attempt to connect
 * @returns {boolean} whether the same attempt may succeed later
 */
function isTransient(error) {
  if (error instanceof DatabaseError) return TRANSIENT_STATES.has(String(error.code));
  return (
    error instanceof ConnectionError &&
    !['ENOTFOUND', HOOK_CODE].includes(String(error.code)) &&
    !isTlsError(error) &&
    ![NO_PASSWORD, NO_STRING].includes(error.message)
  );
}

/** A password function returned something else than a string. */
function noStringError() {
  return new ConnectionError(NO_STRING, {
    hint: 'the password function must return one, or a promise of one',
  });
}

/**
 * The server did not answer in time while a connection was made.
 * @param {number} millis
 * @param {string} option that sets this time
 */
function expiredError(millis, option) {
  return new ConnectionError(EXPIRED, {
    code: 'ETIMEDOUT',
    detail: `no connection within ${millis} ms (${option})`,
    syscall: 'connect',
  });
}

/**
 * @param {any} error of a failed attempt to connect
 * @param {import('../options').Settings} settings of a pool
 * @returns {boolean} whether those who wait for a connection are to wait for another attempt
 */
function isWorthWaiting(error, { waitForServer, connectionTimeoutMillis }) {
  if (waitForServer) return isTransient(error);
  // Who came later than the attempt began has time left.
  return error.message === EXPIRED && connectionTimeoutMillis > 0;
}

/**
 * A caller has waited for a pool's connection as long as `connectionTimeoutMillis` allows. If the
 * server refused connections meanwhile, that is the error, as in `pg`.
 * @param {object} wait
 * @param {number} wait.millis
 * @param {any} wait.reason why the last attempt to connect failed, if it did
 * @param {string} wait.message that of `pg`, if the server has not refused
 * @param {string} wait.silent begins the detail then
 * @param {string} wait.refused begins the detail if it has refused
 */
function waitedError({ millis, reason, message, silent, refused }) {
  const limit = `within ${millis} ms (connectionTimeoutMillis)`;
  if (reason !== undefined && reason.message !== EXPIRED) {
    const detail = [`${refused} ${limit}`, reason.detail].filter(Boolean).join(': ');
    return Object.assign(copyError(reason), { detail, outcome: 'not-run' });
  }
  return new PoolError(message, 'ERR_PG_CONDUIT_POOL_TIMEOUT', {
    detail: `${silent} ${limit}`,
    cause: reason,
  });
}

/**
 * The connection was lost, with a query in flight or idle.
 * @param {boolean} wasEnding whether this side has closed it
 * @param {string} message libpq's
 * @param {Error | undefined} cause the server's last error
 * @param {import('../base').Outcome} outcome
 */
function lostError(wasEnding, message, cause, outcome) {
  const detail = cause?.message ?? message.trim().split('\n')[0];
  const broken = wasEnding || cause !== undefined ? undefined : brokenBySystem(detail);
  if (broken !== undefined) return new ConnectionError(broken[0], { ...broken[1], outcome });
  return new ConnectionError(wasEnding ? TERMINATED : UNEXPECTED, {
    code: 'ECONNRESET',
    detail: detail === '' ? undefined : detail,
    cause,
    outcome,
  });
}

/**
 * The server does not answer one of the driver's own statements.
 * @param {string} text
 * @param {number} millis
 */
function silentError(text, millis) {
  const what =
    text === '' ? 'a Sync' : text.length > MAX_TEXT ? `${text.slice(0, MAX_TEXT)}…` : text;
  return new ConnectionError(UNEXPECTED, {
    code: 'ETIMEDOUT',
    detail: `the server has not answered ${what} within ${millis} ms`,
    hint: 'the option query_timeout sets this time',
    outcome: 'not-run',
  });
}

/**
 * The server ended the session, and told this query or connection so. As in `pg` the error has the
 * fields of the server's error, and yet it is a lost connection.
 * @param {DatabaseError} said
 * @param {import('../base').Outcome} outcome
 */
function endedByServerError(said, outcome) {
  const error = new ConnectionError(said.message, { cause: said });
  return Object.assign(error, said, { outcome });
}

/**
 * A query was submitted when the connection was closed already.
 * @param {Error | undefined} failure why it is closed
 */
function closedError(failure) {
  if (failure === undefined) return new ConnectionError('Client was closed and is not queryable');
  return new ConnectionError('Client has encountered a connection error and is not queryable', {
    code: /** @type {any} */ (failure).code,
    detail: [failure.message, /** @type {any} */ (failure).detail].filter(Boolean).join(': '),
    cause: failure,
  });
}

/** It was closed before it was made. */
function terminatedError() {
  return new ConnectionError(TERMINATED);
}

/**
 * A statement opened a transaction on a shared connection, although its text was checked. In the
 * same way it may have ended one, so that what came before it is committed.
 */
function poisonedError() {
  return new ConnectionError(
    'a statement began a transaction on a connection that others share; the connection was ' +
      'closed and everything in the transaction rolled back: use pool.connect() for transactions',
    { outcome: 'unknown' },
  );
}

/**
 * An answer within a shared Sync is not complete, so that the next answers may be those to other
 * queries.
 */
function mismatchError() {
  return lostError(false, "the server's answers do not match what was sent", undefined, 'unknown');
}

/**
 * What was sent behind a setting that has failed may have run without it.
 * @param {Error} cause
 * @param {import('../base').Outcome} outcome
 */
function settingError(cause, outcome) {
  const message =
    'the server refused settings of a client that shares connections; this one was closed';
  return new ConnectionError(message, { cause, outcome });
}

/** An event of the connection could not be processed. @param {unknown} cause */
function faultError(cause) {
  return new ConnectionError(
    'an answer of the server could not be processed, which is a bug in pg-conduit; the connection was closed',
    { cause, outcome: 'unknown' },
  );
}

/**
 * A text of several statements left a transaction open, which no caller can end.
 * @param {import('../base').Outcome} outcome
 */
function openTransactionError(outcome) {
  return new ConnectionError(
    'the text has opened a transaction and not ended it; it was rolled back: add COMMIT to the ' +
      'text, or use pool.connect()',
    { outcome },
  );
}

/** A text of several statements contains a COPY. */
function copyAmongError() {
  return new StatementRefusedError(
    'COPY FROM STDIN and COPY TO STDOUT cannot be mixed with other statements: use copyFrom() and copyTo()',
  );
}

module.exports = {
  connectError,
  closedError,
  copyAmongError,
  endedByServerError,
  expiredError,
  faultError,
  lostError,
  mismatchError,
  noStringError,
  poisonedError,
  settingError,
  silentError,
  systemCodeIn,
  terminatedError,
  waitedError,
  isTransient,
  isWorthWaiting,
  openTransactionError,
};
