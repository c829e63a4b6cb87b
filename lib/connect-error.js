'use strict';

// Why a connection could not be made: libpq tells it in one text, which is
// taken apart here. The addon asks for verbose messages, so that what the
// server said stands there with its SQLSTATE. Used by connection.js.

const os = require('node:os');
const { ConnectionError, DatabaseError } = require('./errors');

// "FATAL:  28P01: password authentication failed for user "x"", perhaps after
// 'connection to server at "h" (1.2.3.4), port 5432 failed: '; further lines
// are DETAIL, HINT and LOCATION.
const SERVER_SAID = /(?:^|failed: )([A-Z]+): {2}([0-9A-Z]{5}): (.*)$/m;
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
  return error instanceof ConnectionError && error.code !== 'ENOTFOUND';
}

module.exports = { connectError, isTransient };
