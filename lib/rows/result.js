'use strict';

// What a query resolves to, with the properties of `pg`'s Result, and the methods by which
// receivers of the protocol's messages (pg-cursor, `pg`'s Query) fill it themselves. Made by
// query/query.js and pg/query.js.

const { types } = require('./types');

/**
 * One column of a result, as the server describes it (PostgreSQL documentation,
 * "Message Formats", RowDescription). Frozen: all results of a statement share it.
 */
class Field {
  /**
   * @param {string} name
   * @param {number} tableID oid of the table, 0 when it is not a table's column
   * @param {number} columnID attribute number of the column, or 0
   * @param {number} dataTypeID oid of the type
   * @param {number} dataTypeSize bytes, negative for variable width
   * @param {number} dataTypeModifier
   */
  constructor(name, tableID, columnID, dataTypeID, dataTypeSize, dataTypeModifier) {
    this.name = name;
    this.tableID = tableID;
    this.columnID = columnID;
    this.dataTypeID = dataTypeID;
    this.dataTypeSize = dataTypeSize;
    this.dataTypeModifier = dataTypeModifier;
    /** What parsers get. In which format the value was sent is internal. */
    this.format = 'text';
    Object.freeze(this);
  }
}

/** As `pg` reads a command tag: a word, then "oid rows" or "rows". */
const TAG = /^([A-Za-z]+)(?: (\d+))?(?: (\d+))?/;

/** For a Result that is filled by messages: the parsers by column. They come from `_types`. */
const PARSERS = Symbol('parsers');

/** @typedef {(value: any) => any} Parser */

class Result {
  /**
   * @param {'array' | boolean | null} [rowMode] whether rows are arrays
   * @param {{ getTypeParser: (oid: number, format?: any) => Parser }} [parserSource] for
   *   addFields()
   */
  constructor(rowMode, parserSource) {
    /** @type {string | null} first word of the command tag */
    this.command = null;
    /** @type {number | null} rows that the command tag counts */
    this.rowCount = null;
    /** @type {number | null} 0 after INSERT, else null */
    this.oid = null;
    /** @type {any[]} */
    this.rows = [];
    /** @type {Field[]} */
    this.fields = [];
    this.rowAsArray = rowMode === true || rowMode === 'array';
    if (parserSource !== undefined) hide(this, '_types', parserSource);
  }

  /** @param {readonly Field[]} fields of a RowDescription */
  addFields(fields) {
    this.fields = fields.slice();
    const source = /** @type {any} */ (this)._types ?? types;
    const parsers = fields.map(({ dataTypeID }) => source.getTypeParser(dataTypeID, 'text'));
    hide(this, PARSERS, parsers);
  }

  /**
   * @param {readonly (string | null)[]} values of a DataRow, as text
   * @returns {any} the row
   */
  parseRow(values) {
    /** @type {Parser[]} */
    const parsers = /** @type {any} */ (this)[PARSERS];
    const parsed = values.map((value, index) => (value === null ? null : parsers[index](value)));
    if (this.rowAsArray) return parsed;
    /** @type {Record<string, any>} */
    const row = {};
    for (const [index, { name }] of this.fields.entries()) {
      if (name === '__proto__') hide(row, name, parsed[index], true);
      else row[name] = parsed[index];
    }
    return row;
  }

  /** @param {any} row */
  addRow(row) {
    this.rows.push(row);
  }

  /** @param {{ text: string }} message CommandComplete */
  addCommandComplete({ text }) {
    const match = TAG.exec(text);
    if (match === null) return;
    const [, command, first, second] = match;
    this.command = command;
    if (second !== undefined) {
      this.oid = Number(first);
      this.rowCount = Number(second);
    } else if (first !== undefined) {
      this.rowCount = Number(first);
    }
  }
}

/**
 * @param {object} object
 * @param {PropertyKey} name
 * @param {unknown} value
 * @param {boolean} [enumerable]
 */
function hide(object, name, value, enumerable = false) {
  Object.defineProperty(object, name, { value, enumerable, writable: true, configurable: true });
}

module.exports = { Field, Result };
