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

/** What may be assigned to a client until it connects. */
const ON_CLIENTS = ['host', 'port', 'password'];
/** As in `pg`. */
const WITHOUT_EFFECT = ['user', 'database', 'ssl'];
const IN_PARAMETERS = /** @type {const} */ ([
  ...['user', 'database', 'application_name', 'fallback_application_name', 'options'],
  ...['statement_timeout', 'lock_timeout', 'idle_in_transaction_session_timeout'],
  'query_timeout',
]);

/**
 * @typedef {object} Shown
 * @property {any} parameters
 * @property {any} initial
 * @property {Record<string, any>} assigned to the client
 */

/** By those whose properties somebody has looked at. @type {WeakMap<object, Shown>} */
const known = new WeakMap();

/**
 * @param {object} client
 * @returns {Record<string, any> | undefined} options that were changed on it since it was made
 */
function changesOf(client) {
  const shown = known.get(client);
  if (shown === undefined) return undefined;
  const { parameters, initial, assigned } = shown;
  const names = IN_PARAMETERS.filter((name) => parameters[name] !== initial[name]);
  const changes = Object.fromEntries(names.map((name) => [name, parameters[name]]));
  for (const name of ON_CLIENTS) if (name in assigned) changes[name] = assigned[name];
  return Object.keys(changes).length > 0 ? changes : undefined;
}

/**
 * @param {object} prototype
 * @param {(client: any) => Connection} connectionOf
 * @param {(client: any) => Settings} settingsOf
 */
function defineClientProperties(prototype, connectionOf, settingsOf) {
  /** @param {object} client */
  const shownOf = (client) => {
    let shown = known.get(client);
    if (shown === undefined) {
      const parameters = toParameters(settingsOf(client));
      shown = { parameters, initial: { ...parameters }, assigned: {} };
      known.set(client, shown);
    }
    return shown;
  };
  /** @type {Record<string, (client: object) => unknown>} */
  const getters = {
    connectionParameters: (client) => shownOf(client).parameters,
    queryQueue: (client) => queueOf(client),
    pipeline: () => false,
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
  for (const name of [...ON_CLIENTS, ...WITHOUT_EFFECT]) {
    Object.defineProperty(prototype, name, {
      get() {
        if (name === 'ssl') return connectionOf(this).isEncrypted;
        const { assigned, initial, parameters } = shownOf(this);
        if (name in assigned) return assigned[name];
        return name === 'password' ? parameters.password : initial[name];
      },
      set(value) {
        shownOf(this).assigned[name] = value;
      },
      enumerable: false,
      configurable: true,
    });
  }
  // Of the client of `pg-native`; they are in the types of `pg`.
  for (const name of ['pauseDrain', 'resumeDrain']) {
    Object.defineProperty(prototype, name, { value() {}, writable: true, configurable: true });
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

module.exports = { changesOf, defineClientProperties };
