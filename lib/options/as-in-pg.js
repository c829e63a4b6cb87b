'use strict';

// Values of the options of `pg` that are not of the type that their option has, as environments and configuration files
// give them: what `pg` takes is taken, with the meaning that it has there, and a process warning tells what that
// is. Refused is what could only do harm ('5s' is 5 ms to `pg`). Used by options.js and settings.js.

const { refuse } = require('./checks');

/** @typedef {import('./checks').Check} Check */

const MAX_INTEGER = 2 ** 31 - 1;

/** Options that were told of. @type {Set<string>} */
const told = new Set();

/**
 * Texts are not shown: they may be passwords.
 * @param {string} name
 * @param {unknown} value
 * @param {string} meaning
 */
function warnOfValue(name, value, meaning) {
  if (told.has(name)) return;
  told.add(name);
  let shown = typeof value === 'object' ? 'an object' : String(value);
  if (typeof value === 'string') shown = value === '' ? "''" : 'a string';
  // What stands there may be one in any type.
  if (name === 'password') shown = `a ${typeof value}`;
  process.emitWarning(`option "${name}" is ${shown}: ${meaning}`, {
    type: 'OptionWarning',
    code: 'PG_CONDUIT_OPTION_VALUE',
  });
}

/**
 * Options whose value `pg` does not see where it is false to JavaScript. Environment and `defaults` count then.
 */
const TEXTS = [
  ...['host', 'port', 'user', 'database', 'password', 'options', 'sslnegotiation'],
  ...['application_name', 'fallback_application_name', 'client_encoding', 'connectionString'],
];

/**
 * @param {Record<string, any>} options of the user
 * @returns {Record<string, any>} the same without those that count as left out
 */
function leaveOutFalsy(options) {
  for (const name of TEXTS) {
    const value = options[name];
    if (value || value === undefined) continue;
    // An empty variable, and `Number(undefined)` of one that is not there, are everyday.
    const isUsual = value === null || value === '' || Number.isNaN(value);
    if (!isUsual) warnOfValue(name, value, 'it counts as left out');
    delete options[name];
  }
  const { ssl, idleTimeoutMillis, max, poolSize } = options;
  if (!max && poolSize) delete options.max;
  if (!ssl && ![undefined, null, false].includes(ssl)) {
    warnOfValue('ssl', ssl, 'it counts as false: the connection is not encrypted');
    options.ssl = false;
  }
  if (idleTimeoutMillis === null) {
    warnOfValue('idleTimeoutMillis', null, 'it counts as 0');
    options.idleTimeoutMillis = 0;
  }
  return options;
}

/**
 * @typedef {object} Meaning
 * @property {number} [minimum] of numbers that are taken as they are
 * @property {number} [maximum]
 * @property {number} [empty] what '', NaN, false and 0 stand for
 * @property {number} [infinite] what Infinity stands for; without it that is refused
 * @property {number} [low] what numbers below the minimum stand for; without it these are refused
 * @property {(value: number) => number} [round]
 */

/** @param {Meaning} meaning @returns {Check} */
function number({ minimum = 0, maximum = MAX_INTEGER, empty = 0, infinite, low, round }) {
  /** @param {number} given @returns {number | undefined} */
  const toRange = (given) => {
    if (!given) return empty;
    if (given === Infinity) return infinite;
    const rounded = round === undefined ? given : round(given);
    if (rounded < minimum) return low;
    if (rounded > maximum) return infinite === undefined ? undefined : maximum;
    return rounded;
  };
  const wanted = `a ${round === undefined ? '' : 'whole '}number from ${minimum} to ${maximum}`;
  return (value, name) => {
    const isText = typeof value === 'string' && value.trim() !== '';
    const given = isText ? Number(value) : value || 0;
    const isNumber = typeof given === 'number' && !Number.isNaN(given);
    const taken = isNumber ? toRange(given) : undefined;
    if (taken === undefined) return refuse(name, wanted, value);
    const isTold = taken !== given || (!isText && value !== given);
    // Nobody says false and means a number.
    if (isTold && (value !== false || taken !== 0)) {
      const shown = taken === Infinity ? 'no limit' : taken;
      warnOfValue(name, value, `it counts as ${shown}`);
    }
    return taken;
  };
}

/** @type {Check} anything that there may be in a configuration, by its truth */
function flag(value, name) {
  if (typeof value === 'symbol') refuse(name, 'true or false', value);
  const taken = Boolean(value);
  if (typeof value !== 'boolean') {
    warnOfValue(name, value, `it counts as ${taken}, as in pg; give true or false`);
  }
  return taken;
}

/** @param {Check} check @returns {Check} for whom false, 0, '' and NaN mean the default */
function unlessFalsy(check) {
  return (value, name) => (value ? check(value, name) : undefined);
}

/** @param {number} millis */
const toTimer = (millis) => (millis > 0 ? Math.max(1, Math.floor(millis)) : millis);

/** @type {Check} ms until something is given up */
const timeLimit = number({ infinite: 0, round: toTimer });

/** @type {Check} ms after which a connection is closed: a timer's, to which what is negative is 1 */
const idleLimit = number({ infinite: 0, low: 1, round: toTimer });

const wholeMillis = number({ round: Math.floor });

/** @type {Check} ms of a setting of the server's */
function serverMillis(value, name) {
  const text = typeof value === 'string' ? /^\s*([\d.]+)\s*ms\s*$/.exec(value)?.[1] : undefined;
  return wholeMillis(text ?? value, name);
}

/** @param {number} standard @returns {Check} what is no number means the default */
function numberElse(standard) {
  const check = number({ round: Math.floor });
  return (value, name) => {
    if (typeof value === 'symbol') refuse(name, 'a number', value);
    const given = value === '' || typeof value === 'boolean' ? NaN : Number(value);
    if (Number.isFinite(given)) return check(given, name);
    warnOfValue(name, value, `it counts as ${standard}`);
    return standard;
  };
}

module.exports = {
  flag,
  idleLimit,
  leaveOutFalsy,
  number,
  numberElse,
  serverMillis,
  timeLimit,
  unlessFalsy,
  warnOfValue,
};
