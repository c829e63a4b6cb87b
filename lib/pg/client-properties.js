'use strict';

// Properties of `pg`'s Client that are not part of the driver's own API, but are read by tools:
// tracing, ORMs, other poolers. Defined on Client's prototype by client.js.

const { toParameters } = require('../options');
const { queueOf } = require('./query-queue');

/**
 * @typedef {import('../connection').Connection} Connection
 * @typedef {import('../options').Settings} Settings
 */

/** By PQTransactionStatusType. @type {Record<number, string>} */
const TRANSACTION_STATUS = { 0: 'I', 2: 'T', 3: 'E' };

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
    /**
     * @returns {string | null} as in the server's ReadyForQuery; null while something is in flight
     */
    value() {
      const { session } = connectionOf(this);
      return session.isBeginning ? 'T' : (TRANSACTION_STATUS[session.transactionStatus] ?? null);
    },
    writable: true,
    configurable: true,
  });
}

module.exports = { defineClientProperties };
