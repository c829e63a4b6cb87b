'use strict';

// Rows in COPY's binary format (PostgreSQL documentation, "COPY", "Binary Format"): the buffer that they are written
// to, and the frame around the values. Each value is written by the encoder of its column's type (binary-encoders.js).
// Used by rows.js.

const { defaults } = require('../options');
const { prepareValue } = require('../rows');
const { writeBytes } = require('./binary-encoders');
const { nulError } = require('./text');

/** @typedef {import('./binary-encoders').Encoder} Encoder */

const FIRST_BYTES = 1 << 18;
const SIGNATURE = Buffer.from('PGCOPY\n\xff\r\n\0\0\0\0\0\0\0\0\0', 'latin1');
/** Behind the last row. */
const TRAILER = Buffer.from([0xff, 0xff]);
const NULL_LENGTH = -1;

/** A character at a time is faster than a call into Node for texts up to this length. */
const SHORT_TEXT = 24;
/** Of longer texts the bytes are counted, instead of reserving the most that they may take. */
const LONG_TEXT = 1 << 12;

class BinaryRows {
  /** Of the value that is being written. */
  column = 0;
  /** Bytes that were written and not taken yet. */
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
   * Writes a value in the form that it has as a parameter, where the encoder does not take it as it is.
   * @param {Encoder} encode
   * @param {unknown} value
   */
  #prepared(encode, value) {
    const prepared = prepareValue(value, defaults);
    if (prepared === null) {
      this.#null();
      return true;
    }
    // Of any type: bytes go to the type's receive function, as those of a parameter do.
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

module.exports = { BinaryRows, TRAILER };
