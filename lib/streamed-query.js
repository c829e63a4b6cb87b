'use strict';

// A query whose rows are passed on as they come, with the server stopped while
// nobody takes them. Used by row-stream.js and cursor.js.

const { afterDelivery } = require('./delivery');
const { QueryAbortedError } = require('./errors');
const { Query } = require('./query');

/**
 * Who takes the rows.
 * @typedef {object} RowSink
 * @property {(rows: any[]) => void} onRows
 * @property {(error: Error) => void} onFailed a row has no JavaScript value, say; no others come
 */

class StreamedQuery extends Query {
  /** @type {RowSink | undefined} */
  sink = undefined;
  #isReading = true;

  /** @param {ConstructorParameters<typeof Query>} parameters */
  constructor(...parameters) {
    super(...parameters);
    this.isStreamed = true;
    this.isRead = true;
    this.runsSolo = true;
  }

  /**
   * @override
   * @param {Parameters<Query['addRows']>} parameters
   */
  addRows(...parameters) {
    const wasReadable = this.error === undefined;
    super.addRows(...parameters);
    const { error, result } = this;
    // The rest is not worth waiting for.
    if (wasReadable && error !== undefined) afterDelivery(() => this.sink?.onFailed(error));
    if (result === undefined || result.rows.length === 0) return;
    const { rows } = result;
    result.rows = [];
    // A listener may send something, which must not be in the middle of a delivery.
    if (!this.isSettled) afterDelivery(() => this.sink?.onRows(rows));
  }

  /** Somebody may still take rows: it may not end before. */
  get isOpen() {
    return !this.isSettled && this.sink !== undefined;
  }

  /** @param {Error} error for whoever takes the rows */
  interrupt(error) {
    this.sink?.onFailed(error);
  }

  /** Stops the server, as soon as the network's buffers are full. */
  pause() {
    if (!this.#isReading || this.connection === undefined || this.isSettled) return;
    this.#isReading = false;
    this.connection.setReading(false);
  }

  resume() {
    if (this.#isReading) return;
    this.#isReading = true;
    this.connection.setReading(true);
  }

  /**
   * Nobody wants the rest.
   * @param {(query: Query, reason: QueryAbortedError) => void} giveUp
   */
  stop(giveUp) {
    if (this.isSettled) return;
    this.sink = undefined;
    this.wasStopped = true;
    giveUp(this, new QueryAbortedError('The rest of the rows is not wanted', 'ABORT_ERR'));
    this.resume();
  }
}

module.exports = { StreamedQuery };
