'use strict';

// One row after the other in COPY's binary format (PostgreSQL documentation, "COPY",
// "Binary Format"): each value as its type's receive function reads it. What this
// cannot express, the server reads from text. Used by rows.js.

const { isDate } = require('node:util/types');
const { isBytes, lengthOf, toBytes } = require('../base');
const { defaults } = require('../options');
const { offsetSeconds, prepareValue } = require('../rows');
const { nulError } = require('./text');

/**
 * Writes a value with its length before it.
 * @typedef {(out: BinaryRows, value: any) => boolean} Encoder false: it cannot, and has written nothing
 */

const FIRST_BYTES = 1 << 18;
const SIGNATURE = Buffer.from('PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0', 'latin1');
/** Behind the last row. */
const TRAILER = Buffer.from([0xff, 0xff]);
const NULL_LENGTH = -1;

const TWO_TO_32 = 2 ** 32;
const MAX_FLOAT4 = 3.4028234663852886e38;
/** A character at a time is faster than a call into Node for texts up to this length. */
const SHORT_TEXT = 24;
/** From this length on it is counted what a text takes, instead of reserving the most. */
const LONG_TEXT = 1 << 12;

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
/** Longer numbers are rare, and the server's to read. */
const MAX_DIGITS = 1000;
const NUMERIC_NEGATIVE = 0x4000;

class BinaryRows {
  /** Of the value that is being written. */
  column = 0;
  /** Bytes that were written and not taken. */
  size = 0;
  bytes = Buffer.allocUnsafeSlow(FIRST_BYTES);
  view = new DataView(this.bytes.buffer);
  #encoders;

  /** @param {readonly Encoder[]} encoders for each column */
  constructor(encoders) {
    this.#encoders = encoders;
    this.raw(SIGNATURE);
  }

  /**
   * @param {readonly unknown[]} row with a value for each column
   * @returns {boolean} false: a value cannot be written in this format, and nothing was
   * @throws {TypeError} of a value that PostgreSQL cannot be sent
   */
  add(row) {
    const begun = this.size;
    const encoders = this.#encoders;
    this.reserve(2);
    this.view.setInt16(this.size, encoders.length);
    this.size += 2;
    for (let index = 0; index < encoders.length; ++index) {
      this.column = index;
      const value = row[index];
      if (value === null || value === undefined) this.#null();
      else if (!encoders[index](this, value) && !this.#prepared(encoders[index], value)) {
        this.size = begun;
        return false;
      }
    }
    return true;
  }

  #null() {
    this.reserve(4);
    this.view.setInt32(this.size, NULL_LENGTH);
    this.size += 4;
  }

  /**
   * What a value is as a parameter, if not as it stands.
   * @param {Encoder} encode
   * @param {unknown} value
   */
  #prepared(encode, value) {
    const prepared = prepareValue(value, defaults);
    if (prepared === null) {
      this.#null();
      return true;
    }
    // For any type: a parameter of bytes goes to the type's receive function, too.
    if (typeof prepared === 'object') return writeBytes(this, prepared);
    return prepared !== value && encode(this, prepared);
  }

  /** @param {number} size bytes that are about to be written */
  reserve(size) {
    const needed = this.size + size;
    if (needed <= this.bytes.length) return;
    const { bytes } = this;
    this.bytes = Buffer.allocUnsafeSlow(Math.max(needed, 2 * bytes.length));
    this.view = new DataView(this.bytes.buffer);
    bytes.copy(this.bytes, 0, 0, this.size);
  }

  /**
   * Begins a value.
   * @param {number} length of what follows
   * @returns {number} where it is to be written
   */
  begin(length) {
    this.reserve(4 + length);
    this.view.setInt32(this.size, length);
    const at = this.size + 4;
    this.size = at + length;
    return at;
  }

  /** @param {Uint8Array} bytes */
  raw(bytes) {
    this.reserve(bytes.length);
    this.bytes.set(bytes, this.size);
    this.size += bytes.length;
  }

  /** @param {string} text @param {number} [version] a byte before it */
  text(text, version) {
    const { length } = text;
    const head = version === undefined ? 4 : 5;
    this.reserve(head + (length > LONG_TEXT ? Buffer.byteLength(text) : 3 * length));
    if (version !== undefined) this.bytes[this.size + 4] = version;
    const at = this.size + head;
    const written = length <= SHORT_TEXT ? this.#ascii(text, at) : -1;
    if (written < 0 && text.includes('\0')) throw nulError();
    const end = at + (written < 0 ? this.bytes.write(text, at) : written);
    this.view.setInt32(this.size, end - this.size - 4);
    this.size = end;
  }

  /** @param {string} text @param {number} at @returns {number} its length, -1: it is not ASCII, or has a NUL */
  #ascii(text, at) {
    const { bytes } = this;
    for (let index = 0; index < text.length; ++index) {
      const code = text.charCodeAt(index);
      if (code === 0 || code > 0x7f) return -1;
      bytes[at + index] = code;
    }
    return text.length;
  }

  /** @returns {Buffer} what was written, which is the caller's then */
  take() {
    const taken = this.bytes.subarray(0, this.size);
    this.bytes = Buffer.allocUnsafeSlow(FIRST_BYTES);
    this.view = new DataView(this.bytes.buffer);
    this.size = 0;
    return taken;
  }
}

// --- Numbers --------------------------------------------------------------------

/** @param {any} value @returns {number} NaN: none that is exact */
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
  // As a parameter -0 is "0". The text "-0" is what it says.
  if (typeof value === 'number') return value + 0;
  if (typeof value !== 'string' || value === '' || !DECIMAL.test(value)) return undefined;
  const number = Number(value);
  // Too large or too small is an error of the server's.
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
 * In the middle between two float4: the server reads the shortest text of the double, which lies on
 * one side of it. No other double is that near to where the rounding changes.
 * @param {number} value not too large for a float4
 * @param {number} rounded
 */
function isMidway(value, rounded) {
  const other = value + (value - rounded);
  return rounded !== value && Math.fround(other) === other;
}

/** @type {Encoder} */
function writeFloat4(out, value) {
  // From text the server rounds once, from a double that was a text we would twice.
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
  // So that groups of four meet at the point, and begin and end with one that is not 0.
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
  // Of an invalid date too.
  if (!(millis >= FIRST_MILLIS)) return false;
  const since = millis - EPOCH_MILLIS;
  const micros = since * 1000;
  const at = out.begin(8);
  if (Number.isSafeInteger(micros)) setInt64(out.view, at, micros);
  else out.view.setBigInt64(at, BigInt(since) * 1000n);
  return true;
}

/** @param {Date} date @returns {number} what the clocks on the wall showed, as if in UTC */
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

module.exports = { BinaryRows, TRAILER, findEncoders };
