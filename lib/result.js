'use strict';

// What a query resolves to, with the properties of `pg`'s Result. A leaf.

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
    /** What parsers get; how the value travelled is the driver's own affair. */
    this.format = 'text';
    Object.freeze(this);
  }
}

class Result {
  /** @param {boolean} rowAsArray */
  constructor(rowAsArray) {
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
    this.rowAsArray = rowAsArray;
  }
}

module.exports = { Field, Result };
