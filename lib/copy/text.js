'use strict';

// One row after the other in COPY's text format (PostgreSQL documentation, "COPY",
// "Text Format"), which takes any value. Used by rows.js.

const { TextDecoder } = require('node:util');
const { defaults } = require('../options');
const { prepareValue } = require('../rows');

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

const BYTEA = 17;
/** Their bytes are their text: text, json, char(n), varchar. */
const OF_TEXT = new Set([25, 114, 1042, 1043]);
const utf8 = new TextDecoder('utf-8', { fatal: true, ignoreBOM: true });

/**
 * As a parameter they go to the type's receive function, which this format has no way to.
 * @param {Buffer} bytes
 * @param {number | undefined} type OID of the column's, undefined: not known
 * @throws {TypeError}
 */
function encodeBytes(bytes, type) {
  if (type === BYTEA || type === undefined) return `\\\\x${bytes.toString('hex')}`;
  if (!OF_TEXT.has(type)) {
    throw new TypeError(
      'bytes cannot be stored in a column of this type among values that the server has to read ' +
        'as text: give a value that the type has as text, or call copyRows() for each kind of rows',
    );
  }
  return escape(utf8.decode(bytes));
}

/** @param {unknown} value @param {number | undefined} type */
function encode(value, type) {
  if (typeof value === 'string') return escape(value);
  if (typeof value === 'number') return String(value);
  const prepared = prepareValue(value, defaults);
  if (prepared === null) return '\\N';
  return typeof prepared === 'string' ? escape(prepared) : encodeBytes(prepared, type);
}

class TextRows {
  /** Of the value that is being written. */
  column = 0;
  #text = '';
  #types;

  /** @param {readonly (number | undefined)[]} types OIDs of the columns, where they are known */
  constructor(types) {
    this.#types = types;
  }

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
    const types = this.#types;
    let text = encode(row[0], types[0]);
    for (let index = 1; index < row.length; ++index) {
      this.column = index;
      text += `\t${encode(row[index], types[index])}`;
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
