'use strict';

// Reads what users pass to Client and Pool, into keywords for libpq and the driver's own settings (settings.js). Options
// that they leave out come from the environment, most of which libpq reads, and from `defaults` (defaults.js).
// Called by client.js, for clients and pools.

const { OptionError } = require('../base');
const { binding } = require('../native');
const { asText, FetchedTypes } = require('../rows');
const { flag, leaveOutFalsy, number, serverMillis, warnOfValue } = require('./as-in-pg');
const { boolean, integer, oneOf, refuse, string } = require('./checks');
const { parseConnectionString } = require('./connection-string');
const { changedDefaults } = require('./defaults');
const { SETTINGS } = require('./settings');
const { NO_VERIFY, VERIFIED_BY_PG, applyTls } = require('./tls');
const { warnOfUnknown } = require('./unknown');
const { readWire } = require('./wire');

/**
 * @typedef {import('./settings').Settings} Settings
 * @typedef {import('./checks').Check} Check
 */

/** Server settings that `pg` takes as options; they travel in libpq's `options`. */
const SERVER_SETTINGS = [
  'statement_timeout',
  'lock_timeout',
  'idle_in_transaction_session_timeout',
];

/** Names of `pg` and the keyword of libpq that they stand for. @type {Record<string, string>} */
const RENAMED = { database: 'dbname', host: 'host', user: 'user' };

/** Options of `pg` that change nothing here: checked and ignored. @type {Record<string, Check>} */
const WITHOUT_EFFECT = { binary: flag };

/** Values of PGSSLMODE that tls.js reads. */
const AS_IN_PG = [NO_VERIFY, ...VERIFIED_BY_PG];

const keepAliveDelay = number({ infinite: 0, low: 0 });

/** Options of `pg` that must not be ignored, and why they cannot be had. @type {Record<string, string>} */
const IMPOSSIBLE = {
  connection: 'libpq has its own connection',
};

const libpqKeywords = new Set(binding.conninfoKeywords());
const libpqVariables = Object.entries(binding.conninfoVariables())
  // The driver sets the encoding itself.
  .filter(([keyword]) => keyword !== 'client_encoding');

/** @type {Record<string, (value: any, target: Target) => void>} */
const SPECIAL = {
  port(value, { conninfo }) {
    conninfo.port = checkPorts(value);
  },
  password(value, { conninfo, settings }) {
    if (typeof value === 'function') settings.password = value;
    else conninfo.password = string(checkPassword(value), 'password');
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
    conninfo.channel_binding ??= flag(value, 'enableChannelBinding') ? 'prefer' : 'disable';
  },
  keepAlive(value, { conninfo }) {
    conninfo.keepalives = flag(value, 'keepAlive') ? '1' : '0';
  },
  keepAliveInitialDelayMillis(value, { conninfo }) {
    const millis = keepAliveDelay(value, 'keepAliveInitialDelayMillis');
    if (millis > 0) conninfo.keepalives_idle = String(Math.max(1, Math.round(millis / 1000)));
  },
  client_encoding(value) {
    if (typeof value === 'symbol') refuse('client_encoding', 'a string', value);
    // It has no effect in `pg` either, which asks for UTF-8, too.
    if (/^(?:utf-?8|unicode|auto)$/i.test(String(value))) return;
    warnOfValue('client_encoding', value, 'it counts as UTF8, and the server converts');
  },
  replication(value, { conninfo }) {
    // A walsender of one database, or of the whole cluster.
    if (value === 'database') conninfo.replication = value;
    else if (boolean(TRUTHS.get(value) ?? value, 'replication')) conninfo.replication = 'true';
  },
  poolSize(value, { settings, options }) {
    const max = SETTINGS.max.check(value, 'poolSize');
    if (!options.max) settings.max = max;
  },
};

/** As libpq and the server take them. @type {ReadonlyMap<unknown, boolean>} */
const TRUTHS = new Map([
  ...[1, '1', 'true', 'on', 'yes'].map((text) => /** @type {const} */ ([text, true])),
  ...[0, '0', 'false', 'off', 'no'].map((text) => /** @type {const} */ ([text, false])),
]);

const MULTIPLEX_VARIABLE = 'PG_CONDUIT_MULTIPLEX';

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
 * @returns {Record<string, any>} its own properties, and those options that are inherited or not enumerable, as
 *   a password may be
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
 * @param {Record<string, any>} [changes] go before all that is in it
 * @returns {Settings}
 * @throws {OptionError}
 */
function parseOptions(config, changes) {
  config ||= {};
  if (config instanceof URL) config = config.href;
  if (typeof config === 'string') config = { connectionString: config };
  if (typeof config !== 'object') {
    throw new OptionError('the configuration must be an object or a connection string');
  }
  const { connectionString, ...given } = leaveOutFalsy(readConfig(config));
  /** @type {Record<string, any>} */
  const fromText = isMissing(connectionString)
    ? {}
    : parseConnectionString(string(connectionString, 'connectionString'));
  for (const name of Object.keys(fromText)) fromText[name] = fromUrl(name, fromText[name]);
  // As in `pg`: what stands in the URL wins.
  const options = { ...given, ...fromText, ...changes };
  addEnvironment(options);
  addOwnEnvironment(options);
  addDefaults(options);
  return toSettings(options, isMissing(fromText.ssl) ? [] : [given.ssl]);
}

/**
 * For a client or pool that cannot connect, since its options are wrong.
 * @returns {Settings}
 */
function noOptions() {
  return toSettings({}, []);
}

/**
 * @param {Record<string, any>} options
 * @param {unknown[]} otherSsl what the connection string has replaced
 * @returns {Settings}
 */
function toSettings(options, otherSsl) {
  /** @type {any} */
  const settings = {
    conninfo: {},
    serverSettings: {},
    password: undefined,
    losesStatements: false,
    keeping: 'unknown',
  };
  for (const [name, { default: value }] of Object.entries(SETTINGS)) settings[name] = value;
  /** @type {Target} */
  const target = { settings, conninfo: settings.conninfo, options, ssl: [] };
  for (const [name, value] of Object.entries(options)) {
    if (!isMissing(value)) take(name, value, target);
  }
  finish(target, otherSsl);
  return settings;
}

/** @param {Record<string, any>} options gets the values of `defaults` for those that are left out */
function addDefaults(options) {
  // Only libpq reads the service file.
  const isService = Boolean(options.service ?? process.env.PGSERVICE);
  for (const [name, value] of Object.entries(changedDefaults())) {
    if (isService && !Object.hasOwn(SETTINGS, name)) continue;
    if (name === 'ssl' && options.sslmode !== undefined) continue;
    if (isMissing(options[name]) || options[name] === '') options[name] = value;
  }
}

/**
 * libpq reads the environment of the process. In a worker thread, and in a test runner such as Jest, process.env is a
 * copy, and only JavaScript sees what is changed there.
 * @param {Record<string, any>} options gets the values of such variables for those that are left out
 */
function addEnvironment(options) {
  const seen = binding.conninfoDefaults();
  const service = options.service ?? process.env.PGSERVICE;
  // Only libpq reads the service file.
  if (service) {
    if (service !== seen.service) options.service = service;
    return;
  }
  for (const [keyword, variable] of libpqVariables) {
    const value = process.env[variable];
    // tls.js reads what `pg` has its own meaning for.
    if (!value || value === seen[keyword] || AS_IN_PG.includes(value)) continue;
    const names = keyword === 'dbname' ? ['database', keyword] : [keyword];
    // `ssl` says whether there is to be TLS; an object, what it is made of too.
    const isInSsl = typeof options.ssl === 'object' && keyword.startsWith('ssl');
    if (isInSsl || keyword === 'sslmode') names.push('ssl');
    if (names.some((name) => !isMissing(options[name]) && options[name] !== '')) continue;
    options[names[0]] = value;
  }
}

/**
 * The driver's own variable, for tools that pass on only the options that they know.
 * @param {Record<string, any>} options
 */
function addOwnEnvironment(options) {
  const { [MULTIPLEX_VARIABLE]: value } = process.env;
  if (value && isMissing(options.multiplex)) {
    options.multiplex = checkVariable(SETTINGS.multiplex.check, value, MULTIPLEX_VARIABLE);
  }
}

/** @param {Check} check @param {string} value @param {string} name */
function checkVariable(check, value, name) {
  try {
    return check(value, name);
  } catch (error) {
    throw new OptionError(/** @type {Error} */ (error).message.replace(/^option/, 'variable'));
  }
}

/** @type {Record<string, boolean>} */
const FLAGS = { true: true, false: false, 1: true, 0: false };

/**
 * @param {string} name
 * @param {any} value a text, as all are in a URL
 */
function fromUrl(name, value) {
  const check = SETTINGS[name]?.check ?? WITHOUT_EFFECT[name];
  const isFlag = check === boolean || check === flag;
  if (!isFlag && !['keepAlive', 'enableChannelBinding'].includes(name)) return value;
  return FLAGS[value] ?? value;
}

/**
 * @param {string} name
 * @param {any} value
 * @param {Target} target
 */
function take(name, value, target) {
  const { settings, conninfo } = target;
  if (Object.hasOwn(SETTINGS, name)) {
    settings[name] = SETTINGS[name].check(value, name) ?? SETTINGS[name].default;
  } else if (SERVER_SETTINGS.includes(name)) {
    const millis = serverMillis(value, name);
    // As in `pg`, where 0 is not sent either: the server's own setting counts then.
    if (millis > 0) settings.serverSettings[name] = millis;
  } else if (Object.hasOwn(WITHOUT_EFFECT, name)) {
    WITHOUT_EFFECT[name](value, name);
  } else if (Object.hasOwn(IMPOSSIBLE, name)) {
    if (![false, 'false', '', 0].includes(value)) {
      throw new OptionError(`option "${name}" is not supported: ${IMPOSSIBLE[name]}`);
    }
  } else if (!KNOWN.has(name)) {
    warnOfUnknown(name, TAKEN, target.options);
  } else if (value === '' && name !== 'ssl') {
    // Counts as left out, as with libpq and `pg`.
  } else if (Object.hasOwn(SPECIAL, name)) {
    SPECIAL[name](value, target);
  } else {
    const text = typeof value === 'number' ? String(value) : value;
    conninfo[Object.hasOwn(RENAMED, name) ? RENAMED[name] : name] = string(text, name);
  }
}

/**
 * Sets what depends on several options.
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
  if (conninfo.replication !== undefined) settings.multiplex = 'off';
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
  settings.wire = readWire(settings, conninfo);
  const sslmode = conninfo.sslmode ?? defaults.sslmode;
  if (conninfo.sslnegotiation === 'direct' && !/^(?:require|verify-)/.test(sslmode ?? '')) {
    throw new OptionError('option "sslnegotiation" cannot be \'direct\' without TLS: give ssl too');
  }
}

/** @param {any} value @returns {any} */
function checkPassword(value) {
  // In YAML and the like digits are a number without quotation marks; what they are is not for error messages.
  if (typeof value === 'number') {
    warnOfValue('password', value, 'its digits count; give a string');
    return String(value);
  }
  return value;
}

/** @param {any} value @returns {string} one port, or several as libpq takes them */
function checkPorts(value) {
  if (typeof value === 'object') refuse('port', 'a whole number from 1 to 65535', value);
  const check = integer(1, 65535);
  const whole = /^\s*(\d+)\.\d*\s*$/.exec(String(value))?.[1];
  if (whole !== undefined) warnOfValue('port', value, 'it counts without its fraction');
  return (whole ?? String(value))
    .split(',')
    .map((port) => String(check(port, 'port')))
    .join(',');
}

/**
 * For who reports what is wrong when it is to connect, and not at once.
 * @param {any} config
 * @returns {{ settings: Settings, refusal?: OptionError }}
 */
function readOptions(config) {
  try {
    return { settings: parseOptions(config) };
  } catch (error) {
    if (!(error instanceof OptionError)) throw error;
    return { settings: noOptions(), refusal: error };
  }
}

module.exports = { libpqKeywords, parseOptions, readOptions };
