'use strict';

// Why a server could not be reached, in plain words, and what to do about it.

/** @type {[test: (error: any) => boolean, what: string][]} */
const REASONS = [
  [
    ({ code }) => code === 'ECONNREFUSED',
    'refused: nothing listens there. Is the server started, and are host and port right? (listen_addresses in postgresql.conf says where it listens)',
  ],
  [
    ({ code }) => code === 'ENOENT',
    'there is no such socket: is the server started, and is the folder right?',
  ],
  [
    ({ code }) => code === 'ENOTFOUND' || code === 'EAI_AGAIN',
    'the name cannot be resolved: is it written right, and is the network there?',
  ],
  [
    ({ code }) => code === 'EHOSTUNREACH' || code === 'ENETUNREACH',
    'there is no way to that address: look at the network and its firewalls',
  ],
  [isTimeout, 'a firewall that drops packets, or a server that hangs or is overloaded'],
  [
    ({ code }) => code === '28P01',
    'user or password are wrong: in a URL write the password as encodeURIComponent() gives it',
  ],
  [
    ({ message }) => /no password supplied/.test(message),
    'the server asks for a password, and none was given: in the URL, PGPASSWORD or ~/.pgpass',
  ],
  [
    // pg_hba.conf wants hostssl.
    ({ code, message }) => code === '28000' && /no encryption|SSL off/.test(message),
    'it takes encrypted connections only: set ssl, or sslmode in the URL',
  ],
  [
    ({ code }) => code === '28000',
    'this user may not log in from here: look at the user, and at pg_hba.conf of the server',
  ],
  [({ code }) => code === '3D000', 'there is no such database: look at its name'],
  [
    ({ code }) => code === '53300',
    'it has no connection left: lower the max of the pools, or use a pooler',
  ],
  [
    ({ code }) => code === '57P03',
    'it is starting, or stopping: waitForServer: true lets a pool wait for it',
  ],
  [
    ({ code, message }) => code === '08P01' && /unsupported startup parameter/.test(message),
    'a pooler that refuses settings at the start of a session: leave out options, statement_timeout and the like, and set them for the role (ALTER ROLE … SET …)',
  ],
  [
    ({ code }) => code === 'CERT_HAS_EXPIRED',
    'its certificate has expired: renew it, and nothing is to be changed here',
  ],
  [
    ({ code }) => code === 'ERR_TLS_CERT_ALTNAME_INVALID' || code === 'HOSTNAME_MISMATCH',
    'its certificate is for another name: connect by that name, or set ssl.servername',
  ],
  [
    ({ code, message }) => /CERT|ISSUER|SIGNED/.test(code) || /certificate/.test(message),
    'its certificate is not trusted: give its authority in ssl.ca (or sslrootcert)',
  ],
  [
    ({ message }) => /does not support SSL/.test(message),
    'TLS was asked for, and it has none: turn on ssl in the server, or use sslmode=disable on a network that you trust',
  ],
  [
    ({ code }) => code === 'ECONNRESET' || code === 'ERR_PG_CONDUIT_CONNECTION',
    'the connection was closed before the login was done: is this a PostgreSQL server?',
  ],
];

/** @param {any} error @returns {boolean} */
function isTimeout({ code, message }) {
  return (
    code === 'ERR_CHECK_TIMEOUT' ||
    code === 'ETIMEDOUT' ||
    /timeout expired|due to connection timeout/.test(message)
  );
}

/** @param {any} error @returns {string} one line */
function explain(error) {
  const what = REASONS.find(([test]) => test(error))?.[1] ?? error.hint;
  const said = String(error.message).split('\n', 1)[0];
  return what === undefined ? said : `${said}: ${what}`;
}

/** @param {any} error for JSON */
function describeError(error) {
  return { code: error.code ?? null, message: error.message };
}

module.exports = { describeError, explain, isTimeout };
