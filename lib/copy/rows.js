'use strict';

// Rows of JavaScript values into a table, by COPY … FROM STDIN: in the binary format
// as far as the columns' types and the values allow, and in the text format from
// there on. Called by client/streamable.js.

const { finished } = require('node:stream/promises');
const { isDeepStrictEqual } = require('node:util');
const { escapeIdentifier, escapeLiteral, ParameterError } = require('../base');
const { OwnQuery } = require('../connection');
const { OWN_DEFAULTS } = require('../query');
const { Result } = require('../rows');
const { BinaryRows, TRAILER } = require('./binary');
const { findEncoders } = require('./binary-encoders');
const { CopyQuery } = require('./query');
const { TextRows } = require('./text');

/**
 * @typedef {import('./from').CopyFrom} CopyFrom
 * @typedef {import('../query').Query} Query
 *
 * Who has the connection.
 * @typedef {object} Face
 * @property {(query: Query) => void} submit
 * @property {(query: CopyQuery) => CopyFrom} open
 * @property {boolean} isOrdered what is opened is sent when all that was submitted is answered
 *
 * @typedef {object} Column
 * @property {string} name
 * @property {string} type OID
 * @property {boolean} binary whether two COPYs, one of them binary, do what one of text does
 */

/** Bytes that are written together. */
const CHUNK_BYTES = 1 << 17;

/**
 * Two COPYs, the first binary and the second of text, which are one transaction since
 * they are one text: rows that the first cannot take go into the second. Or one, of
 * text, if describe() does not say better.
 */
class CopyRowsQuery extends CopyQuery {
  /** @type {import('./binary-encoders').Encoder[] | undefined} of the binary COPY, if there is one */
  encoders = undefined;
  /** OIDs of the columns' types, where they are known. @type {readonly (number | undefined)[]} */
  columnTypes = [];
  /** @type {readonly Column[]} as they were when the text was made */
  #columns = [];
  #hasBegun = false;
  /** Rows that went before the COPY of text, where the server counts from 1 again. */
  rowsBefore = 0;

  /** @param {string} target @param {readonly string[]} names of the columns */
  constructor(target, names) {
    const list = names.map(escapeIdentifier).join(', ');
    super('in', `copy ${target} (${list}) from stdin`, [], {}, OWN_DEFAULTS);
    this.target = target;
    this.names = names;
  }

  /** @param {readonly Column[]} columns */
  describe(columns) {
    const found = this.names.map((name) => columns.find((column) => column.name === name));
    this.columnTypes = found.map((column) => column && Number(column.type));
    if (found.every((column) => column?.binary)) this.encoders = findEncoders(this.columnTypes);
    if (this.encoders === undefined) return;
    this.#columns = columns;
    // Locked as COPY does it, the table keeps the types that it is seen to have then.
    this.text =
      `lock table only ${this.target} in row exclusive mode; ` +
      `${describeText(this.target, this.names)}; ${this.text} binary; ${this.text}`;
  }

  /** @override */
  copyIn() {
    const isFirst = !this.#hasBegun;
    this.#hasBegun = true;
    // Binary values are not to be read as those of another type.
    if (isFirst && this.encoders !== undefined && !this.#isAsDescribed()) {
      this.refuse('a column was altered while copyRows() began: call it again');
    } else {
      super.copyIn();
    }
  }

  #isAsDescribed() {
    const found = this.results?.at(-1)?.rows;
    return found !== undefined && isDeepStrictEqual(toTypes(found), toTypes(this.#columns));
  }

  /** @override @param {any} error */
  reject(error) {
    if (this.rowsBefore > 0 && typeof error.where === 'string') {
      error.where = error.where.replace(
        /^(COPY .*, line )(\d+)/,
        (/** @type {string[]} */ ...[, copy, line]) => copy + (Number(line) + this.rowsBefore),
      );
    }
    super.reject(error);
  }

  /** @override */
  get value() {
    const value = super.value;
    if (!Array.isArray(value)) return value;
    const [binary, text] = value.slice(-2);
    const sum = new Result();
    sum.command = text.command;
    sum.rowCount = Number(binary.rowCount) + Number(text.rowCount);
    return sum;
  }
}

/** Tells a CopyRowsQuery in the delivery of the answer, before that can be sent. */
class DescribeQuery extends OwnQuery {
  #copy;

  /** @param {CopyRowsQuery} copy */
  constructor(copy) {
    super(describeText(copy.target, copy.names), { prepare: undefined });
    this.#copy = copy;
  }

  /** @override @param {import('../rows').Result} result */
  resolve(result) {
    if (!this.isSettled) this.#copy.describe(result.rows);
    super.resolve(result);
  }

  /** @override @param {any} error of copyRows(), which has sent no COPY then */
  reject(error) {
    if (!this.isSettled) error.outcome = 'not-run';
    super.reject(error);
  }
}

/** @param {readonly Column[]} columns in any order */
function toTypes(columns) {
  return new Map(columns.map(({ name, type, binary }) => [name, { type, binary }]));
}

/** Writes rows to the stream, as fast as it takes them. */
class RowWriter {
  #query;
  #stream;
  #names;
  #types;
  /** @type {BinaryRows | TextRows} */
  #rows;
  #count = 0;

  /**
   * @param {CopyFrom} stream
   * @param {CopyRowsQuery} query that is described
   */
  constructor(stream, query) {
    const { names, columnTypes, encoders } = query;
    this.#query = query;
    this.#stream = stream;
    this.#names = names;
    this.#types = columnTypes;
    this.#rows = encoders === undefined ? new TextRows(columnTypes) : new BinaryRows(encoders);
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
    await this.#endBinary();
    this.#query.rowsBefore = this.#count;
    await this.add(row);
  }

  async #endBinary() {
    const bytes = Buffer.concat([this.#rows.take(), TRAILER]);
    this.#rows = new TextRows(this.#types);
    await this.#stream.nextCopy(bytes);
  }

  /** All rows were added. */
  async end() {
    if (this.#rows instanceof BinaryRows) await this.#endBinary();
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
  await writer.end();
}

/** @param {unknown} name */
function isName(name) {
  return typeof name === 'string' && name !== '' && !name.includes('\0');
}

/**
 * @param {unknown} table
 * @param {unknown} columns
 * @param {any} rows
 * @returns {string} the table's name
 * @throws {ParameterError}
 */
function checkTarget(table, columns, rows) {
  const path = typeof table === 'string' ? table.split('.') : table;
  if (!Array.isArray(path) || path.length < 1 || path.length > 2 || !path.every(isName)) {
    throw new ParameterError(
      "copyRows() needs the name of a table, 'schema.name', or both in an array: ['schema', 'name']; " +
        "where a dot is part of a name, ['the.name']",
    );
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
  return path.map(escapeIdentifier).join('.');
}

/**
 * The types by which values are to be written: of an enum text, of a domain that of
 * its base. Only one COPY, of text, will do for other kinds than tables, with triggers
 * of statements, and for columns that the server would refuse.
 * @param {string} target
 * @param {readonly string[]} names
 */
function describeText(target, names) {
  return `select a.attname::text as name,
  (case t.typtype when 'e' then 25 when 'd' then t.typbasetype else t.oid end)::text as type,
  c.relkind in ('r', 'p') and a.attgenerated = ''
    and pg_catalog.has_table_privilege(c.oid, 'insert')
    and not exists (select from pg_catalog.pg_trigger g where g.tgrelid = c.oid and g.tgtype & 1 = 0)
    as binary
from pg_catalog.pg_class c
  join pg_catalog.pg_attribute a on a.attrelid = c.oid
  join pg_catalog.pg_type t on t.oid = a.atttypid
where c.oid = pg_catalog.to_regclass(${escapeLiteral(target)})
  and a.attname in (${names.map(escapeLiteral).join(', ')})
  and a.attnum > 0 and not a.attisdropped`;
}

/**
 * @param {Face} face
 * @param {unknown} table
 * @param {unknown} columns
 * @param {any} rows arrays of values, in the order of the columns
 * @param {unknown[]} more nothing: a signal that was not heeded would let the rows be stored
 * @returns {Promise<{ rowCount: number }>}
 */
async function copyRows(face, table, columns, rows, ...more) {
  if (more.some((option) => option !== undefined)) {
    throw new ParameterError('copyRows() takes a table, columns and rows, and no options');
  }
  const target = checkTarget(table, columns, rows);
  const names = /** @type {string[]} */ (columns);
  const query = new CopyRowsQuery(target, names);
  const describe = new DescribeQuery(query);
  face.submit(describe);
  if (!face.isOrdered) await describe.promise;
  const stream = face.open(query);
  const done = finished(stream);
  done.catch(() => {});
  try {
    await describe.promise;
    await feed(new RowWriter(stream, query), stream, rows);
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
