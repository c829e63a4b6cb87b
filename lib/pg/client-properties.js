'use strict';

// Properties of `pg`'s Client that tools read, and which are no part of our own API: tracing,
// ORMs, poolers of their own. Defined on Client's prototype by client.js.

/**
 * @typedef {import('../client').Client} Client
 * @typedef {import('../connection').Connection} Connection
 * @typedef {import('../options').Settings} Settings
 */

/** By PQTransactionStatusType. @type {Record<number, string>} */
const TRANSACTION_STATUS = { 0: 'I', 2: 'T', 3: 'E' };

/** @param {Settings} settings */
function toParameters({ conninfo, password }) {
  const { user, dbname, host, port, sslmode, application_name: applicationName } = conninfo;
  const parameters = {
    user,
    database: dbname,
    host: host ?? 'localhost',
    port: Number(port ?? 5432),
    ssl: sslmode !== undefined && sslmode !== 'disable',
    application_name: applicationName,
  };
  // As in `pg`, out of sight.
  Object.defineProperty(parameters, 'password', {
    value: password ?? conninfo.password ?? null,
    enumerable: false,
    writable: true,
    configurable: true,
  });
  return parameters;
}

/**
 * @param {object} prototype
 * @param {(client: any) => Connection} connectionOf
 * @param {(client: any) => Settings} settingsOf
 */
function defineClientProperties(prototype, connectionOf, settingsOf) {
  /** @type {WeakMap<object, object>} */
  const parameters = new WeakMap();
  /** @type {Record<string, (client: object) => unknown>} */
  const getters = {
    connectionParameters(client) {
      const known = parameters.get(client) ?? toParameters(settingsOf(client));
      parameters.set(client, known);
      return known;
    },
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
