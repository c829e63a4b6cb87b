'use strict';

// What is known by a text, for the texts that were used last: limited in number and in length. Owned by registry.js.

/** A power of two. */
const REMEMBERED_HASHES = 4096;

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

/** Of which texts of many something is remembered: of those that come again. Of the others it would only be stored and moved. */
class SeenOnce {
  /** A hash in each place; 0: of none. */
  #hashes = new Int32Array(REMEMBERED_HASHES);

  /** @param {number} hash of a text @returns {boolean} whether it was perhaps seen before: never not, unless long ago */
  again(hash) {
    const place = hash & (REMEMBERED_HASHES - 1);
    const isAgain = this.#hashes[place] === hash;
    this.#hashes[place] = hash;
    return isAgain;
  }
}

module.exports = { RecentTexts, SeenOnce };
