'use strict';

// What a connection is made with, in the shape of `pg`: for a password function, and for tools that read it.

const { binding } = require('../native');

/** @typedef {import('./settings').Settings} Settings */

/**
 * What a connection is made with, as `pg` has it.
 * @param {Settings} settings
 */
function toParameters({ conninfo, password, serverSettings, query_timeout: queryTimeout }) {
  /** @type {Record<string, string | undefined>} */
  const given = { ...binding.conninfoDefaults(), ...conninfo };
  const host = given.host ?? given.hostaddr ?? 'localhost';
  const parameters = {
    user: given.user,
    database: given.dbname ?? given.user,
    host,
    // Of several the first.
    port: Number.parseInt(given.port || '5432', 10),
    ssl: !['disable', 'allow', 'prefer'].includes(given.sslmode ?? 'prefer'),
    sslnegotiation: given.sslnegotiation,
    binary: false,
    options: given.options,
    client_encoding: 'UTF8',
    replication: undefined,
    isDomainSocket: host.startsWith('/'),
    application_name: given.application_name,
    fallback_application_name: given.fallback_application_name,
    statement_timeout: serverSettings.statement_timeout ?? false,
    lock_timeout: serverSettings.lock_timeout ?? false,
    idle_in_transaction_session_timeout:
      serverSettings.idle_in_transaction_session_timeout ?? false,
    query_timeout: queryTimeout || false,
  };
  // As in `pg`, out of sight.
  Object.defineProperty(parameters, 'password', {
    value: password ?? given.password ?? null,
    enumerable: false,
    writable: true,
    configurable: true,
  });
  return /** @type {typeof parameters & { password: any }} */ (parameters);
}

module.exports = { toParameters };
