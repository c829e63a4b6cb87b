'use strict';

// `Query` of `pg`: a query that reports its rows by events, passed to client.query(). It is a
// submittable (client/submittable.js).

const { EventEmitter } = require('node:events');
const { Result } = require('../rows');
const { normalizeQueryConfig, prepareValue } = require('./utils');

class Query extends EventEmitter {
  /** @type {Result[]} */
  #results = [];
  #keepsRows = true;
  /** @type {unknown} the error of a value that could not be parsed */
  #unreadable = undefined;

  /**
   * @param {string | Record<string, any>} config
   * @param {any} [values] or the callback
   * @param {any} [callback]
   */
  constructor(config, values, callback) {
    super();
    const query = normalizeQueryConfig(config, values, callback);
    this.text = query.text;
    this.values = query.values;
    this.name = query.name;
    this.types = query.types;
    this.rows = query.rows;
    this.callback = query.callback;
    this.rowMode = query.rowMode;
    // The client looks for this, and gives it the client's own parsers.
    this._result = new Result(query.rowMode, query.types);
  }

  /** @param {any} connection */
  submit(connection) {
    if (typeof this.text !== 'string' && typeof this.name !== 'string') {
      return new Error(
        'A query must have either text or a name. Supplying neither is unsupported.',
      );
    }
    if (this.values !== undefined && this.values !== null && !Array.isArray(this.values)) {
      return new Error('Query values must be an array');
    }
    const known = connection.parsedStatements[this.name];
    if (this.text && known !== undefined && known !== this.text) {
      return new Error(
        `Prepared statements must be unique - '${this.name}' was used for a different statement`,
      );
    }
    if (!this.name && !this.rows && !this.values?.length) {
      connection.query(this.text);
      return null;
    }
    if (known === undefined) connection.parse({ text: this.text, name: this.name });
    connection.bind({ statement: this.name, values: this.values, valueMapper: prepareValue });
    connection.describe({ type: 'P', name: '' });
    this.#execute(connection);
    return null;
  }

  /** @param {any} connection */
  #execute(connection) {
    connection.execute({ rows: this.rows });
    if (this.rows) connection.flush();
    else connection.sync();
  }

  /** @param {{ fields: readonly import('../rows').Field[] }} message */
  handleRowDescription({ fields }) {
    this.#keepsRows = this.callback !== undefined || this.listenerCount('row') === 0;
    this._result.addFields(fields);
  }

  /** @param {{ fields: (string | null)[] }} message */
  handleDataRow({ fields }) {
    if (this.#unreadable !== undefined) return;
    let row;
    try {
      row = this._result.parseRow(fields);
    } catch (error) {
      this.#unreadable = error;
      return;
    }
    this.emit('row', row, this._result);
    if (this.#keepsRows) this._result.addRow(row);
  }

  /** @param {{ text: string }} message @param {any} connection */
  handleCommandComplete(message, connection) {
    this._result.addCommandComplete(message);
    this.#endStatement(connection);
  }

  /** @param {any} connection */
  handleEmptyQuery(connection) {
    this.#endStatement(connection);
  }

  /** @param {any} connection */
  #endStatement(connection) {
    this.#results.push(this._result);
    const { _types: types } = /** @type {any} */ (this._result);
    this._result = new Result(this.rowMode, types);
    if (this.rows) connection.sync();
  }

  /** @param {any} connection */
  handlePortalSuspended(connection) {
    this.#execute(connection);
  }

  /** @param {any} connection */
  handleReadyForQuery(connection) {
    if (this.#unreadable !== undefined) {
      this.handleError(this.#unreadable, connection);
      return;
    }
    const value = this.#results.length > 1 ? this.#results : this.#results[0];
    this.callback?.(null, value);
    this.emit('end', value);
  }

  /** @param {unknown} error @param {any} connection */
  handleError(error, connection) {
    if (this.rows) connection.sync();
    if (this.callback !== undefined) this.callback(error);
    else this.emit('error', error);
  }
}

module.exports = Query;
