'use strict';

// The driver's own settings, those that are no keywords of libpq: what a client and a pool are given to work with, and
// for each option that becomes one its check and its default. Read by options.js; a new option begins here.

const { types } = require('../rows');
const {
  boolean,
  callable,
  integer,
  limit,
  millisOrFalse,
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
 * @property {boolean} namedParameters
 * @property {boolean} queryInErrors
 * @property {boolean} prepare
 * @property {number} prepareThreshold
 * @property {number} statementCacheSize
 * @property {number} statementCacheBytes
 * @property {number} statementMaxAgeSeconds Infinity: no limit
 * @property {number} query_timeout ms, 0: no limit
 * @property {number} max connections
 * @property {number} min
 * @property {number} maxInFlight
 * @property {number} maxWaiting
 * @property {'off' | 'reads' | 'all'} syncGroup
 * @property {'off' | 'reads' | 'all' | undefined} multiplex which statements of clients share connections; undefined: as
 *   a pool, or a client without one, has it
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
  connectionTimeoutMillis: { check: integer(0), default: 0 },
  types: { check: typeSource, default: types },
  int8: { check: oneOf('string', 'number', 'bigint'), default: 'string' },
  date: { check: oneOf('date', 'string'), default: 'date' },
  timestamp: { check: oneOf('date', 'string'), default: 'date' },
  numericArrays: { check: oneOf('number', 'string'), default: 'number' },
  fetchTypes: { check: boolean, default: false },
  scramMaxIterations: { check: integer(0), default: 100000 },
  namedParameters: { check: boolean, default: false },
  queryInErrors: { check: boolean, default: false },
  prepare: { check: boolean, default: true },
  prepareThreshold: { check: integer(1), default: 2 },
  statementCacheSize: { check: integer(0, 100000), default: 256 },
  statementCacheBytes: { check: integer(0), default: 1 << 20 },
  statementMaxAgeSeconds: { check: orNever, default: 30 },
  query_timeout: { check: millisOrFalse, default: 0 },
  max: { check: integer(1, 10000), default: 10 },
  min: { check: integer(0, 10000), default: 0 },
  maxInFlight: { check: integer(1), default: 1024 },
  maxWaiting: { check: limit, default: Infinity },
  syncGroup: { check: oneOf('off', 'reads', 'all'), default: 'reads' },
  multiplex: { check: oneOf('off', 'reads', 'all') },
  idleTimeoutMillis: { check: integer(0), default: 10000 },
  maxUses: { check: orNever, default: Infinity },
  maxLifetimeSeconds: { check: integer(0), default: 0 },
  allowExitOnIdle: { check: boolean, default: false },
  leakWarningMillis: { check: integer(0), default: 0 },
  resetQuery: { check: string, default: DISCARD_ALL },
  replicas: { check: place },
  catchUpMillis: { check: integer(0), default: 1000 },
  onConnect: { check: callable },
  verify: { check: callable },
  log: { check: callable },
  Promise: { check: callable },
  Client: { check: callable },
};

module.exports = { DISCARD_ALL, SETTINGS };
