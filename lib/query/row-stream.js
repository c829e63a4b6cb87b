'use strict';

// The rows of a query as a Readable. Made by client/streamable.js.

const { Readable } = require('node:stream');
const { CallSite, emitApart, ParameterError } = require('../base');
const { abortError, abortErrorInside, listen } = require('./deadline');
const { StreamRole } = require('./stream-role');

/** @typedef {import('./query').Query} Query */

class RowStream extends Readable {
  #role;
  #callSite = new CallSite();

  /**
   * @param {Query} query that has not been submitted yet
   * @param {number} batchSize rows that may be buffered for the reader
   * @param {import('./stream-role').GiveUp} abort
   */
  constructor(query, batchSize, abort) {
    super({ objectMode: true, highWaterMark: batchSize });
    this.#role = new StreamRole(query, this, abort);
  }

  /** Description of the columns; empty before the first rows have come. */
  get fields() {
    return this.#role.query.result?.fields ?? [];
  }

  /** @override @param {[any, ...any[]]} parameters */
  emit(...parameters) {
    return emitApart(() => super.emit(...parameters));
  }

  /** @param {any[]} rows */
  onRows(rows) {
    let wantsMore = true;
    for (const row of rows) wantsMore = this.push(row);
    if (!wantsMore) this.#role.pause();
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
    this.#role.resume();
  }

  /**
   * @override
   * @param {Error | null} error
   * @param {(error?: Error | null) => void} callback
   */
  _destroy(error, callback) {
    this.#role.stop();
    callback(error);
  }
}

/** @typedef {{ batchSize?: number, signal?: AbortSignal | null }} StreamOptions */

/** Rows that may be buffered, unless the caller says otherwise. */
const BATCH_SIZE = 256;

/**
 * @param {Query} query
 * @param {StreamOptions | null | undefined} options
 * @param {import('./stream-role').GiveUp} abort
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
