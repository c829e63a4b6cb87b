'use strict';

// What is known by a text, for the texts that were used last: limited in number and in length. Owned by registry.js.

/** Hashes that are told apart, 32 in each number. A power of two. */
const HASH_WORDS = 4096;
/** An odd number without a pattern. */
const SPREAD = 0x85ebca6b;
/** So few of them are set at a time that another text with the same one is rare. */
const MAX_HASHES = 4096;

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

/**
 * Tells which texts of many come again. What is known of the others would be stored in vain: each entry outlives its query, and
 * is moved by the garbage collector.
 */
class SeenOnce {
  // Two generations of bits, as above.
  #young = new Int32Array(HASH_WORDS);
  #old = new Int32Array(HASH_WORDS);
  #count = 0;

  /**
   * @param {number} hash of a text
   * @returns {boolean} whether it was seen before: perhaps it was another text with the same hash, and one that was seen long
   *   ago is forgotten
   */
  again(hash) {
    // Texts that differ in a few digits have hashes with much in common.
    const mixed = Math.imul(hash ^ (hash >>> 15), SPREAD);
    const word = (mixed >>> 20) & (HASH_WORDS - 1);
    const bit = 1 << ((mixed >>> 15) & 31);
    if (this.#young[word] & bit) return true;
    const isAgain = (this.#old[word] & bit) !== 0;
    if (this.#count === MAX_HASHES) {
      [this.#young, this.#old] = [this.#old.fill(0), this.#young];
      this.#count = 0;
    }
    this.#young[word] |= bit;
    ++this.#count;
    return isAgain;
  }
}

module.exports = { RecentTexts, SeenOnce };
