'use strict';

// First in, first out, with cheap removal at the front: what waits for a
// connection of a pool. A leaf.

/** Beyond this many empty places at the front the array is cut. */
const MAX_EMPTY = 1024;

/** @template T */
class WaitingLine {
  /** @type {T[]} */
  #items = [];
  #first = 0;

  get length() {
    return this.#items.length - this.#first;
  }

  /** @returns {T | undefined} */
  peek() {
    return this.#items[this.#first];
  }

  /** @param {T} item */
  push(item) {
    this.#items.push(item);
  }

  /** @returns {T | undefined} */
  shift() {
    if (this.length === 0) return undefined;
    const item = this.#items[this.#first];
    // @ts-expect-error the place is empty from here on
    this.#items[this.#first++] = undefined;
    if (this.#first === this.#items.length || this.#first > MAX_EMPTY) {
      this.#items.splice(0, this.#first);
      this.#first = 0;
    }
    return item;
  }

  /** @param {(item: T) => boolean} condition @returns {T | undefined} the first that meets it, taken out */
  take(condition) {
    for (let index = this.#first; index < this.#items.length; ++index) {
      const item = this.#items[index];
      if (condition(item)) {
        this.#items.splice(index, 1);
        return item;
      }
    }
    return undefined;
  }

  /** @returns {T[]} all of them, taken out */
  clear() {
    const items = this.#items.slice(this.#first);
    this.#items = [];
    this.#first = 0;
    return items;
  }
}

module.exports = { WaitingLine };
