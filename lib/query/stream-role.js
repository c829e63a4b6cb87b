'use strict';

// A query whose rows are passed on as they come. While nobody takes them the server is stopped, by
// back-pressure. Made by row-stream.js and cursor.js.

const { afterDelivery, QueryAbortedError, toldError } = require('../base');
const { Role } = require('./role');

/**
 * Takes the rows.
 * @typedef {object} RowSink
 * @property {(fields: readonly import('../rows').Field[]) => void} [onFields] the columns are known
 * @property {(rows: any[]) => void} onRows
 * @property {(error: Error) => void} onFailed a row has no JavaScript value, say; no others come
 * @property {(error?: Error) => void} onEnded the query is settled
 *
 * @typedef {import('./query').Query} Query
 * @typedef {(query: Query, reason: QueryAbortedError) => void} GiveUp
 */

/**
 * Sinks that were garbage-collected in the middle of their rows: nobody can read the rest.
 * @type {FinalizationRegistry<StreamRole>}
 */
const forgotten = new FinalizationRegistry((role) => role.stop());

class StreamRole extends Role {
  /** @type {RowSink | undefined} */
  #sink;
  /**
   * Replaces #sink while reading is paused: a reader who wants more keeps the sink alive. If there
   * is none, the connection must not be kept for the query.
   * @type {WeakRef<RowSink> | undefined}
   */
  #weakSink = undefined;
  #isReading = true;
  #abort;

  /** @param {Query} query @param {RowSink} sink @param {GiveUp} abort */
  constructor(query, sink, abort) {
    super(query);
    this.#sink = sink;
    this.#abort = abort;
    query.isStreamed = true;
    query.isRead = true;
    query.runsSolo = true;
    forgotten.register(sink, this, this);
    query.promise.then(
      () => this.#end(),
      (error) => this.#end(error),
    );
  }

  /** The sink, wherever it is held. */
  get #reader() {
    return this.#sink ?? this.#weakSink?.deref();
  }

  /** @override @param {readonly import('../rows').Field[]} fields */
  onFields(fields) {
    if (this.#reader?.onFields !== undefined) {
      afterDelivery(() => this.#reader?.onFields?.(fields));
    }
  }

  /** @override */
  onRows() {
    const { query } = this;
    const { error, result, isSettled } = query;
    // The rest need not be waited for. But an error of the server that has come with the rows tells more.
    if (error !== undefined) {
      afterDelivery(() => this.#reader?.onFailed(toldError(query.error ?? error)));
    }
    if (result === undefined || result.rows.length === 0) return;
    const { rows } = result;
    result.rows = [];
    // A listener may send a query, which must not happen in the middle of a delivery.
    if (!isSettled) afterDelivery(() => this.#reader?.onRows(rows));
  }

  /** @param {Error} [error] */
  #end(error) {
    const sink = this.#reader;
    this.#forgetSink();
    sink?.onEnded(error);
  }

  #forgetSink() {
    forgotten.unregister(this);
    this.#sink = undefined;
    this.#weakSink = undefined;
  }

  /** @override */
  get isOpen() {
    return !this.query.isSettled && this.#reader !== undefined;
  }

  /** @override @param {Error} error */
  interrupt(error) {
    this.#reader?.onFailed(error);
  }

  /** Stops the server, as soon as the network's buffers are full. */
  pause() {
    const { connection, isSettled, wasStopped } = this.query;
    if (!this.#isReading || connection === undefined || isSettled) return;
    // A listener has stopped it in the middle of the rows: the rest must be read to be discarded.
    if (wasStopped) return;
    this.#isReading = false;
    if (this.#sink !== undefined) this.#weakSink = new WeakRef(this.#sink);
    this.#sink = undefined;
    connection.setReading(false);
  }

  resume() {
    if (this.#isReading) return;
    this.#isReading = true;
    this.#sink = this.#reader;
    this.query.connection.setReading(true);
  }

  /** The reader does not want the rest. */
  stop() {
    const { query } = this;
    if (query.isSettled) return;
    this.#forgetSink();
    query.wasStopped = true;
    this.#abort(query, new QueryAbortedError('The rest of the rows is not wanted', 'ABORT_ERR'));
    this.resume();
  }
}

module.exports = { StreamRole };
