'use strict';

// JavaScript values in the binary form of a type, as the type's receive function reads them, each by an encoder for
// that type. A value that an encoder does not take, the server has to read from text. Used by binary.js and rows.js.

const { isDate } = require('node:util/types');
const { isBytes, lengthOf, toBytes } = require('../base');
const { defaults } = require('../options');
const { offsetSeconds } = require('../rows');

/**
 * @typedef {import('./binary').BinaryRows} BinaryRows
 *
 * Writes a value with its length before it.
 * @typedef {(out: BinaryRows, value: any) => boolean} Encoder false: it cannot, and has written nothing
 */

const TWO_TO_32 = 2 ** 32;
const MAX_FLOAT4 = 3.4028234663852886e38;

/** PostgreSQL counts from 2000, in microseconds or days. */
const EPOCH_MILLIS = 946684800000;
const EPOCH_DAYS = 10957;
const DAY_MILLIS = 86400000;
/** 24 November 4714 BC, with which PostgreSQL's dates begin. */
const FIRST_MILLIS = -210866803200000;

const WHOLE = /^-?\d{1,15}$/;
const LONG_WHOLE = /^-?\d{1,20}$/;
const DECIMAL = /^([+-]?)(\d*)(?:\.(\d*))?(?:[eE]([+-]?\d{1,4}))?$/;
const UUID = /^[\da-f]{8}-(?:[\da-f]{4}-){3}[\da-f]{12}$/i;
/** Longer numbers are rare: the server reads them from text. */
const MAX_DIGITS = 1000;
const NUMERIC_NEGATIVE = 0x4000;

// --- Numbers --------------------------------------------------------------------

/** @param {any} value @returns {number} NaN: it is not a whole number that is exact */
function toWhole(value) {
  if (typeof value === 'number') return Number.isSafeInteger(value) ? value : NaN;
  if (typeof value === 'string') return WHOLE.test(value) ? Number(value) : NaN;
  return NaN;
}

/** @param {number} size bytes @param {number} least @param {number} most @returns {Encoder} */
function integerWriter(size, least, most) {
  const write = size === 2 ? 'setInt16' : least < 0 ? 'setInt32' : 'setUint32';
  return (out, value) => {
    const number = toWhole(typeof value === 'bigint' ? Number(value) : value);
    if (!(number >= least && number <= most)) return false;
    const at = out.begin(size);
    out.view[write](at, number);
    return true;
  };
}

/** @param {DataView} view @param {number} at @param {number} value a safe integer */
function setInt64(view, at, value) {
  const high = Math.floor(value / TWO_TO_32);
  view.setInt32(at, high);
  view.setUint32(at + 4, value - high * TWO_TO_32);
}

/** @type {Encoder} */
function writeInt8(out, value) {
  const number = toWhole(value);
  if (!Number.isNaN(number)) {
    const at = out.begin(8);
    setInt64(out.view, at, number);
    return true;
  }
  if (typeof value === 'string' && LONG_WHOLE.test(value)) value = BigInt(value);
  if (typeof value !== 'bigint' || BigInt.asIntN(64, value) !== value) return false;
  const at = out.begin(8);
  out.view.setBigInt64(at, value);
  return true;
}

/** @param {any} value @returns {number | undefined} undefined: the server has to read it */
function toFloat(value) {
  // The number -0 is sent as "0", as a parameter is; the text "-0" stays -0.
  if (typeof value === 'number') return value + 0;
  if (typeof value !== 'string' || value === '' || !DECIMAL.test(value)) return undefined;
  const number = Number(value);
  // Numbers out of range are left to the server, which reports them.
  const isInRange = Number.isFinite(number) && (number !== 0 || !/[1-9]/.test(value));
  return isInRange ? number : undefined;
}

/** @type {Encoder} */
function writeFloat8(out, value) {
  const number = toFloat(value);
  if (number === undefined) return false;
  const at = out.begin(8);
  out.view.setFloat64(at, number);
  return true;
}

/**
 * Whether it lies in the middle between two float4. The server would read the shortest text of the double, which may lie
 * on one side of the middle; no other double is so near to where the rounding changes.
 * @param {number} value not too large for a float4
 * @param {number} rounded
 */
function isMidway(value, rounded) {
  const other = value + (value - rounded);
  return rounded !== value && Math.fround(other) === other;
}

/** @type {Encoder} */
function writeFloat4(out, value) {
  // The server rounds a text once, to float4. Read as a double here, it would be rounded twice.
  if (typeof value !== 'number') return false;
  if (Number.isFinite(value)) {
    const rounded = Math.fround(value);
    const isOutOfRange = Math.abs(value) > MAX_FLOAT4 || (rounded === 0 && value !== 0);
    if (isOutOfRange || isMidway(value, rounded)) return false;
  }
  const at = out.begin(4);
  out.view.setFloat32(at, value + 0);
  return true;
}

/**
 * Digits to the base of 10000, the weight of the first one, the digits behind the
 * point (PostgreSQL's numeric_recv()).
 * @type {Encoder}
 */
function writeNumeric(out, value) {
  if (typeof value === 'number' || typeof value === 'bigint') value = String(value);
  const match = typeof value === 'string' ? DECIMAL.exec(value) : null;
  if (match === null) return false;
  const [, sign, before, behind = '', exponent = '0'] = match;
  if (before === '' && behind === '') return false;
  let digits = before + behind;
  let point = before.length + Number(exponent);
  if (Math.abs(point) > MAX_DIGITS || digits.length > MAX_DIGITS) return false;
  if (point < 0) {
    digits = '0'.repeat(-point) + digits;
    point = 0;
  }
  digits = digits.padEnd(point, '0');
  const scale = digits.length - point;
  // Groups of four digits that meet at the point; the first and the last group are not 0.
  const lead = (4 - (point % 4)) % 4;
  digits = '0'.repeat(lead) + digits;
  digits = digits.padEnd(Math.ceil(digits.length / 4) * 4, '0');
  let first = 0;
  let last = digits.length;
  while (first < last && digits.startsWith('0000', first)) first += 4;
  while (last > first && digits.startsWith('0000', last - 4)) last -= 4;
  const count = (last - first) / 4;
  const weight = count === 0 ? 0 : (point + lead - first) / 4 - 1;
  let at = out.begin(8 + 2 * count);
  const { view } = out;
  view.setInt16(at, count);
  view.setInt16(at + 2, weight);
  view.setUint16(at + 4, sign === '-' && count > 0 ? NUMERIC_NEGATIVE : 0);
  view.setUint16(at + 6, scale);
  at += 8;
  for (; first < last; first += 4, at += 2) {
    view.setInt16(at, Number(digits.slice(first, first + 4)));
  }
  return true;
}

// --- Times ----------------------------------------------------------------------

/** @param {BinaryRows} out @param {number} millis since 1970 @returns {boolean} */
function putMicros(out, millis) {
  // An invalid date is NaN here.
  if (!(millis >= FIRST_MILLIS)) return false;
  const since = millis - EPOCH_MILLIS;
  const micros = since * 1000;
  const at = out.begin(8);
  if (Number.isSafeInteger(micros)) setInt64(out.view, at, micros);
  else out.view.setBigInt64(at, BigInt(since) * 1000n);
  return true;
}

/** @param {Date} date @returns {number} its local time, as if that were UTC */
function wallMillis(date) {
  if (defaults.parseInputDatesAsUTC) return date.getTime();
  return date.getTime() + offsetSeconds(date) * 1000;
}

/** @type {Encoder} */
function writeTimestamptz(out, value) {
  return isDate(value) && putMicros(out, value.getTime());
}

/** @type {Encoder} */
function writeTimestamp(out, value) {
  return isDate(value) && putMicros(out, wallMillis(value));
}

/** @type {Encoder} */
function writeDate(out, value) {
  const millis = isDate(value) ? wallMillis(value) : NaN;
  if (!(millis >= FIRST_MILLIS)) return false;
  const at = out.begin(4);
  out.view.setInt32(at, Math.floor(millis / DAY_MILLIS) - EPOCH_DAYS);
  return true;
}

// --- The rest -------------------------------------------------------------------

/** @type {Encoder} */
function writeBool(out, value) {
  if (value === 'true' || value === 't') value = true;
  else if (value === 'false' || value === 'f') value = false;
  if (typeof value !== 'boolean') return false;
  const at = out.begin(1);
  out.bytes[at] = value ? 1 : 0;
  return true;
}

/** @type {Encoder} */
function writeText(out, value) {
  if (typeof value === 'number') value = String(value);
  if (typeof value !== 'string') return false;
  out.text(value);
  return true;
}

const JSONB_VERSION = 1;

/** @type {Encoder} */
function writeJsonb(out, value) {
  if (typeof value !== 'string') return false;
  out.text(value, JSONB_VERSION);
  return true;
}

/** @type {Encoder} */
function writeBytes(out, value) {
  if (!isBytes(value)) return false;
  const bytes = toBytes(value);
  const at = out.begin(lengthOf(bytes));
  out.bytes.set(bytes, at);
  return true;
}

/** @type {Encoder} */
function writeUuid(out, value) {
  if (typeof value !== 'string' || !UUID.test(value)) return false;
  const at = out.begin(16);
  out.bytes.write(value.replaceAll('-', ''), at, 'hex');
  return true;
}

/** By the OIDs of their types (PostgreSQL's pg_type.dat). @type {ReadonlyMap<number, Encoder>} */
const encoders = new Map([
  [16, writeBool],
  [17, writeBytes],
  [20, writeInt8],
  [21, integerWriter(2, -(2 ** 15), 2 ** 15 - 1)],
  [23, integerWriter(4, -(2 ** 31), 2 ** 31 - 1)],
  [25, writeText],
  [26, integerWriter(4, 0, TWO_TO_32 - 1)],
  [114, writeText], // json
  [700, writeFloat4],
  [701, writeFloat8],
  [1042, writeText], // char(n)
  [1043, writeText], // varchar
  [1082, writeDate],
  [1114, writeTimestamp],
  [1184, writeTimestamptz],
  [1700, writeNumeric],
  [2950, writeUuid],
  [3802, writeJsonb],
]);

/**
 * @param {readonly (number | undefined)[]} types OIDs
 * @returns {Encoder[] | undefined} undefined: one of them has no binary form here
 */
function findEncoders(types) {
  const found = types.map((type) => encoders.get(Number(type)));
  return found.every((encoder) => encoder !== undefined)
    ? /** @type {Encoder[]} */ (found)
    : undefined;
}

module.exports = { findEncoders, writeBytes };
