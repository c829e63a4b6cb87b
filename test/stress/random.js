'use strict';

// Choices that one seed decides. Each part of a run takes a generator of its own from the numbers that
// name it, so that its choices do not hang on what runs beside it.

const { newRandom } = require('../../bench/measure');

class Random {
  #next;

  /** @param {...number} parts the seed, then what is to have choices of its own */
  constructor(...parts) {
    // Neighbours among seeds are to have nothing in common.
    const mixed = parts.reduce(
      (seed, part) => Math.floor(newRandom(seed ^ Math.imul(part + 1, 0x9e3779b1))() * 2 ** 32),
      0,
    );
    this.#next = newRandom(mixed);
  }

  /** From 0 to below 1. */
  fraction() {
    return this.#next();
  }

  /** Both are possible. @param {number} least @param {number} most */
  int(least, most) {
    return least + Math.floor(this.#next() * (most - least + 1));
  }

  /** Small ones are likelier. @param {number} least @param {number} most */
  small(least, most) {
    return least + Math.floor(this.#next() ** 3 * (most - least + 1));
  }

  /** @param {number} probability */
  chance(probability) {
    return this.#next() < probability;
  }

  /** @template T @param {readonly T[]} list @returns {T} */
  pick(list) {
    return list[Math.floor(this.#next() * list.length)];
  }

  /** @template T @param {readonly (readonly [item: T, weight: number])[]} list @returns {T} */
  weighted(list) {
    let left = this.#next() * list.reduce((sum, [, weight]) => sum + weight, 0);
    for (const [item, weight] of list) {
      left -= weight;
      if (left < 0) return item;
    }
    return list[list.length - 1][0];
  }

  /** A generator that no later choice of this one hangs on. */
  fork() {
    return new Random(this.int(0, 2 ** 31), 1);
  }
}

module.exports = { Random };
