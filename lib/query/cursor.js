'use strict';

// The rows of a query, read a given number at a time. Made by client.js and submittable.js.

const { CallSite } = require('../base');
const { abortError, abortErrorInside, listen } = require('./deadline');
const { StreamRole } = require('./stream-role');

class Cursor {
  #query;
  #role;
  #callSite = new CallSite();
  /** @type {any[]} */
  #rows = [];
  #isEnded = false;
  /** @type {Error | undefined} */
  #error = undefined;
  /** @type {(() => void) | undefined} set while a read waits for rows */
  #wake = undefined;
  /** The last read(); each waits for the one before it. @type {Promise<unknown>} */
  #last = Promise.resolve();

  /**
   * @param {import('./query').Query} query that has not been submitted yet
   * @param {import('./stream-role').GiveUp} abort
   * @param {(fields: readonly import('../rows').Field[]) => void} [onFields]
   */
  constructor(query, abort, onFields) {
    this.#query = query;
    this.onFields = onFields;
    this.#role = new StreamRole(query, this, abort);
    const { signal } = query;
    if (signal?.aborted) query.refusal ??= abortError(signal);
    else if (signal !== undefined) this.#listen(signal);
  }

  /** @param {AbortSignal} signal */
  #listen(signal) {
    const forget = listen(signal, () => this.#stop(abortErrorInside(signal)));
    this.#query.onceSettled(forget);
  }

  /** No more rows are read, and those that wait are dropped. @param {Error} error */
  #stop(error) {
    if (this.#isEnded) return;
    this.#rows = [];
    this.#end(error);
    this.#role.stop();
  }

  /** @param {any[]} rows */
  onRows(rows) {
    // As arguments of one call they might be too many for the stack.
    for (const row of rows) this.#rows.push(row);
    this.#role.pause();
    this.#wake?.();
  }

  /** @param {Error} error */
  onFailed(error) {
    this.#stop(error);
  }

  /** @param {Error} [error] */
  onEnded(error) {
    this.#end(error);
  }

  /** @param {Error | undefined} error */
  #end(error) {
    if (this.#isEnded) return;
    this.#isEnded = true;
    this.#callSite.nameIn(error);
    this.#error = error;
    this.#wake?.();
  }

  /**
   * @param {number} count at most
   * @returns {Promise<any[]>} empty when there are no more
   */
  read(count) {
    if (!Number.isInteger(count) || count < 1) {
      return Promise.reject(new RangeError('read() takes a whole number of rows, from 1 on'));
    }
    const rows = this.#last.then(() => this.#read(count));
    this.#last = rows.catch(() => {});
    return rows;
  }

  /** @param {number} count */
  async #read(count) {
    while (this.#rows.length < count && !this.#isEnded) {
      const more = new Promise((resolve) => {
        this.#wake = () => resolve(undefined);
      });
      this.#role.resume();
      await more;
      this.#wake = undefined;
    }
    // Fewer rows would mean that these are the last ones.
    if (this.#rows.length < count && this.#error !== undefined) {
      this.#rows = [];
      throw this.#error;
    }
    return this.#rows.splice(0, count);
  }

  /**
   * As in pg-cursor, reads that were requested before still get their rows.
   * @returns {Promise<void>} resolves when the connection may be used again; read() returns no more
   *   rows
   */
  close() {
    const closed = this.#last.then(() => this.#close());
    this.#last = closed;
    return closed;
  }

  async #close() {
    this.#rows = [];
    this.#error = undefined;
    this.#end(undefined);
    this.#role.stop();
    await this.#query.promise.catch(() => {});
  }

  [Symbol.asyncDispose ?? Symbol.for('nodejs.asyncDispose')]() {
    return this.close();
  }
}

module.exports = { Cursor };
