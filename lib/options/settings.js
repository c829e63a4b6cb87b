'use strict';

// The driver's own settings, those that are no keywords of libpq: what a client and a pool are given to work with, and
// for each option that becomes one its check and its default. Read by options.js; a new option begins here.

const { availableParallelism } = require('node:os');
const { isRowKeys, types } = require('../rows');
const { flag, idleLimit, number, numberElse, timeLimit, unlessFalsy } = require('./as-in-pg');
const {
  boolean,
  callable,
  integer,
  limit,
  millis,
  oneOf,
  refuse,
  string,
  typeSource,
} = require('./checks');

/**
 * @typedef {object} Settings
 * @property {Record<string, string>} conninfo keywords and values for libpq
 * @property {Record<string, number>} serverSettings those that `pg` has options for
 * @property {import('./tls').TlsSettings} tls what libpq has no keywords for
 * @property {((config: object) => any) | object | undefined} stream the user's socket
 * @property {import('./wire').Wire | undefined} wire where it is not libpq that makes the socket
 * @property {AskPassword | undefined} password asked at each connect
 * @property {number} connectionTimeoutMillis 0: no limit
 * @property {number} connectTimeoutSeconds for each address, 0: no limit
 * @property {import('../rows').TypeSource} types
 * @property {'string' | 'number' | 'bigint'} int8
 * @property {'date' | 'string'} date
 * @property {'date' | 'string'} timestamp
 * @property {'number' | 'string'} numericArrays
 * @property {boolean} fetchTypes
 * @property {import('../rows').FetchedTypes | undefined} fetchedTypes those of fetchTypes
 * @property {number} scramMaxIterations 0: no limit
 * @property {number} busyPollMicros that the event loop stays awake for an answer; 0: it sleeps
 * @property {boolean} namedParameters
 * @property {'camel' | false | ((name: string) => string)} [rowKeys]
 * @property {boolean} queryInErrors
 * @property {boolean} prepare
 * @property {number} prepareThreshold
 * @property {number} statementCacheSize
 * @property {number} statementCacheBytes
 * @property {number} statementMaxAgeSeconds Infinity: no limit
 * @property {boolean} pipeline whether end() of a client waits for what is in flight, as in `pg`
 * @property {number} query_timeout ms, 0: no limit
 * @property {number} max connections
 * @property {number} min
 * @property {number | undefined} maxInFlight undefined: as many as are safe (connection/turns.js)
 * @property {number} spreadMillis
 * @property {number} maxWaiting
 * @property {boolean} waitForServer whether callers of a pool wait for a server that refuses connections
 * @property {'off' | 'reads' | 'all'} syncGroup
 * @property {'off' | 'reads' | 'all' | undefined} multiplex which statements of clients share connections; undefined: as
 *   a pool, or a client without one, has it
 * @property {boolean | undefined} distributed whether the database is more than one server; undefined: that is found out
 * @property {number} idleTimeoutMillis
 * @property {number} maxUses
 * @property {number} maxLifetimeSeconds
 * @property {boolean} allowExitOnIdle
 * @property {number} leakWarningMillis 0: no warning
 * @property {string} resetQuery '': none
 * @property {Record<string, any> | undefined} replicas options of the pool that reads
 * @property {number} catchUpMillis
 * @property {boolean} wantsWriter a connection that cannot write is not what was asked for
 * @property {((client: any) => unknown) | undefined} onConnect awaited before others have the connection
 * @property {((client: any, callback: (error?: any) => void) => void) | undefined} verify the same
 * @property {((message: string, ...more: any[]) => void) | undefined} log
 * @property {PromiseConstructor | undefined} Promise
 * @property {(new (config: any) => any) | undefined} Client
 * @property {boolean} losesStatements a pooler was found that does not know prepared statements
 * @property {'unknown' | 'direct' | 'managed' | 'blind'} keeping what becomes of prepared statements behind their
 *   transaction (statement-keeping.js)
 * @property {((side: object) => any) | undefined} [makeClient] set by a pool
 *   whose clients are of a class of the user's
 *
 * @typedef {(parameters: object) =>
 *   string | null | undefined | Promise<string | null | undefined>} AskPassword
 * @typedef {import('./checks').Check} Check
 */

/** The default of `resetQuery`: resets a session that a borrower has changed. */
const DISCARD_ALL = 'DISCARD ALL';

/** @type {Check} 0 means no limit, as `maxUses: 0` does in `pg` */
const orNever = (value, name) => limit(value, name) || Infinity;

/** @type {Check} */
const rowKeys = (value, name) => {
  if (!isRowKeys(value)) refuse(name, "'camel', a function of a column's name, or false", value);
  return value;
};

/** @param {Parameters<typeof number>[0]} meaning */
const connections = (meaning) => number({ maximum: 10000, infinite: 10000, ...meaning });

const uses = number({
  minimum: 1,
  empty: Infinity,
  infinite: Infinity,
  low: 1,
  round: Math.ceil,
});
/** @type {Check} a socket, or a function that makes one for each connection */
const stream = (value, name) => {
  const isStream = typeof value?.pipe === 'function' && typeof value.write === 'function';
  if (!isStream) callable(value, name);
  return value;
};

/** @type {Check} where to connect, and options that are different there */
const place = (value, name) => {
  if (typeof value === 'string') return { connectionString: value };
  if (typeof value !== 'object') refuse(name, 'a connection string or options', value);
  return value;
};

/**
 * Check and default of each option that becomes a setting of the same name.
 * @type {Record<string, { check: Check, default?: unknown }>}
 */
const SETTINGS = {
  stream: { check: stream },
  connectionTimeoutMillis: { check: timeLimit, default: 0 },
  types: { check: unlessFalsy(typeSource), default: types },
  int8: { check: oneOf('string', 'number', 'bigint'), default: 'string' },
  date: { check: oneOf('date', 'string'), default: 'date' },
  timestamp: { check: oneOf('date', 'string'), default: 'date' },
  numericArrays: { check: oneOf('number', 'string'), default: 'number' },
  fetchTypes: { check: boolean, default: false },
  scramMaxIterations: { check: numberElse(100000), default: 100000 },
  busyPollMicros: { check: integer(0, 1000), default: availableParallelism() > 1 ? 100 : 0 },
  namedParameters: { check: boolean, default: false },
  rowKeys: { check: rowKeys },
  queryInErrors: { check: boolean, default: false },
  prepare: { check: boolean, default: true },
  prepareThreshold: { check: integer(1), default: 2 },
  statementCacheSize: { check: integer(0, 100000), default: 256 },
  statementCacheBytes: { check: integer(0), default: 1 << 20 },
  statementMaxAgeSeconds: { check: orNever, default: 30 },
  pipeline: { check: flag, default: false },
  query_timeout: { check: timeLimit, default: 0 },
  max: { check: connections({ minimum: 1, empty: 10, round: Math.ceil }), default: 10 },
  min: { check: connections({ low: 0, round: Math.floor }), default: 0 },
  maxInFlight: { check: integer(1), default: undefined },
  spreadMillis: { check: millis, default: 0.2 },
  maxWaiting: { check: limit, default: Infinity },
  waitForServer: { check: boolean, default: false },
  syncGroup: { check: oneOf('off', 'reads', 'all'), default: 'reads' },
  multiplex: { check: oneOf('off', 'reads', 'all') },
  distributed: { check: boolean },
  idleTimeoutMillis: { check: idleLimit, default: 10000 },
  maxUses: { check: uses, default: Infinity },
  maxLifetimeSeconds: { check: number({ infinite: 0, low: 0.001 }), default: 0 },
  allowExitOnIdle: { check: flag, default: false },
  leakWarningMillis: { check: integer(0), default: 0 },
  resetQuery: { check: string, default: DISCARD_ALL },
  replicas: { check: place },
  catchUpMillis: { check: integer(0), default: 1000 },
  onConnect: { check: unlessFalsy(callable) },
  verify: { check: unlessFalsy(callable) },
  log: { check: unlessFalsy(callable) },
  Promise: { check: unlessFalsy(callable) },
  Client: { check: unlessFalsy(callable) },
};

module.exports = { DISCARD_ALL, SETTINGS };
