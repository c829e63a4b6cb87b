'use strict';

// First in, first out: what waits for a connection of a pool, and for how long
// it may. Used by waiting-room.js.

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
  #timeout;
  #onTimeout;
  /** @type {TimeLimit | undefined} */
  #limit = undefined;

  /**
   * @param {() => number} timeout in ms, as it is now; 0: one may wait for ever
   * @param {(item: T) => void} onTimeout is given what has waited too long, and is out
   */
  constructor(timeout, onTimeout) {
    this.#timeout = timeout;
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

  /** @param {T} item @param {number} [since] when it began to wait, if it comes from another line */
  push(item, since = performance.now()) {
    let index = this.#entries.length;
    while (index > this.#first && this.#entries[index - 1].since > since) --index;
    this.#entries.splice(index, 0, { item, since });
    if (index === this.#first) this.#armLimit();
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
    return this.take(item) !== undefined;
  }

  /** @param {T} item @returns {number | undefined} since when it has waited, if it was there; it is out now */
  take(item) {
    for (let index = this.#first; index < this.#entries.length; ++index) {
      const entry = this.#entries[index];
      if (entry.item !== item) continue;
      if (index === this.#first) this.shift();
      else this.#entries.splice(index, 1);
      return entry.since;
    }
    return undefined;
  }

  /** @returns {T[]} all of them, taken out */
  clear() {
    const items = this.#entries.slice(this.#first).map(({ item }) => item);
    this.#entries = [];
    this.#first = 0;
    this.#limit?.cancel();
    return items;
  }

  /** The time for which one may wait is another one now. */
  onTimeoutChanged() {
    if (this.length > 0) this.#armLimit();
  }

  #armLimit() {
    this.#limit?.cancel();
    const millis = this.#timeout();
    if (millis === 0) return;
    // Everybody may wait for the same time, so that one timer for the first is enough.
    const left = this.oldestSince + millis - performance.now();
    this.#limit = new TimeLimit(Math.max(1, Math.ceil(left)), () => this.#expire());
  }

  #expire() {
    const millis = this.#timeout();
    while (millis > 0 && this.oldestSince + millis <= performance.now()) {
      this.#onTimeout(/** @type {T} */ (this.shift()));
    }
    if (this.length > 0) this.#armLimit();
  }
}

module.exports = { WaitingLine };
