'use strict';

// First in, first out: what waits for a connection of a pool, and for how long
// it may. Used by pool.js alone.

const { TimeLimit } = require('../base');

/** Beyond this many empty places at the front the array is cut. */
const MAX_EMPTY = 1024;

/**
 * @template T
 * @typedef {{ item: T, since: number }} Entry `since`: performance.now()
 */

/** @template T */
class WaitingLine {
  /** @type {Entry<T>[]} */
  #entries = [];
  #first = 0;
  #timeoutMillis;
  #onTimeout;
  /** @type {TimeLimit | undefined} */
  #limit = undefined;

  /**
   * @param {number} timeoutMillis 0: one may wait for ever
   * @param {(item: T) => void} onTimeout is given what has waited too long, and is out
   */
  constructor(timeoutMillis, onTimeout) {
    this.#timeoutMillis = timeoutMillis;
    this.#onTimeout = onTimeout;
  }

  get length() {
    return this.#entries.length - this.#first;
  }

  /** @returns {T | undefined} */
  peek() {
    return this.#entries[this.#first]?.item;
  }

  /** Since when the first waits (performance.now()); Infinity when nothing does. */
  get oldestSince() {
    return this.#entries[this.#first]?.since ?? Infinity;
  }

  /** @param {T} item */
  push(item) {
    this.#entries.push({ item, since: performance.now() });
    this.#armLimit();
  }

  /** @returns {T | undefined} */
  shift() {
    if (this.length === 0) return undefined;
    const { item } = this.#entries[this.#first];
    // @ts-expect-error the place is empty from here on
    this.#entries[this.#first++] = undefined;
    if (this.#first === this.#entries.length || this.#first > MAX_EMPTY) {
      this.#entries.splice(0, this.#first);
      this.#first = 0;
    }
    if (this.length === 0) this.#limit?.cancel();
    return item;
  }

  /** @param {T} item @returns {boolean} whether it was there, and is out now */
  remove(item) {
    for (let index = this.#first; index < this.#entries.length; ++index) {
      if (this.#entries[index].item === item) {
        this.#entries.splice(index, 1);
        if (this.length === 0) this.#limit?.cancel();
        return true;
      }
    }
    return false;
  }

  /** @returns {T[]} all of them, taken out */
  clear() {
    const items = this.#entries.slice(this.#first).map(({ item }) => item);
    this.#entries = [];
    this.#first = 0;
    this.#limit?.cancel();
    return items;
  }

  #armLimit() {
    if (this.#timeoutMillis === 0 || this.length !== 1) return;
    // Everybody may wait for the same time, so that one timer for the first is enough.
    this.#limit?.cancel();
    const left = this.oldestSince + this.#timeoutMillis - performance.now();
    this.#limit = new TimeLimit(Math.max(1, Math.ceil(left)), () => this.#expire());
  }

  #expire() {
    while (this.oldestSince + this.#timeoutMillis <= performance.now()) {
      this.#onTimeout(/** @type {T} */ (this.shift()));
    }
    if (this.length === 0) return;
    const left = this.oldestSince + this.#timeoutMillis - performance.now();
    this.#limit = new TimeLimit(Math.max(1, Math.ceil(left)), () => this.#expire());
  }
}

module.exports = { WaitingLine };
