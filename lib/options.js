'use strict';

// What users pass to Client and Pool: checked here, and turned into keywords
// for libpq and settings of our own. A leaf but for libpq's own parser, which
// binding.js gives. Called by client.js and pool.js.

const binding = require('./binding');
const { OptionError } = require('./errors');
const { applyTls } = require('./tls-options');
const { types } = require('./types');

/**
 * @typedef {object} Settings
 * @property {Record<string, string>} conninfo keywords and values for libpq
 * @property {import('./tls-options').TlsSettings} tls what libpq has no keywords for
 * @property {(() => string | Promise<string>) | undefined} password asked at each connect
 * @property {number} connectionTimeoutMillis 0: no limit
 * @property {import('./row-builder').TypeSource} types
 * @property {'string' | 'number' | 'bigint'} int8
 * @property {boolean} prepare
 * @property {number} prepareThreshold
 * @property {number} statementCacheSize
 * @property {number} statementCacheBytes
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
 */

/** @typedef {(value: any, name: string) => any} Check */

/**
 * Texts are not shown: a mistyped connection string puts passwords anywhere.
 * @param {string} name
 * @param {string} wanted
 * @param {unknown} value
 * @returns {never}
 */
function refuse(name, wanted, value) {
  const isShown = ['number', 'boolean', 'bigint'].includes(typeof value);
  const shown = isShown ? String(value) : SHOWN_AS[typeof value];
  throw new OptionError(`option "${name}" must be ${wanted}, not ${shown}`);
}

/** @type {Record<string, string>} */
const SHOWN_AS = {
  string: 'this string',
  object: 'this object',
  function: 'a function',
  symbol: 'a symbol',
};

/** @param {number} minimum @param {number} [maximum] @returns {Check} */
function integer(minimum, maximum = 2 ** 31 - 1) {
  return (value, name) => {
    const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : value;
    if (!Number.isInteger(number) || number < minimum || number > maximum) {
      refuse(name, `a whole number from ${minimum} to ${maximum}`, value);
    }
    return number;
  };
}

/** @type {Check} */
function limit(value, name) {
  return value === Infinity ? Infinity : integer(0)(value, name);
}

/** @type {Check} */
function boolean(value, name) {
  if (typeof value !== 'boolean') refuse(name, 'true or false', value);
  return value;
}

/** @type {Check} */
function string(value, name) {
  if (typeof value !== 'string') refuse(name, 'a string', value);
  if (value.includes('\0')) refuse(name, 'a string without NUL characters', value);
  return value;
}

/** @param {string[]} choices @returns {Check} */
function oneOf(...choices) {
  return (value, name) => {
    if (!choices.includes(value)) {
      refuse(name, choices.map((choice) => `'${choice}'`).join(' or '), value);
    }
    return value;
  };
}

/** @type {Check} */
function typeSource(value, name) {
  if (typeof value?.getTypeParser !== 'function') {
    refuse(name, 'an object with getTypeParser(oid, format)', value);
  }
  return value;
}

/** What a session that was changed is reset by, unless the user knows better. */
const DISCARD_ALL = 'DISCARD ALL';

/**
 * Settings of our own: check and default.
 * @type {Record<string, { check: Check, default: unknown }>}
 */
const SETTINGS = {
  connectionTimeoutMillis: { check: integer(0), default: 0 },
  types: { check: typeSource, default: types },
  int8: { check: oneOf('string', 'number', 'bigint'), default: 'string' },
  prepare: { check: boolean, default: true },
  prepareThreshold: { check: integer(1), default: 2 },
  statementCacheSize: { check: integer(0, 100000), default: 256 },
  statementCacheBytes: { check: integer(0), default: 1 << 20 },
  query_timeout: { check: integer(0), default: 0 },
  max: { check: integer(1, 10000), default: 10 },
  min: { check: integer(0, 10000), default: 0 },
  maxInFlight: { check: integer(1), default: 1024 },
  maxWaiting: { check: limit, default: Infinity },
  syncGroup: { check: oneOf('off', 'reads', 'all'), default: 'reads' },
  idleTimeoutMillis: { check: integer(0), default: 10000 },
  maxUses: { check: limit, default: Infinity },
  maxLifetimeSeconds: { check: integer(0), default: 0 },
  allowExitOnIdle: { check: boolean, default: false },
  leakWarningMillis: { check: integer(0), default: 0 },
  resetQuery: { check: string, default: DISCARD_ALL },
};

/** Server settings that `pg` takes as options; they travel in libpq's `options`. */
const SERVER_SETTINGS = [
  'statement_timeout',
  'lock_timeout',
  'idle_in_transaction_session_timeout',
];

/** Names of `pg` and the keyword of libpq that they stand for. */
const RENAMED = { database: 'dbname', host: 'host', port: 'port', user: 'user' };

const libpqKeywords = new Set(binding.conninfoKeywords());

const OUR_NAMES = [
  ...Object.keys(SETTINGS),
  ...SERVER_SETTINGS,
  ...Object.keys(RENAMED),
  'connectionString',
  'password',
  'ssl',
  'keepAlive',
  'keepAliveInitialDelayMillis',
];

/**
 * @param {string} name
 * @returns {string} a name that was probably meant, as a sentence, or nothing
 */
function suggestion(name) {
  const plain = (/** @type {string} */ text) => text.toLowerCase().replace(/[_-]/g, '');
  const wanted = plain(name);
  const known = [...OUR_NAMES, ...libpqKeywords];
  const close =
    known.find((candidate) => plain(candidate) === wanted) ??
    known.find((candidate) => {
      const other = plain(candidate);
      return wanted.length > 3 && (other.startsWith(wanted) || wanted.startsWith(other));
    });
  return close === undefined ? '' : ` Did you mean "${close}"?`;
}

/**
 * @param {string} given a URI or "keyword=value …"
 * @returns {Record<string, any>} options under the names of `pg` or libpq
 */
function parseConnectionString(given) {
  const { text, ssl } = takeSsl(given);
  const parsed = parseWithoutSsl(text);
  // As in `pg`, sslmode says it better.
  return ssl === undefined || parsed.sslmode !== undefined ? parsed : { ...parsed, ssl };
}

/**
 * Parameters of a URL that `pg` has, and libpq has not, or has as something weaker: to `pg` (and to
 * JDBC) `ssl=true` says that the server is to be verified.
 * @param {string} text
 * @returns {{ text: string, ssl?: string }}
 */
function takeSsl(text) {
  const scheme = /^postgres(?:ql)?:\/\//.exec(text)?.[0] ?? text;
  // Where libpq sees the end of user and password: they may have a `?` in them.
  const start = scheme.length + Math.max(0, text.slice(scheme.length).search(/[@/]/));
  const query = text.indexOf('?', start);
  if (query < 0) return { text };
  const parameters = text.slice(query + 1).split('&');
  const kept = parameters.filter((parameter) => !/^(?:ssl|uselibpqcompat)=/.test(parameter));
  const [ssl] = parameters.filter((parameter) => parameter.startsWith('ssl=')).slice(-1);
  return {
    text: text.slice(0, query) + (kept.length > 0 ? `?${kept.join('&')}` : ''),
    ssl: ssl?.slice('ssl='.length).replace(/^1$/, 'true').replace(/^0$/, 'false'),
  };
}

/** @param {string} text @returns {Record<string, any>} */
function parseWithoutSsl(text) {
  let hint = '';
  try {
    const { dbname, ...rest } = binding.parseConninfo(text);
    return dbname === undefined ? rest : { ...rest, database: dbname };
  } catch (error) {
    // Its other messages quote parts of the text, and so, maybe, the password.
    const said = /** @type {Error} */ (error).message;
    const [, parameter] = /^invalid URI query parameter: "(\w+)"$/.exec(said.trim()) ?? [];
    if (parameter !== undefined) hint = `: there is no parameter "${parameter}"`;
  }
  // Forms that `pg` knows and libpq does not: socket paths, and parameters of `pg`'s own.
  if (/^(?:postgres(?:ql)?:\/\/|socket:|\/)/.test(text)) {
    try {
      // Its default export reads the URL only; files that it names are libpq's to read.
      const parsed = require('pg-connection-string').parse(text);
      // Its reading of sslmode.
      delete parsed.ssl;
      return Object.fromEntries(
        Object.entries(parsed).filter(
          ([, value]) => value !== null && value !== undefined && value !== '',
        ),
      );
    } catch {
      // libpq's reason is the better one.
    }
  }
  throw new OptionError(
    `the connection string cannot be read${hint}. Write ` +
      'postgresql://user:password@host:port/database, with special characters percent-encoded',
  );
}

/**
 * @param {string | Record<string, any> | null | undefined} config
 * @returns {Settings}
 * @throws {OptionError}
 */
function parseOptions(config) {
  if (config === null || config === undefined) config = {};
  if (typeof config === 'string') config = { connectionString: config };
  if (typeof config !== 'object') {
    throw new OptionError('the configuration must be an object or a connection string');
  }
  const { connectionString, ssl, ...given } = config;
  // As in `pg`: what stands in the URL wins.
  const options = { ...given };
  if (connectionString !== null && connectionString !== undefined) {
    Object.assign(options, parseConnectionString(string(connectionString, 'connectionString')));
  }

  /** @type {any} */
  const settings = { conninfo: {}, password: undefined };
  for (const [name, { default: value }] of Object.entries(SETTINGS)) settings[name] = value;
  /** @type {string[]} */
  const serverSettings = [];
  const { conninfo } = settings;
  /** @type {unknown} */
  let sslOfUrl;
  for (const [name, value] of Object.entries(options)) {
    if (value === undefined || value === null) continue;
    if (Object.hasOwn(SETTINGS, name)) {
      settings[name] = SETTINGS[name].check(value, name);
    } else if (SERVER_SETTINGS.includes(name)) {
      // `pg` takes false for none.
      if (value !== false) serverSettings.push(`-c ${name}=${integer(0)(value, name)}`);
    } else if (name === 'port') {
      conninfo.port = checkPorts(value);
    } else if (Object.hasOwn(RENAMED, name)) {
      conninfo[/** @type {any} */ (RENAMED)[name]] = string(value, name);
    } else if (name === 'password') {
      if (typeof value === 'function') settings.password = value;
      else conninfo.password = string(value, name);
    } else if (name === 'ssl') {
      sslOfUrl = value;
    } else if (name === 'keepAlive') {
      conninfo.keepalives = boolean(value, name) ? '1' : '0';
    } else if (name === 'keepAliveInitialDelayMillis') {
      const millis = integer(0)(value, name);
      if (millis > 0) conninfo.keepalives_idle = String(Math.max(1, Math.round(millis / 1000)));
    } else if (name === 'client_encoding') {
      if (!/^utf-?8$/i.test(string(value, name))) {
        refuse(name, "'UTF8': JavaScript strings are Unicode, and the server converts", value);
      }
    } else if (libpqKeywords.has(name)) {
      conninfo[name] = string(typeof value === 'number' ? String(value) : value, name);
    } else {
      throw new OptionError(`unknown option "${name}".${suggestion(name)}`);
    }
  }
  if (serverSettings.length > 0) {
    conninfo.options = [conninfo.options, ...serverSettings].filter(Boolean).join(' ');
  }
  conninfo.client_encoding = 'UTF8';
  settings.tls = applyTls([ssl, sslOfUrl], conninfo);
  return settings;
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

module.exports = { parseOptions, DISCARD_ALL };
