'use strict';

// A statement of the driver's own that settles no promise, such as a query for a setting or the
// Close of a prepared statement. Made by asides.js and prepared-statements.js.

const { afterDelivery } = require('../base');
const { SlotEntry } = require('../native');
const { ownTypes } = require('../rows');

class Housekeeping extends SlotEntry {
  /**
   * @param {import('./connection').Connection} connection
   * @param {string} text
   * @param {() => void} [onAnswered] called after the delivery
   * @param {(row: any[]) => void} [onRow] called with the first row
   */
  constructor(connection, text, onAnswered, onRow) {
    super();
    this.isOwn = true;
    this.connection = connection;
    this.text = text;
    this.onAnswered = onAnswered;
    this.onRow = onRow;
    connection.session.housekeepingSent();
    connection.ownDeadline.watch();
  }

  /** @override @param {Parameters<SlotEntry['addRows']>} parameters */
  addRows(...[shape, cells, chunk, cell, count]) {
    const { onRow } = this;
    if (onRow === undefined || count === 0) return;
    // The others may come later.
    this.onRow = undefined;
    /** @type {any[][]} */
    const rows = [];
    try {
      shape.builder(true, ownTypes, 'string', count)(rows, cells, chunk, cell, count);
    } catch {
      // If the server answers something else, nothing of it is used.
      return;
    }
    onRow(rows[0]);
  }

  /** @override @param {number} transactionStatus */
  synced(transactionStatus) {
    this.connection.session.housekeepingSynced(transactionStatus);
    if (this.onAnswered !== undefined) afterDelivery(this.onAnswered);
    this.connection.resume();
  }
}

module.exports = { Housekeeping };
