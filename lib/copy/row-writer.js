'use strict';

// Writes rows to the stream of a COPY: in the binary format from the first row on, if that may be, and as text from the
// first one on that it does not take. Used by rows.js.

const { ParameterError } = require('../base');
const { BinaryRows, TRAILER } = require('./binary');
const { TextRows } = require('./text');

/** @typedef {import('./from').CopyFrom} CopyFrom */

/** Bytes that are written together. */
const CHUNK_BYTES = 1 << 17;

/** Writes rows to the stream, as fast as it takes them. */
class RowWriter {
  #role;
  #stream;
  #names;
  #types;
  /** @type {BinaryRows | TextRows} */
  #rows;
  #count = 0;

  /**
   * @param {CopyFrom} stream
   * @param {import('./rows-role').CopyRowsRole} role
   * @param {import('./rows-role').Format} format
   */
  constructor(stream, role, { types, encoders }) {
    this.#role = role;
    this.#stream = stream;
    this.#names = role.names;
    this.#types = types;
    this.#rows = encoders === undefined ? new TextRows(types) : new BinaryRows(encoders);
  }

  /**
   * @param {any} row
   * @returns {Promise<void> | undefined} when there may be more, if not now
   * @throws {ParameterError}
   */
  add(row) {
    const { length } = this.#names;
    if (!Array.isArray(row) || row.length !== length) {
      const what = Array.isArray(row) ? `it has ${row.length}` : 'it is not an array';
      throw new ParameterError(
        `row ${this.#count} must have ${length} values, one for each column: ${what}`,
      );
    }
    if (!this.#write(row)) return this.#goOnAsText(row);
    ++this.#count;
    return this.#rows.size >= CHUNK_BYTES && !this.#flush() ? this.#drain() : undefined;
  }

  /** @param {readonly unknown[]} row */
  #write(row) {
    try {
      return this.#rows.add(row);
    } catch (error) {
      throw new ParameterError(
        `row ${this.#count}, column "${this.#names[this.#rows.column]}": ${error instanceof Error ? error.message : String(error)}`,
        { cause: error },
      );
    }
  }

  /** @param {readonly unknown[]} row that the binary format does not take */
  async #goOnAsText(row) {
    const bytes = this.#takeBinary();
    this.#rows = new TextRows(this.#types);
    this.#role.rowsBefore = this.#count;
    this.#role.wantsText = true;
    await this.#stream.nextCopy(bytes);
    await this.add(row);
  }

  #takeBinary() {
    return Buffer.concat([this.#rows.take(), TRAILER]);
  }

  /** All rows were added. */
  end() {
    if (this.#rows instanceof BinaryRows) this.#stream.write(this.#takeBinary());
    else this.#flush();
  }

  /** @returns {boolean} whether more may be written at once */
  #flush() {
    return this.#rows.size === 0 || this.#stream.write(this.#rows.take());
  }

  /** @returns {Promise<void>} more may be written, or nothing any more */
  #drain() {
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
 * @param {RowWriter} writer
 * @param {CopyFrom} stream
 * @param {any} rows
 */
async function feed(writer, stream, rows) {
  // An array would be slow with for await.
  if (typeof rows[Symbol.asyncIterator] === 'function') {
    for await (const row of rows) {
      const wait = writer.add(row);
      if (wait !== undefined) await wait;
      if (stream.destroyed) return;
    }
  } else {
    for (const row of rows) {
      const wait = writer.add(row);
      if (wait !== undefined) await wait;
      if (stream.destroyed) return;
    }
  }
  writer.end();
}

module.exports = { RowWriter, feed };
