'use strict';

// The errors of connections that would be less secure than requested, in libpq's words, and why a certificate was
// refused, which src/connector.cc adds in a line of its own. Used by errors.js.

const { ConnectionError } = require('../base');

/** The connection would be less secure than requested, and no other code says why. */
const TLS_CODE = 'ERR_PG_CONDUIT_TLS';

// What libpq says when one side rejects the other's certificate or protocol. An end of file in the
// middle of a handshake is a lost connection instead.
const TLS_REFUSED =
  /does not support SSL|SSL error: (?!unexpected eof)|certificate|private key file|channel binding/i;

const VERIFY_FAILED = /certificate verify failed/;
const OTHER_NAME = /does not match host name/;
const CERTIFICATE = /^CERTIFICATE: {2}(\d+): (.*)$/m;

/** @type {[RegExp, string][]} */
const TLS_ADVICE = [
  [
    VERIFY_FAILED,
    "give the server's authority in ssl.ca (or sslrootcert), and look at the dates of the certificates; " +
      'sslmode=require in a URL or PGSSLMODE verifies as in pg 8, sslmode=no-verify does not',
  ],
  [OTHER_NAME, 'connect by that name, or give it as ssl.servername'],
  [/could not load private key file/, 'if it is encrypted, give sslpassword'],
];

/** As Node.js, and so `pg`, names the results of OpenSSL's verification. @type {Record<string, string>} */
const VERIFY_CODES = {
  2: 'UNABLE_TO_GET_ISSUER_CERT',
  3: 'UNABLE_TO_GET_CRL',
  4: 'UNABLE_TO_DECRYPT_CERT_SIGNATURE',
  5: 'UNABLE_TO_DECRYPT_CRL_SIGNATURE',
  6: 'UNABLE_TO_DECODE_ISSUER_PUBLIC_KEY',
  7: 'CERT_SIGNATURE_FAILURE',
  8: 'CRL_SIGNATURE_FAILURE',
  9: 'CERT_NOT_YET_VALID',
  10: 'CERT_HAS_EXPIRED',
  11: 'CRL_NOT_YET_VALID',
  12: 'CRL_HAS_EXPIRED',
  13: 'ERROR_IN_CERT_NOT_BEFORE_FIELD',
  14: 'ERROR_IN_CERT_NOT_AFTER_FIELD',
  15: 'ERROR_IN_CRL_LAST_UPDATE_FIELD',
  16: 'ERROR_IN_CRL_NEXT_UPDATE_FIELD',
  17: 'OUT_OF_MEM',
  18: 'DEPTH_ZERO_SELF_SIGNED_CERT',
  19: 'SELF_SIGNED_CERT_IN_CHAIN',
  20: 'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  21: 'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
  22: 'CERT_CHAIN_TOO_LONG',
  23: 'CERT_REVOKED',
  24: 'INVALID_CA',
  25: 'PATH_LENGTH_EXCEEDED',
  26: 'INVALID_PURPOSE',
  27: 'CERT_UNTRUSTED',
  28: 'CERT_REJECTED',
  62: 'HOSTNAME_MISMATCH',
};
const NAME_CODE = 'ERR_TLS_CERT_ALTNAME_INVALID';
const TLS_CODES = new Set([TLS_CODE, NAME_CODE, ...Object.values(VERIFY_CODES)]);

/** @param {any} error of a failed attempt to connect @returns {boolean} whether TLS was the reason */
function isTlsError({ code }) {
  return TLS_CODES.has(code);
}

/**
 * @param {string} text libpq's
 * @returns {ConnectionError | undefined} nothing if the reason is another one
 */
function tlsError(text) {
  if (text.includes('does not support SSL')) {
    return new ConnectionError('The server does not support SSL connections', {
      code: TLS_CODE,
      detail: text,
      hint: "turn on the server's ssl setting",
    });
  }
  if (!TLS_REFUSED.test(text)) return undefined;
  const [line, result, reason] = CERTIFICATE.exec(text) ?? [''];
  const said = text.replace(line, '').trim();
  const isUnverified = VERIFY_FAILED.test(said) && reason !== undefined;
  const advice = TLS_ADVICE.find(([pattern]) => pattern.test(said))?.[1];
  const message = [said, isUnverified && reason, advice].filter(Boolean).join(': ');
  const known = isUnverified ? VERIFY_CODES[result] : OTHER_NAME.test(said) && NAME_CODE;
  return new ConnectionError(message, { code: known || TLS_CODE });
}

module.exports = { isTlsError, tlsError };
