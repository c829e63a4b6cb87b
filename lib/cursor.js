'use strict';

// The rows of a query, so many at a time. Made by client.js.

/** @typedef {import('./streamed-query').StreamedQuery} StreamedQuery */

class Cursor {
  #query;
  #giveUp;
  /** @type {any[]} */
  #rows = [];
  #isEnded = false;
  /** @type {Error | undefined} */
  #error = undefined;
  /** @type {(() => void) | undefined} somebody waits for rows */
  #wake = undefined;
  /** One read() after the other. @type {Promise<unknown>} */
  #last = Promise.resolve();

  /**
   * @param {StreamedQuery} query that has not been submitted yet
   * @param {(query: import('./query').Query, reason: import('./errors').QueryAbortedError) => void} giveUp
   */
  constructor(query, giveUp) {
    this.#query = query;
    this.#giveUp = giveUp;
    query.sink = this;
    query.promise.then(
      () => this.#end(undefined),
      (error) => this.#end(error),
    );
  }

  /** @param {any[]} rows */
  onRows(rows) {
    this.#rows.push(...rows);
    this.#query.pause();
    this.#wake?.();
  }

  /** @param {Error | undefined} error */
  #end(error) {
    this.#isEnded = true;
    this.#error = error;
    this.#wake?.();
  }

  /**
   * @param {number} count at most
   * @returns {Promise<any[]>} empty when there are no more
   */
  read(count) {
    const rows = this.#last.then(() => this.#read(count));
    this.#last = rows.catch(() => {});
    return rows;
  }

  /** @param {number} count */
  async #read(count) {
    if (!Number.isInteger(count) || count < 1) {
      throw new RangeError('read() takes a whole number of rows, from 1 on');
    }
    while (this.#rows.length < count && !this.#isEnded) {
      const more = new Promise((resolve) => {
        this.#wake = () => resolve(undefined);
      });
      this.#query.resume();
      await more;
      this.#wake = undefined;
    }
    if (this.#rows.length === 0 && this.#error !== undefined) throw this.#error;
    return this.#rows.splice(0, count);
  }

  /** @returns {Promise<void>} the connection may be used again */
  async close() {
    this.#rows = [];
    if (this.#isEnded) return;
    this.#query.stop(this.#giveUp);
    await this.#query.promise.catch(() => {});
    this.#isEnded = true;
  }

  [Symbol.asyncDispose ?? Symbol.for('nodejs.asyncDispose')]() {
    return this.close();
  }
}

module.exports = { Cursor };
