'use strict';

// Times something as a whole, several times over. Called by the cases of the experiments, in the arm's process.

const { startMeters } = require('../measure');

/**
 * @typedef {object} Repeats
 * @property {number} operations of each time, for the CPU of one
 * @property {number} [wanted] where the time is to be told of more operations than are done
 * @property {number} [millis] it is repeated until so much time has passed; else done once
 */

/**
 * @param {() => Promise<unknown>} work
 * @param {Repeats} repeats
 * @returns {Promise<import('../measure').Measurement>}
 */
async function timed(work, { operations, wanted = operations, millis = 0 }) {
  /** @type {number[]} */
  const times = [];
  const stop = startMeters();
  for (let total = 0; times.length === 0 || total < millis;) {
    const start = performance.now();
    await work();
    const time = performance.now() - start;
    times.push(time);
    total += time;
  }
  const measured = stop();
  const scale = wanted / operations;
  times.sort((a, b) => a - b);
  const format = (/** @type {number} */ count) => count.toLocaleString('en');
  return {
    ...measured,
    operations: operations * times.length,
    timeMillis: times[times.length >> 1] * scale,
    ...(scale !== 1 && { note: `measured with ${format(operations)}, times ${format(scale)}` }),
  };
}

/**
 * What many do at once, each the next when its last is done.
 * @template T
 * @param {number} callers
 * @param {Iterable<T>} items
 * @param {(item: T) => Promise<unknown>} work
 */
async function share(callers, items, work) {
  const iterator = items[Symbol.iterator]();
  const call = async () => {
    for (let next = iterator.next(); !next.done; next = iterator.next()) await work(next.value);
  };
  await Promise.all(Array.from({ length: callers }, call));
}

module.exports = { share, timed };
