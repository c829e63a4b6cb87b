'use strict';

// The load of W5 and of `npm start` by autocannon, in a process of its own, so that the CPU of the driver's
// process is that of server and driver. Forked by load-process.js; takes orders by message and ends when the
// channel does.

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
 * @property {number} [tickMillis] how often it tells how it goes
 * @property {boolean} [keepsLatencies] they are wanted one by one, to be put together with those of another load
 *
 * @typedef {object} Tick what was answered since the last one
 * @property {number} requests
 * @property {number} seconds
 * @property {number} p99Micros
 *
 * @typedef {object} Loaded
 * @property {number} requests that were answered
 * @property {number} errors timeouts included
 * @property {number} non2xx
 * @property {number} seconds until the last answer
 * @property {number} p50Micros
 * @property {number} p99Micros
 * @property {Float64Array} [latencies] in ms, if they are kept
 *
 * @typedef {{ loaded?: Loaded, error?: string, tick?: Tick }} Answer
 */

/** @param {Order} order @param {(tick: Tick) => void} onTick @returns {Promise<Loaded>} */
async function load(order, onTick) {
  const { url, connections, millis, amount, skipsFirst = false, tickMillis } = order;
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
  const stopTicking = tickMillis === undefined ? () => {} : tick(tickMillis, samples, onTick);
  const { errors, non2xx } = await running;
  stopTicking();
  return {
    requests,
    errors,
    non2xx,
    seconds: (last - start) / 1000,
    ...percentiles(samples),
    ...(order.keepsLatencies && { latencies: Float64Array.from(samples) }),
  };
}

/**
 * @param {number} tickMillis
 * @param {number[]} samples which grow
 * @param {(tick: Tick) => void} onTick
 * @returns {() => void} ends it
 */
function tick(tickMillis, samples, onTick) {
  let told = 0;
  let before = performance.now();
  const timer = setInterval(() => {
    const now = performance.now();
    const { p99Micros } = percentiles(samples.slice(told));
    onTick({ requests: samples.length - told, seconds: (now - before) / 1000, p99Micros });
    told = samples.length;
    before = now;
  }, tickMillis);
  return () => clearInterval(timer);
}

process.on('message', async (/** @type {Order} */ order) => {
  /** @type {Answer} */
  let answer;
  try {
    answer = { loaded: await load(order, (told) => process.send?.({ tick: told })) };
  } catch (error) {
    answer = { error: /** @type {Error} */ (error).message };
  }
  process.send?.(answer);
});
process.on('disconnect', () => process.exit());
// Ctrl-C reaches every process of a terminal: the one that gives the orders says when it is over.
process.on('SIGINT', () => {});
