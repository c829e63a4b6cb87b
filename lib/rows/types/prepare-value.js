'use strict';

// Turns a JavaScript value into a query parameter, with the same results as `pg`: text in
// PostgreSQL's input syntax, bytes, or null. Called once for each parameter by query/parameters.js,
// which adds the parameter's index to the errors thrown here. Where `pg` would send text that
// nobody wants (the source of a function, an invalid date), this throws instead.

const { isDate, isMap, isNativeError, isSet } = require('node:util/types');
const { BytesGoneError, isBytes, messageOf, toBytes } = require('../../base');

/** @typedef {{ parseInputDatesAsUTC?: boolean }} PrepareOptions */
/** @typedef {(value: unknown) => Prepared} Prepare */
/** @typedef {string | Buffer | null} Prepared */

/**
 * The objects that are being converted, outermost first. An object that appears in its own
 * conversion would recurse without end.
 * @typedef {object[]} Path
 */

/** The SQLSTATE for the text that `pg` sends for an invalid date, unless it is stored in a text column. */
const INVALID_DATETIME_FORMAT = '22007';

/** A value that cannot be sent. What the caller's own code throws is never one. */
class UnsuitableError extends TypeError {
  /** @param {string} message @param {{ code?: string, cause?: unknown }} [options] */
  constructor(message, { code, ...options } = {}) {
    super(message, options);
    if (code !== undefined) this.code = code;
  }
}

/** What toPostgres() has thrown. */
const thrownByCaller = new WeakSet();

/** @param {unknown} thrown */
function noteThrown(thrown) {
  if (thrown instanceof UnsuitableError || thrown instanceof BytesGoneError) return;
  if (isNativeError(thrown)) thrownByCaller.add(thrown);
}

/**
 * @param {unknown} thrown by prepareValue()
 * @returns {unknown} what the caller's own code has thrown, if that is why
 */
function findThrown(thrown) {
  if (thrown instanceof UnsuitableError) return thrown.cause;
  return isNativeError(thrown) && thrownByCaller.has(thrown) ? thrown : undefined;
}

/** @param {number} value @param {number} [width] */
const pad = (value, width = 2) => String(value).padStart(width, '0');

/**
 * @param {Date} date
 * @returns {number} seconds by which local time was ahead of UTC
 */
function offsetSeconds(date) {
  if (date.getSeconds() === date.getUTCSeconds()) return -60 * date.getTimezoneOffset();
  // Before time zones were introduced: getTimezoneOffset() rounds to minutes.
  const wall = new Date(0);
  wall.setUTCFullYear(date.getFullYear(), date.getMonth(), date.getDate());
  wall.setUTCHours(date.getHours(), date.getMinutes(), date.getSeconds(), date.getMilliseconds());
  return (wall.getTime() - date.getTime()) / 1000;
}

/**
 * @param {Date} date
 * @param {boolean} asUtc
 * @returns {string}
 */
function dateToText(date, asUtc) {
  if (Number.isNaN(date.getTime())) {
    throw new UnsuitableError(
      'an invalid Date cannot be sent as a query parameter: check it with ' +
        'Number.isNaN(date.getTime()) first, or send null',
      { code: INVALID_DATETIME_FORMAT },
    );
  }
  const year = asUtc ? date.getUTCFullYear() : date.getFullYear();
  const month = asUtc ? date.getUTCMonth() : date.getMonth();
  const day = asUtc ? date.getUTCDate() : date.getDate();
  const hours = asUtc ? date.getUTCHours() : date.getHours();
  const minutes = asUtc ? date.getUTCMinutes() : date.getMinutes();
  const seconds = asUtc ? date.getUTCSeconds() : date.getSeconds();
  const millis = asUtc ? date.getUTCMilliseconds() : date.getMilliseconds();
  const offset = asUtc ? 0 : offsetSeconds(date);
  const zone = Math.abs(offset);
  // JavaScript has a year 0; in PostgreSQL 1 AD follows 1 BC.
  const isBeforeChrist = year < 1;
  return (
    `${pad(isBeforeChrist ? 1 - year : year, 4)}-${pad(month + 1)}-${pad(day)}` +
    `T${pad(hours)}:${pad(minutes)}:${pad(seconds)}.${pad(millis, 3)}` +
    `${offset < 0 ? '-' : '+'}${pad(Math.floor(zone / 3600))}:${pad(Math.floor(zone / 60) % 60)}` +
    (zone % 60 === 0 ? '' : `:${pad(zone % 60)}`) +
    (isBeforeChrist ? ' BC' : '')
  );
}

/**
 * @param {object} value
 * @param {Path} path
 * @returns {number} the length to cut the path back to once `value` is done
 */
function enter(value, path) {
  if (path.includes(value)) {
    throw new UnsuitableError(
      `circular reference detected while preparing ${Array.isArray(value) ? 'an array' : 'an object'}` +
        ' for query: it contains itself, or its toPostgres() leads back to it; ' +
        'send a copy without the cycle',
    );
  }
  return path.push(value) - 1;
}

/**
 * @param {unknown[]} array
 * @param {PrepareOptions | undefined} options
 * @param {Path} path
 * @returns {string}
 */
function arrayToText(array, options, path) {
  const depth = enter(array, path);
  let text = '{';
  // By index, since holes are NULL, too.
  for (let index = 0; index < array.length; index += 1) {
    if (index > 0) text += ',';
    const item = array[index];
    // A nested array is not quoted: it is a dimension. What merely converts to an array
    // (toPostgres) is a value.
    text += Array.isArray(item)
      ? arrayToText(item, options, path)
      : elementToText(item, options, path);
  }
  path.length = depth;
  return `${text}}`;
}

/**
 * @param {unknown} item
 * @param {PrepareOptions | undefined} options
 * @param {Path} path
 * @returns {string}
 */
function elementToText(item, options, path) {
  const prepared = prepare(item, options, path);
  if (prepared === null) return 'NULL';
  if (typeof prepared !== 'string') return `\\\\x${prepared.toString('hex')}`;
  return `"${prepared.replace(/[\\"]/g, '\\$&')}"`;
}

/**
 * JSON.stringify() makes `{}` of these, whatever is in them, and that would be stored.
 * @param {object} value
 * @throws {UnsuitableError}
 */
function checkHasJson(value) {
  const { then, toJSON } = /** @type {{ then?: unknown, toJSON?: unknown }} */ (value);
  if (typeof toJSON === 'function') return;
  if (typeof then === 'function') {
    throw new UnsuitableError('a promise cannot be sent as a query parameter: await it first');
  }
  if (isMap(value)) {
    throw new UnsuitableError(
      'a Map cannot be sent as a query parameter, since JSON has none: send Object.fromEntries(map)',
    );
  }
  if (isSet(value)) {
    throw new UnsuitableError('a Set cannot be sent as a query parameter: send an array, [...set]');
  }
}

/**
 * @param {object} value
 * @returns {string}
 */
function objectToJson(value) {
  checkHasJson(value);
  let text;
  try {
    text = JSON.stringify(value);
  } catch (error) {
    throw new UnsuitableError(
      `an object cannot be sent as a query parameter: JSON.stringify failed (${messageOf(
        error,
      )}); send JSON text of your own, or give the object a toJSON() or toPostgres() method`,
      { cause: error },
    );
  }
  if (text === undefined) {
    throw new UnsuitableError(
      'an object cannot be sent as a query parameter: its toJSON() returned nothing that JSON has; ' +
        'return a value from it, or send null',
    );
  }
  return text;
}

/**
 * @param {unknown} value
 * @param {PrepareOptions | undefined} options
 * @param {Path} path
 * @returns {Prepared}
 */
function prepare(value, options, path) {
  switch (typeof value) {
    case 'string':
      return value;
    case 'number':
    case 'boolean':
    case 'bigint':
      return String(value);
    case 'undefined':
      return null;
    case 'function':
      throw new UnsuitableError(
        'a function cannot be sent as a query parameter: call it and send what it returns',
      );
    case 'symbol':
      throw new UnsuitableError(
        'a symbol cannot be sent as a query parameter: send its description, a string',
      );
    default:
  }
  if (value === null || typeof value !== 'object') return null;
  if (isBytes(value)) return toBytes(value);
  if (isDate(value)) return dateToText(value, Boolean(options?.parseInputDatesAsUTC));
  if (Array.isArray(value)) return arrayToText(value, options, path);
  const { toPostgres } = /** @type {{ toPostgres?: (prepare: Prepare) => unknown }} */ (value);
  if (typeof toPostgres !== 'function') return objectToJson(value);
  const depth = enter(value, path);
  const prepareInner = (/** @type {unknown} */ part) => {
    // The conversion of an earlier part may have thrown, and toPostgres() may have caught that.
    path.length = depth + 1;
    return prepare(part, options, path);
  };
  let inner;
  try {
    inner = toPostgres.call(value, prepareInner);
  } catch (thrown) {
    noteThrown(thrown);
    throw thrown;
  }
  path.length = depth + 1;
  const prepared = prepare(inner, options, path);
  path.length = depth;
  return prepared;
}

/**
 * Throws an UnsuitableError, a TypeError, for a value that cannot be sent to PostgreSQL. An object's own
 * toPostgres(prepare) decides about it; `prepare` is this function with the same options.
 * @param {unknown} value
 * @param {PrepareOptions} [options]
 * @returns {Prepared}
 */
function prepareValue(value, options) {
  // Most parameters are strings and numbers, which need no path.
  if (typeof value === 'string') return value;
  if (typeof value === 'number') return String(value);
  return prepare(value, options, []);
}

module.exports = { findThrown, offsetSeconds, prepareValue, UnsuitableError };
