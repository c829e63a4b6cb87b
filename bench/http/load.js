'use strict';

// The load of W5 by autocannon, in a process of its own, so that the CPU of the driver's process is that of
// server and driver. Forked by load-process.js; takes orders by message and ends when the channel does.

const autocannon = require('autocannon');
const { percentiles } = require('../measure');

/** autocannon looks whether it is done only so often. */
const SAMPLE_MILLIS = 10;

/**
 * For a time, or a number of requests; after a time some are left without an answer.
 * @typedef {object} Order
 * @property {string} url
 * @property {number} connections
 * @property {number} [millis]
 * @property {number} [amount]
 * @property {boolean} [skipsFirst] the latency of each connection's first request is left out: of thousands that are
 *   opened at once each waits for all others
 *
 * @typedef {object} Loaded
 * @property {number} requests that were answered
 * @property {number} errors timeouts included
 * @property {number} non2xx
 * @property {number} seconds until the last answer
 * @property {number} p50Micros
 * @property {number} p99Micros
 *
 * @typedef {{ loaded?: Loaded, error?: string }} Answer
 */

/** @param {Order} order @returns {Promise<Loaded>} */
async function load({ url, connections, millis, amount, skipsFirst = false }) {
  /** @type {number[]} */
  const samples = [];
  const start = performance.now();
  let last = start;
  let requests = 0;
  const seen = new WeakSet();
  const running = autocannon({
    url,
    connections,
    sampleInt: SAMPLE_MILLIS,
    ...(amount === undefined ? { duration: Number(millis) / 1000 } : { amount }),
  });
  // Its own histograms are in whole milliseconds.
  running.on('response', (client, _status, _bytes, responseMillis) => {
    requests++;
    if (!skipsFirst || seen.has(client)) samples.push(responseMillis);
    seen.add(client);
    last = performance.now();
  });
  const { errors, non2xx } = await running;
  return {
    requests,
    errors,
    non2xx,
    seconds: (last - start) / 1000,
    ...percentiles(samples),
  };
}

process.on('message', async (/** @type {Order} */ order) => {
  /** @type {Answer} */
  let answer;
  try {
    answer = { loaded: await load(order) };
  } catch (error) {
    answer = { error: /** @type {Error} */ (error).message };
  }
  process.send?.(answer);
});
process.on('disconnect', () => process.exit());
