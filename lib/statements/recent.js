'use strict';

// What is known by a text, for the texts that were used last: limited in number and in length. Owned by registry.js.

/**
 * Two generations: what is found in the older one is moved to the younger one, and when that is full, the older one is
 * dropped as a whole. A list in the order of use would cost each new text more than all else that is done for it.
 * @template T
 */
class RecentTexts {
  /** @type {Map<string, T>} */
  #young = new Map();
  /** @type {Map<string, T>} */
  #old = new Map();
  /** Characters of the younger ones. */
  #length = 0;
  #maxCount;
  #maxLength;

  /**
   * @param {number} count of texts that are kept at least; at most there are twice as many
   * @param {number} maxLength characters of them; a text with more than a quarter is not kept
   */
  constructor(count, maxLength) {
    this.#maxCount = count;
    this.#maxLength = maxLength / 2;
  }

  /** @param {string} text @returns {T | undefined} */
  find(text) {
    const young = this.#young.get(text);
    if (young !== undefined) return young;
    const old = this.#old.get(text);
    if (old !== undefined) this.add(text, old);
    return old;
  }

  /** @param {string} text that is not there @param {T} known of it */
  add(text, known) {
    const { length } = text;
    if (length > this.#maxLength / 2) return;
    if (this.#young.size === this.#maxCount || this.#length + length > this.#maxLength) {
      this.#old = this.#young;
      this.#young = new Map();
      this.#length = 0;
    }
    this.#young.set(text, known);
    this.#length += length;
  }
}

module.exports = { RecentTexts };
