'use strict';

// Why a connection could not be made, or is gone. libpq tells the first in one
// text, which is taken apart here; the addon asks for verbose messages, so that
// what the server said stands there with its SQLSTATE. Used by connection.js
// and handshake.js.

const os = require('node:os');
const { ConnectionError, DatabaseError, StatementRefusedError, copyError } = require('./errors');

// "FATAL:  28P01: password authentication failed for user "x"", perhaps after
// 'connection to server at "h" (1.2.3.4), port 5432 failed: '; further lines
// are DETAIL, HINT and LOCATION. The severity is in the server's language.
const SERVER_SAID = /(?:^|failed: )([^\n:]+): {2}([0-9A-Z]{5}): (.*)$/m;
const DETAIL = /^DETAIL: {2}(.*)$/m;
const HINT = /^HINT: {2}(.*)$/m;
const LOCATION = /^LOCATION: {2}(\w+), ([^:]+):(\d+)$/m;

/** @type {(keyof typeof os.constants.errno)[]} */
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

const WHAT_TO_DO = Object.freeze({
  '28P01': 'check user and password',
  28000: 'check the user, and pg_hba.conf of the server',
  '3D000': 'check the name of the database, or create it with createdb',
  53300: 'the server has no connection left: lower the max of the pools, or use a pooler',
});

/** No connection that is as safe as was asked for. */
const TLS_CODE = 'ERR_PG_CONDUIT_TLS';

// What libpq says when it, or the server, turns the other side's certificate or protocol down. An
// end of file in the middle of a handshake is a lost connection, and no such thing.
const TLS_REFUSED =
  /does not support SSL|SSL error: (?!unexpected eof)|certificate|private key file|channel binding/i;

/** @type {[RegExp, string][]} */
const TLS_ADVICE = [
  [
    /certificate verify failed/,
    "give the server's authority in ssl.ca (or sslrootcert), and look at the dates of the certificates",
  ],
  [/does not match host name/, 'connect by that name, or give it as ssl.servername'],
  [/could not load private key file/, 'if it is encrypted, give sslpassword'],
  [/does not support SSL/, "turn on the server's ssl setting"],
];

/**
 * @param {string} message libpq's
 * @returns {DatabaseError | ConnectionError}
 */
function connectError(message) {
  const text = message.trim();
  const said = SERVER_SAID.exec(text);
  if (said !== null) {
    const location = LOCATION.exec(text);
    /** @type {Record<string, string>} */
    const fields = { S: said[1], C: said[2], M: said[3] };
    const detail = DETAIL.exec(text)?.[1];
    const hint = HINT.exec(text)?.[1] ?? /** @type {any} */ (WHAT_TO_DO)[said[2]];
    if (detail !== undefined) fields.D = detail;
    if (hint !== undefined) fields.H = hint;
    if (location !== null) {
      [, fields.R, fields.F, fields.L] = location;
    }
    return new DatabaseError(fields);
  }
  if (TLS_REFUSED.test(text)) {
    const advice = TLS_ADVICE.find(([pattern]) => pattern.test(text))?.[1];
    return new ConnectionError(advice === undefined ? text : `${text}: ${advice}`, {
      code: TLS_CODE,
    });
  }
  const name = ERRNO_NAMES.find((candidate) =>
    text.includes(/** @type {any} */ (STRERROR)[candidate]),
  );
  if (name === undefined) return new ConnectionError(text);
  return new ConnectionError(text, {
    code: name,
    errno: -os.constants.errno[name],
    syscall: 'connect',
  });
}

/** SQLSTATEs of a server that may take connections a little later. */
const TRANSIENT_STATES = new Set(['57P03', '57P01', '57P02', '53300', '53400']);

/**
 * @param {any} error of a failed attempt to connect
 * @returns {boolean} whether the same attempt may succeed later
 */
function isTransient(error) {
  if (error instanceof DatabaseError) return TRANSIENT_STATES.has(String(error.code));
  return error instanceof ConnectionError && !['ENOTFOUND', TLS_CODE].includes(String(error.code));
}

/**
 * The connection was lost with a query in flight, or idle.
 * @param {boolean} wasEnding somebody here wanted it
 * @param {string} message libpq's
 * @param {Error | undefined} cause what the server said last
 * @param {import('./errors').Outcome} outcome
 */
function lostError(wasEnding, message, cause, outcome) {
  const detail = cause?.message ?? message.trim().split('\n')[0];
  const text = wasEnding ? 'Connection terminated' : 'Connection terminated unexpectedly';
  return new ConnectionError(detail.startsWith(text) ? detail : `${text}: ${detail}`, {
    code: 'ECONNRESET',
    cause,
    outcome,
  });
}

/**
 * A query came when there was no connection any more, or not yet.
 * @param {string} state of the connection
 * @param {Error | undefined} failure why it is closed
 */
function closedError(state, failure) {
  if (state === 'new') {
    return new ConnectionError('the client is not connected: call and await connect() first');
  }
  if (failure === undefined) return new ConnectionError('Client was closed and is not queryable');
  const error = copyError(failure);
  error.message = `Client has encountered a connection error and is not queryable: ${failure.message}`;
  return error;
}

/** A statement brought a shared connection into a transaction, past the check of its text. */
function poisonedError() {
  return new ConnectionError(
    'a statement began a transaction on a connection that others share; the connection was ' +
      'closed and everything in the transaction rolled back: use pool.connect() for transactions',
  );
}

/** They end a transaction so that what it did is there to stay. */
const LASTING = new Set(['COMMIT', 'PREPARE']);

/**
 * A text of several statements left a transaction open that nobody can end.
 * @param {readonly import('./result').Result[]} results of what was done
 */
function openTransactionError(results) {
  const lasts = results.some(({ command }) => command !== null && LASTING.has(command));
  return new ConnectionError(
    'the text has opened a transaction and not ended it; it was rolled back: add COMMIT to the ' +
      'text, or use pool.connect()',
    { outcome: lasts ? 'unknown' : 'not-run' },
  );
}

/** A text of several statements has a COPY among them. */
function copyAmongError() {
  return new StatementRefusedError(
    'COPY FROM STDIN and COPY TO STDOUT cannot stand among other statements: use copyFrom() and copyTo()',
  );
}

module.exports = {
  connectError,
  closedError,
  copyAmongError,
  lostError,
  poisonedError,
  isTransient,
  openTransactionError,
};
