'use strict';

// A query whose rows are passed on as they come. While nobody takes them the server is stopped, by
// back-pressure. Used by row-stream.js and cursor.js.

const { afterDelivery, QueryAbortedError, toldError } = require('../base');
const { Query } = require('./query');

/**
 * Takes the rows.
 * @typedef {object} RowSink
 * @property {(rows: any[]) => void} onRows
 * @property {(error: Error) => void} onFailed a row has no JavaScript value, say; no others come
 * @property {(error?: Error) => void} onEnded the query is settled
 *
 * @typedef {(query: Query, reason: QueryAbortedError) => void} GiveUp
 */

/**
 * Sinks that were garbage-collected in the middle of their rows: nobody can read the rest.
 * @type {FinalizationRegistry<{ query: StreamedQuery, abort: GiveUp }>}
 */
const forgotten = new FinalizationRegistry(({ query, abort }) => query.stop(abort));

class StreamedQuery extends Query {
  /** @type {RowSink | undefined} */
  #sink = undefined;
  /**
   * Replaces #sink while reading is paused: a reader who wants more keeps the sink alive. If there
   * is none, the connection must not be kept for the query.
   * @type {WeakRef<RowSink> | undefined}
   */
  #weakSink = undefined;
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
    // The rest need not be waited for.
    if (wasReadable && error !== undefined) {
      afterDelivery(() => this.sink?.onFailed(toldError(error)));
    }
    if (result === undefined || result.rows.length === 0) return;
    const { rows } = result;
    result.rows = [];
    // A listener may send a query, which must not happen in the middle of a delivery.
    if (!this.isSettled) afterDelivery(() => this.sink?.onRows(rows));
  }

  get sink() {
    return this.#sink ?? this.#weakSink?.deref();
  }

  /**
   * @param {RowSink} sink
   * @param {GiveUp} abort
   */
  passRowsTo(sink, abort) {
    this.#sink = sink;
    forgotten.register(sink, { query: this, abort }, this);
    this.promise.then(
      () => this.#end(),
      (error) => this.#end(error),
    );
  }

  /** @param {Error} [error] */
  #end(error) {
    const { sink } = this;
    this.#forgetSink();
    sink?.onEnded(error);
  }

  #forgetSink() {
    forgotten.unregister(this);
    this.#sink = undefined;
    this.#weakSink = undefined;
  }

  /** Whether rows may still be taken, so that a transaction must not end yet. */
  get isOpen() {
    return !this.isSettled && this.sink !== undefined;
  }

  /** @param {Error} error for the sink */
  interrupt(error) {
    this.sink?.onFailed(error);
  }

  /** Stops the server, as soon as the network's buffers are full. */
  pause() {
    if (!this.#isReading || this.connection === undefined || this.isSettled) return;
    // A listener has stopped it in the middle of the rows: the rest must be read to be discarded.
    if (this.wasStopped) return;
    this.#isReading = false;
    if (this.#sink !== undefined) this.#weakSink = new WeakRef(this.#sink);
    this.#sink = undefined;
    this.connection.setReading(false);
  }

  resume() {
    if (this.#isReading) return;
    this.#isReading = true;
    this.#sink = this.sink;
    this.connection.setReading(true);
  }

  /**
   * The reader does not want the rest.
   * @param {GiveUp} abort
   */
  stop(abort) {
    if (this.isSettled) return;
    this.#forgetSink();
    this.wasStopped = true;
    abort(this, new QueryAbortedError('The rest of the rows is not wanted', 'ABORT_ERR'));
    this.resume();
  }
}

module.exports = { StreamedQuery };
