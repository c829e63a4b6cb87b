'use strict';

// Rows of JavaScript values into a table, by COPY … FROM STDIN in its text format
// (PostgreSQL documentation, "COPY", "Text Format"). Called by client.js and pool.js.

const { finished } = require('node:stream/promises');
const { ParameterError } = require('./errors');
const { escapeIdentifier } = require('./escape');
const { prepareValue } = require('./types/prepare-value');

/** @typedef {import('./copy').CopyFrom} CopyFrom */

/** Characters that are written together. */
const CHUNK_LENGTH = 1 << 17;

/** What the format gives a meaning to, and NUL, which no text can hold. */
const SPECIAL = /[\\\n\r\t\0]/;
/** @type {Record<string, string>} */
const ESCAPES = { '\\': '\\\\', '\n': '\\n', '\r': '\\r', '\t': '\\t' };

/** @param {string} text */
function escape(text) {
  if (!SPECIAL.test(text)) return text;
  if (text.includes('\0')) {
    throw new TypeError("it contains a NUL character (\\0), which PostgreSQL's text cannot hold");
  }
  return text.replace(/[\\\n\r\t]/g, (character) => ESCAPES[character]);
}

/** @param {unknown} value */
function encode(value) {
  if (typeof value === 'string') return escape(value);
  if (typeof value === 'number') return String(value);
  const prepared = prepareValue(value);
  if (prepared === null) return '\\N';
  return typeof prepared === 'string' ? escape(prepared) : `\\\\x${prepared.toString('hex')}`;
}

/** Writes rows to the stream, as fast as it takes them. */
class Encoder {
  #stream;
  #columns;
  #text = '';
  #count = 0;

  /** @param {CopyFrom} stream @param {readonly string[]} columns */
  constructor(stream, columns) {
    this.#stream = stream;
    this.#columns = columns;
  }

  /**
   * @param {any} row
   * @returns {boolean} whether it is time for drain()
   * @throws {ParameterError}
   */
  add(row) {
    const { length } = this.#columns;
    if (!Array.isArray(row) || row.length !== length) {
      const what = Array.isArray(row) ? `has ${row.length} values` : 'is no array';
      throw new ParameterError(`row ${this.#count} ${what}: it takes ${length}, one a column`);
    }
    let index = 0;
    try {
      this.#text += encode(row[0]);
      for (index = 1; index < length; ++index) this.#text += `\t${encode(row[index])}`;
    } catch (error) {
      throw new ParameterError(
        `row ${this.#count}, column "${this.#columns[index]}": ${error instanceof Error ? error.message : String(error)}`,
        { cause: error },
      );
    }
    this.#text += '\n';
    ++this.#count;
    return this.#text.length >= CHUNK_LENGTH && !this.flush();
  }

  /** @returns {boolean} whether more may be written at once */
  flush() {
    const bytes = Buffer.from(this.#text);
    this.#text = '';
    return bytes.length === 0 || this.#stream.write(bytes);
  }

  /** @returns {Promise<void>} more may be written, or nothing any more */
  drain() {
    const stream = this.#stream;
    return new Promise((resolve) => {
      if (stream.destroyed) {
        resolve();
        return;
      }
      const done = () => {
        stream.off('drain', done);
        stream.off('close', done);
        resolve();
      };
      stream.on('drain', done);
      stream.on('close', done);
    });
  }
}

/**
 * @param {Encoder} encoder
 * @param {CopyFrom} stream
 * @param {any} rows
 */
async function feed(encoder, stream, rows) {
  // An array would be slow with for await.
  if (typeof rows[Symbol.asyncIterator] === 'function') {
    for await (const row of rows) {
      if (encoder.add(row)) await encoder.drain();
      if (stream.destroyed) return;
    }
  } else {
    for (const row of rows) {
      if (encoder.add(row)) await encoder.drain();
      if (stream.destroyed) return;
    }
  }
  encoder.flush();
}

/** @param {unknown} name */
function isName(name) {
  return typeof name === 'string' && name !== '' && !name.includes('\0');
}

/**
 * @param {unknown} table
 * @param {unknown} columns
 * @param {any} rows
 * @returns {string}
 * @throws {ParameterError}
 */
function copyText(table, columns, rows) {
  const path = Array.isArray(table) ? table : [table];
  if (path.length < 1 || path.length > 2 || !path.every(isName)) {
    throw new ParameterError("copyRows() needs the name of a table, or ['schema', 'name']");
  }
  if (!Array.isArray(columns) || columns.length === 0 || !columns.every(isName)) {
    throw new ParameterError('copyRows() needs the names of the columns, one or more, as an array');
  }
  const isIterable =
    typeof rows === 'object' &&
    rows !== null &&
    (typeof rows[Symbol.asyncIterator] === 'function' ||
      typeof rows[Symbol.iterator] === 'function');
  if (!isIterable) {
    throw new ParameterError('copyRows() needs an iterable of rows, each an array of values');
  }
  const target = path.map(escapeIdentifier).join('.');
  return `copy ${target} (${columns.map(escapeIdentifier).join(', ')}) from stdin`;
}

/**
 * @param {(text: string) => CopyFrom} open
 * @param {unknown} table
 * @param {unknown} columns
 * @param {any} rows arrays of values, in the order of the columns
 * @returns {Promise<{ rowCount: number }>}
 */
async function copyRows(open, table, columns, rows) {
  const text = copyText(table, columns, rows);
  const stream = open(text);
  const done = finished(stream);
  done.catch(() => {});
  try {
    await feed(new Encoder(stream, /** @type {string[]} */ (columns)), stream, rows);
  } catch (error) {
    // The server is told to fail, and has done so when the stream is closed.
    stream.destroy(error instanceof Error ? error : new Error('the rows have failed'));
    await done.catch(() => {});
    throw error;
  }
  if (!stream.destroyed) stream.end();
  await done;
  return { rowCount: /** @type {number} */ (stream.rowCount) };
}

module.exports = { copyRows };
