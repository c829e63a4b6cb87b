'use strict';

// What users pass to Client and Pool: checked here, and turned into keywords for libpq and settings
// of our own. What they leave out is in the environment, which libpq reads, or in `defaults` of `pg`.
// Called by client.js and pool.js.

const { OptionError } = require('../base');
const { binding } = require('../native');
const { asText, FetchedTypes, types } = require('../rows');
const {
  boolean,
  callable,
  integer,
  limit,
  oneOf,
  refuse,
  string,
  typeSource,
} = require('./checks');
const { parseConnectionString } = require('./connection-string');
const { changedDefaults } = require('./defaults');
const { NO_VERIFY, applyTls } = require('./tls');
const { warnOfUnknown } = require('./unknown');

/**
 * @typedef {object} Settings
 * @property {Record<string, string>} conninfo keywords and values for libpq
 * @property {Record<string, number>} serverSettings those that `pg` has options for
 * @property {import('./tls').TlsSettings} tls what libpq has no keywords for
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

/** What a session that was changed is reset by, unless the user knows better. */
const DISCARD_ALL = 'DISCARD ALL';

/** @type {Check} 0 is none; of `maxUses` to `pg`, too */
const orNever = (value, name) => limit(value, name) || Infinity;

/** @type {Check} `pg` takes false for none */
const millisOrFalse = (value, name) => (value === false ? 0 : integer(0)(value, name));

/** @type {Check} where to connect, and what else is different there */
const place = (value, name) => {
  if (typeof value === 'string') return { connectionString: value };
  if (typeof value !== 'object') refuse(name, 'a connection string or options', value);
  return value;
};

/**
 * Settings of our own: check and default.
 * @type {Record<string, { check: Check, default?: unknown }>}
 */
const SETTINGS = {
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

/** Server settings that `pg` takes as options; they travel in libpq's `options`. */
const SERVER_SETTINGS = [
  'statement_timeout',
  'lock_timeout',
  'idle_in_transaction_session_timeout',
];

/** Names of `pg` and the keyword of libpq that they stand for. @type {Record<string, string>} */
const RENAMED = { database: 'dbname', host: 'host', user: 'user' };

/** What `pg` is told to do, and we do anyway, or cannot and need not. @type {Record<string, Check>} */
const WITHOUT_EFFECT = { pipeline: boolean, binary: boolean };

/** What would go wrong if it were passed over. @type {Record<string, string>} */
const IMPOSSIBLE = {
  stream:
    'libpq makes its own socket: give the address of a proxy or tunnel in host and port, or the ' +
    'folder of its unix socket in host',
  connection: 'libpq has its own connection',
  replication: 'use pg for replication connections, which know no pipeline mode',
};

const libpqKeywords = new Set(binding.conninfoKeywords());
const libpqVariables = Object.entries(binding.conninfoVariables())
  // The encoding is ours to set.
  .filter(([keyword]) => keyword !== 'client_encoding');

/** @type {Record<string, (value: any, target: Target) => void>} */
const SPECIAL = {
  port(value, { conninfo }) {
    // What `Number(undefined)` gives counts as nothing, as in `pg`.
    if (!Number.isNaN(value)) conninfo.port = checkPorts(value);
  },
  password(value, { conninfo, settings }) {
    if (typeof value === 'function') settings.password = value;
    else conninfo.password = string(value, 'password');
  },
  ssl(value, target) {
    target.ssl.push(value);
  },
  sslnegotiation(value, { conninfo }) {
    const mode = oneOf('postgres', 'direct')(value, 'sslnegotiation');
    if (libpqKeywords.has('sslnegotiation')) conninfo.sslnegotiation = mode;
    else if (mode === 'direct') {
      throw new OptionError('option "sslnegotiation" cannot be \'direct\' before libpq 17');
    }
  },
  enableChannelBinding(value, { conninfo }) {
    conninfo.channel_binding ??= boolean(value, 'enableChannelBinding') ? 'prefer' : 'disable';
  },
  keepAlive(value, { conninfo }) {
    conninfo.keepalives = boolean(value, 'keepAlive') ? '1' : '0';
  },
  keepAliveInitialDelayMillis(value, { conninfo }) {
    const millis = integer(0)(value, 'keepAliveInitialDelayMillis');
    if (millis > 0) conninfo.keepalives_idle = String(Math.max(1, Math.round(millis / 1000)));
  },
  client_encoding(value, { conninfo }) {
    const name = 'client_encoding';
    if (!/^(?:utf-?8|unicode|auto)$/i.test(string(value, name))) {
      refuse(name, "'UTF8': JavaScript strings are Unicode, and the server converts", value);
    }
    conninfo.client_encoding = 'UTF8';
  },
  poolSize(value, { settings, options }) {
    const max = SETTINGS.max.check(value, 'poolSize');
    if (!options.max) settings.max = max;
  },
};

const NEVER_EMPTY = new Set([
  ...['ssl', 'keepAlive', 'keepAliveInitialDelayMillis', 'enableChannelBinding', 'poolSize'],
]);

/**
 * What options are put into.
 * @typedef {object} Target
 * @property {any} settings
 * @property {Record<string, string>} conninfo
 * @property {Record<string, any>} options all of them
 * @property {unknown[]} ssl the option, and that of the connection string
 */

const OUR_NAMES = [
  ...Object.keys(SETTINGS),
  ...SERVER_SETTINGS,
  ...Object.keys(RENAMED),
  ...Object.keys(SPECIAL),
  ...Object.keys(WITHOUT_EFFECT),
  ...Object.keys(IMPOSSIBLE),
  'connectionString',
];
const KNOWN = new Set([...OUR_NAMES, ...libpqKeywords]);
const TAKEN = [...KNOWN].filter((name) => !Object.hasOwn(IMPOSSIBLE, name));

/**
 * @param {object} config
 * @returns {Record<string, any>} its own properties, and those that it hides or inherits, as a
 *   password may be
 */
function readConfig(config) {
  const options = /** @type {Record<string, any>} */ ({ ...config });
  for (const name of KNOWN) {
    const value = /** @type {any} */ (config)[name];
    if (value !== undefined) options[name] = value;
  }
  return options;
}

/** @param {unknown} value */
function isMissing(value) {
  return value === undefined || value === null;
}

/**
 * @param {string | Record<string, any> | null | undefined} config
 * @returns {Settings}
 * @throws {OptionError}
 */
function parseOptions(config) {
  if (config === null || config === undefined) config = {};
  if (config instanceof URL) config = config.href;
  if (typeof config === 'string') config = { connectionString: config };
  if (typeof config !== 'object') {
    throw new OptionError('the configuration must be an object or a connection string');
  }
  const { connectionString, ...given } = readConfig(config);
  /** @type {Record<string, any>} */
  const fromText = isMissing(connectionString)
    ? {}
    : parseConnectionString(string(connectionString, 'connectionString'));
  for (const name of Object.keys(fromText)) fromText[name] = fromUrl(name, fromText[name]);
  // As in `pg`: what stands in the URL wins.
  const options = { ...given, ...fromText };
  addEnvironment(options);
  addDefaults(options);

  /** @type {any} */
  const settings = {
    conninfo: {},
    serverSettings: {},
    password: undefined,
    losesStatements: false,
  };
  for (const [name, { default: value }] of Object.entries(SETTINGS)) settings[name] = value;
  /** @type {Target} */
  const target = { settings, conninfo: settings.conninfo, options, ssl: [] };
  for (const [name, value] of Object.entries(options)) {
    if (!isMissing(value)) take(name, value, target);
  }
  finish(target, isMissing(fromText.ssl) ? [] : [given.ssl]);
  return settings;
}

/** @param {Record<string, any>} options gets what they leave to `defaults` */
function addDefaults(options) {
  // What a service file says, only libpq knows.
  const isService = Boolean(options.service ?? process.env.PGSERVICE);
  for (const [name, value] of Object.entries(changedDefaults())) {
    if (isService && !Object.hasOwn(SETTINGS, name)) continue;
    if (name === 'ssl' && options.sslmode !== undefined) continue;
    if (isMissing(options[name]) || options[name] === '') options[name] = value;
  }
}

/**
 * libpq reads the environment of the process. What a worker thread, or a test runner such as Jest, has for
 * process.env is a copy, whose variables only JavaScript sees.
 * @param {Record<string, any>} options gets what they leave to such variables
 */
function addEnvironment(options) {
  const seen = binding.conninfoDefaults();
  const service = options.service ?? process.env.PGSERVICE;
  // What its file says, only libpq knows.
  if (service) {
    if (service !== seen.service) options.service = service;
    return;
  }
  for (const [keyword, variable] of libpqVariables) {
    const value = process.env[variable];
    // tls.js reads what only `pg` knows.
    if (!value || value === seen[keyword] || value === NO_VERIFY) continue;
    const names = keyword === 'dbname' ? ['database', keyword] : [keyword];
    // `ssl` says whether there is to be TLS; an object, what it is made of too.
    const isInSsl = typeof options.ssl === 'object' && keyword.startsWith('ssl');
    if (isInSsl || keyword === 'sslmode') names.push('ssl');
    if (names.some((name) => !isMissing(options[name]) && options[name] !== '')) continue;
    options[names[0]] = value;
  }
}

/**
 * @param {string} name
 * @param {any} value a text, as all are in a URL
 */
function fromUrl(name, value) {
  const isFlag = SETTINGS[name]?.check === boolean || WITHOUT_EFFECT[name] === boolean;
  if (!isFlag && !['keepAlive', 'enableChannelBinding'].includes(name)) return value;
  return value === 'true' || value === 'false' ? value === 'true' : value;
}

/**
 * @param {string} name
 * @param {any} value
 * @param {Target} target
 */
function take(name, value, target) {
  const { settings, conninfo } = target;
  if (Object.hasOwn(SETTINGS, name)) {
    settings[name] = SETTINGS[name].check(value, name);
  } else if (SERVER_SETTINGS.includes(name)) {
    const millis = millisOrFalse(value, name);
    // As in `pg`, where 0 is not sent either: the server's own setting counts then.
    if (millis > 0) settings.serverSettings[name] = millis;
  } else if (Object.hasOwn(WITHOUT_EFFECT, name)) {
    WITHOUT_EFFECT[name](value, name);
  } else if (Object.hasOwn(IMPOSSIBLE, name)) {
    if (![false, 'false', '', 0].includes(value)) {
      throw new OptionError(`option "${name}" is not supported: ${IMPOSSIBLE[name]}`);
    }
  } else if (!KNOWN.has(name)) {
    warnOfUnknown(name, TAKEN);
  } else if (value === '' && !NEVER_EMPTY.has(name)) {
    // As to libpq and `pg`: as if it were not there.
  } else if (Object.hasOwn(SPECIAL, name)) {
    SPECIAL[name](value, target);
  } else {
    const text = typeof value === 'number' ? String(value) : value;
    conninfo[Object.hasOwn(RENAMED, name) ? RENAMED[name] : name] = string(text, name);
  }
}

/**
 * What follows from several of them.
 * @param {Target} target
 * @param {unknown[]} otherSsl what the connection string has in its place
 */
function finish({ settings, conninfo, ssl }, otherSsl) {
  const defaults = binding.conninfoDefaults();
  const settingTexts = Object.entries(settings.serverSettings).map(
    ([name, millis]) => `-c ${name}=${millis}`,
  );
  if (settingTexts.length > 0) {
    // Beside those of PGOPTIONS, which libpq reads only in place of these.
    conninfo.options = [conninfo.options ?? defaults.options, ...settingTexts]
      .filter(Boolean)
      .join(' ');
  }
  conninfo.client_encoding = 'UTF8';
  const texts = /** @type {const} */ (['date', 'timestamp', 'numericArrays']);
  settings.types = asText(
    settings.types,
    texts.filter((kind) => settings[kind] === 'string'),
  );
  if (settings.fetchTypes) {
    settings.types = settings.fetchedTypes = new FetchedTypes(settings.types, settings.int8);
  }
  const seconds = Number(conninfo.connect_timeout ?? defaults.connect_timeout ?? 0);
  settings.connectTimeoutSeconds = seconds > 0 ? seconds : 0;
  const target = conninfo.target_session_attrs ?? defaults.target_session_attrs;
  settings.wantsWriter = target === 'read-write' || target === 'primary';
  settings.tls = applyTls([...otherSsl, ...ssl], conninfo);
  const sslmode = conninfo.sslmode ?? defaults.sslmode;
  if (conninfo.sslnegotiation === 'direct' && !/^(?:require|verify-)/.test(sslmode ?? '')) {
    throw new OptionError('option "sslnegotiation" cannot be \'direct\' without TLS: give ssl too');
  }
}

/** @param {unknown} value @returns {string} one port, or several as libpq takes them */
function checkPorts(value) {
  if (typeof value === 'object') refuse('port', 'a whole number from 1 to 65535', value);
  const check = integer(1, 65535);
  return String(value)
    .split(',')
    .map((port) => String(check(port, 'port')))
    .join(',');
}

module.exports = { parseOptions, DISCARD_ALL, libpqKeywords };
