'use strict';

// Properties of `pg`'s Client that tools read, and which are no part of our own API: tracing,
// ORMs, poolers of their own. Defined on Client's prototype by client.js.

const binding = require('../binding');
const { queueOf } = require('./query-queue');

/**
 * @typedef {import('../client').Client} Client
 * @typedef {import('../connection').Connection} Connection
 * @typedef {import('../options').Settings} Settings
 */

/** By PQTransactionStatusType. @type {Record<number, string>} */
const TRANSACTION_STATUS = { 0: 'I', 2: 'T', 3: 'E' };

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

/**
 * @param {object} prototype
 * @param {(client: any) => Connection} connectionOf
 * @param {(client: any) => Settings} settingsOf
 */
function defineClientProperties(prototype, connectionOf, settingsOf) {
  /** @type {WeakMap<object, ReturnType<typeof toParameters>>} */
  const known = new WeakMap();
  /** @param {object} client */
  const parametersOf = (client) => {
    const parameters = known.get(client) ?? toParameters(settingsOf(client));
    known.set(client, parameters);
    return parameters;
  };
  /** @type {Record<string, (client: object) => unknown>} */
  const getters = {
    connectionParameters: parametersOf,
    user: (client) => parametersOf(client).user,
    database: (client) => parametersOf(client).database,
    host: (client) => parametersOf(client).host,
    port: (client) => parametersOf(client).port,
    password: (client) => parametersOf(client).password,
    queryQueue: (client) => queueOf(client),
    ssl: (client) => connectionOf(client).isEncrypted,
    _connecting: (client) => connectionOf(client).state === 'connecting',
    _connected: (client) => ['ready', 'ending', 'closed'].includes(connectionOf(client).state),
    _ending: (client) => ['ending', 'closed'].includes(connectionOf(client).state),
    _ended: (client) => connectionOf(client).state === 'closed',
    _queryable: (client) => ['new', 'connecting', 'ready'].includes(connectionOf(client).state),
    _connectionError: (client) => connectionOf(client).hasFailed,
  };
  for (const [name, get] of Object.entries(getters)) {
    Object.defineProperty(prototype, name, {
      get() {
        return get(this);
      },
      enumerable: false,
      configurable: true,
    });
  }
  Object.defineProperty(prototype, 'getTransactionStatus', {
    /** @returns {string | null} as the server's ReadyForQuery has it; null while something is in flight */
    value() {
      return TRANSACTION_STATUS[connectionOf(this).transactionStatus] ?? null;
    },
    writable: true,
    configurable: true,
  });
}

module.exports = { defineClientProperties, toParameters };
