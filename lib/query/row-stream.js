'use strict';

// The rows of a query as a Readable. Made by client/streamable.js.

const { Readable } = require('node:stream');
const { CallSite, emitApart, ParameterError } = require('../base');
const { abortError, abortErrorInside, listen } = require('./deadline');

/** @typedef {import('./streamed-query').StreamedQuery} StreamedQuery */

class RowStream extends Readable {
  #query;
  #abort;
  #callSite = new CallSite();

  /**
   * @param {StreamedQuery} query that has not been submitted yet
   * @param {number} batchSize rows that may be buffered for the reader
   * @param {import('./streamed-query').GiveUp} abort
   */
  constructor(query, batchSize, abort) {
    super({ objectMode: true, highWaterMark: batchSize });
    this.#query = query;
    this.#abort = abort;
    query.passRowsTo(this, abort);
  }

  /** Description of the columns; empty before the first rows have come. */
  get fields() {
    return this.#query.result?.fields ?? [];
  }

  /** @override @param {[any, ...any[]]} parameters */
  emit(...parameters) {
    return emitApart(() => super.emit(...parameters));
  }

  /** @param {any[]} rows */
  onRows(rows) {
    let wantsMore = true;
    for (const row of rows) wantsMore = this.push(row);
    if (!wantsMore) this.#query.pause();
  }

  /** @param {Error} error */
  onFailed(error) {
    this.#callSite.nameIn(error);
    this.destroy(error);
  }

  /** @param {Error} [error] */
  onEnded(error) {
    if (error === undefined) this.push(null);
    else this.onFailed(error);
  }

  /** @override */
  _read() {
    this.#query.resume();
  }

  /**
   * @override
   * @param {Error | null} error
   * @param {(error?: Error | null) => void} callback
   */
  _destroy(error, callback) {
    this.#query.stop(this.#abort);
    callback(error);
  }
}

/** @typedef {{ batchSize?: number, signal?: AbortSignal | null }} StreamOptions */

/** Rows that may be buffered, unless the caller says otherwise. */
const BATCH_SIZE = 256;

/**
 * @param {StreamedQuery} query
 * @param {StreamOptions | null | undefined} options
 * @param {import('./streamed-query').GiveUp} abort
 * @param {() => void} start submits the query
 * @returns {RowStream}
 */
function openStream(query, options, abort, start) {
  const { batchSize = BATCH_SIZE } = options ?? {};
  const isCount = Number.isInteger(batchSize) && batchSize > 0;
  if (!isCount) query.refusal ??= new ParameterError('batchSize must be a whole number, from 1 on');
  // It is not submitted then, so there is nothing to cancel.
  if (query.signal?.aborted) query.refusal ??= abortError(query.signal);
  const stream = new RowStream(query, isCount ? batchSize : BATCH_SIZE, abort);
  start();
  if (query.signal !== undefined && !query.signal.aborted) abortWith(query.signal, stream);
  return stream;
}

/** @param {AbortSignal} signal @param {RowStream} stream */
function abortWith(signal, stream) {
  const forget = listen(signal, () => stream.onFailed(abortErrorInside(signal)));
  // Rows that were not read yet outlive the query.
  stream.once('close', forget);
}

module.exports = { RowStream, openStream };
