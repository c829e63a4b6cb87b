'use strict';

// One row after the other in COPY's text format (PostgreSQL documentation, "COPY",
// "Text Format"), which takes any value. Used by copy-rows.js.

const { defaults } = require('./pg/defaults');
const { prepareValue } = require('./types/prepare-value');

/** What the format gives a meaning to, and NUL, which no text can hold. */
const SPECIAL = /[\\\n\r\t\0]/;
/** @type {Record<string, string>} */
const ESCAPES = { '\\': '\\\\', '\n': '\\n', '\r': '\\r', '\t': '\\t' };

function nulError() {
  return new TypeError("it contains a NUL character (\\0), which PostgreSQL's text cannot hold");
}

/** @param {string} text */
function escape(text) {
  if (!SPECIAL.test(text)) return text;
  if (text.includes('\0')) throw nulError();
  return text.replace(/[\\\n\r\t]/g, (character) => ESCAPES[character]);
}

/** @param {unknown} value */
function encode(value) {
  if (typeof value === 'string') return escape(value);
  if (typeof value === 'number') return String(value);
  const prepared = prepareValue(value, defaults);
  if (prepared === null) return '\\N';
  return typeof prepared === 'string' ? escape(prepared) : `\\\\x${prepared.toString('hex')}`;
}

class TextRows {
  /** Of the value that is being written. */
  column = 0;
  #text = '';

  /** What add() has written and take() not fetched, in bytes or nearly so. */
  get size() {
    return this.#text.length;
  }

  /**
   * @param {readonly unknown[]} row with a value for each column
   * @returns {boolean} true: there is no row that cannot be written
   * @throws {TypeError} of a value that PostgreSQL cannot be sent
   */
  add(row) {
    this.column = 0;
    let text = encode(row[0]);
    for (let index = 1; index < row.length; ++index) {
      this.column = index;
      text += `\t${encode(row[index])}`;
    }
    this.#text += `${text}\n`;
    return true;
  }

  /** @returns {Buffer} */
  take() {
    const bytes = Buffer.from(this.#text);
    this.#text = '';
    return bytes;
  }
}

module.exports = { TextRows, nulError };
