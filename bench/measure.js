'use strict';

// Runs an operation for a while and measures it: throughput, CPU of this process (all its threads),
// latencies and stalls of the event loop. Called by the workloads and experiments, in the driver's process;
// http/load.js takes the percentiles from here.

const { monitorEventLoopDelay } = require('node:perf_hooks');
const { setTimeout: delay } = require('node:timers/promises');
const clock = require('./turn-clock');

const STALL_RESOLUTION_MILLIS = 1;

/**
 * @typedef {object} Timing
 * @property {number} warmupMillis
 * @property {number} measureMillis
 *
 * @typedef {object} Measurement
 * @property {number} operations
 * @property {number} seconds
 * @property {number} cpuMicros user and system
 * @property {number} [beganAt] in ms since 1970, of a program that may have been stopped meanwhile (turns.js)
 * @property {number} [p50Micros]
 * @property {number} [p99Micros]
 * @property {number} [longestStallMillis] of the event loop
 * @property {number} [delayP99Millis] of the event loop
 * @property {number} [memoryBytes] then those above say nothing
 * @property {number} [heapBytes] of it
 * @property {number} [allocations] by malloc() and its kin
 * @property {number} [allocatedBytes]
 * @property {number} [serverBytes] of the backends, and of what is between us and them
 * @property {number} [serverCpuMicros] of the same
 * @property {number} [connections] that the server has
 * @property {number} [timeMillis] of what a timed case does, as a whole
 * @property {string} [note] how it came about
 */

/**
 * For the points of a line, of which there are many.
 * @param {Timing} timing
 * @returns {Timing}
 */
function halve({ warmupMillis, measureMillis }) {
  return { warmupMillis: warmupMillis / 2, measureMillis: measureMillis / 2 };
}

/**
 * `inFlight` callers, each of which starts its next operation when its last one has settled.
 * @param {() => Promise<unknown>} operation
 * @param {Timing & { inFlight: number, latency?: boolean, stalls?: boolean }} options
 * @returns {Promise<Measurement>}
 */
async function closedLoop(operation, options) {
  const { warmupMillis, measureMillis, inFlight, latency = false, stalls = false } = options;
  await runCallers(operation, inFlight, warmupMillis);
  /** @type {number[] | undefined} */
  const samples = latency ? [] : undefined;
  const stop = startMeters();
  const stopWatching = stalls ? watchStalls() : undefined;
  const operations = await runCallers(operation, inFlight, measureMillis, samples);
  const measured = stop();
  const delays = await stopWatching?.();
  return {
    operations,
    ...measured,
    ...(samples && percentiles(samples)),
    ...(delays && { longestStallMillis: delays.longestMillis }),
  };
}

/** @returns {() => Promise<{ longestMillis: number, p99Millis: number }>} how late a timer was since then */
function watchStalls() {
  const histogram = monitorEventLoopDelay({ resolution: STALL_RESOLUTION_MILLIS });
  histogram.enable();
  return async () => {
    // The last stall is known once the timer has run again.
    await delay(5 * STALL_RESOLUTION_MILLIS);
    histogram.disable();
    // What it records is the time between two runs of its timer.
    const [longestMillis, p99Millis] = [histogram.max, histogram.percentile(99)].map((nanos) =>
      Math.max(0, nanos / 1e6 - STALL_RESOLUTION_MILLIS),
    );
    return { longestMillis, p99Millis };
  };
}

/**
 * @param {() => Promise<unknown>} operation
 * @param {number} inFlight
 * @param {number} millis
 * @param {number[]} [samples] gets the milliseconds of each operation
 */
async function runCallers(operation, inFlight, millis, samples) {
  const deadline = clock.now() + millis;
  let operations = 0;
  const call = async () => {
    await clock.enter();
    let before = clock.now();
    do {
      if (!clock.mayBegin()) {
        await clock.nextTurn();
        before = clock.now();
      }
      await operation();
      operations++;
      const now = clock.now();
      samples?.push(now - before);
      before = now;
    } while (before < deadline);
    clock.leave();
  };
  await Promise.all(Array.from({ length: inFlight }, call));
  return operations;
}

/**
 * Operations that arrive at random times, the same ones in each run, whether or not earlier ones have
 * settled. A latency counts from the call into the driver.
 * @param {(random: number) => { fast: boolean, done: Promise<unknown> }} operation
 * @param {Timing & { perSecond: number }} options
 * @returns {Promise<Measurement>} latencies are those of the fast ones
 */
async function openLoop(operation, { warmupMillis, measureMillis, perSecond }) {
  await runArrivals(operation, perSecond, warmupMillis, []);
  /** @type {number[]} */
  const samples = [];
  const stop = startMeters();
  const operations = await runArrivals(operation, perSecond, measureMillis, samples);
  return { operations, ...stop(), ...percentiles(samples) };
}

/**
 * @param {(random: number) => { fast: boolean, done: Promise<unknown> }} operation
 * @param {number} perSecond
 * @param {number} millis
 * @param {number[]} samples
 */
async function runArrivals(operation, perSecond, millis, samples) {
  const random = newRandom(20_240_101);
  const nextGap = () => (-Math.log(1 - random()) * 1000) / perSecond;
  const start = performance.now();
  /** @type {Promise<void>[]} */
  const all = [];
  const arrive = async () => {
    const before = performance.now();
    const { fast, done } = operation(random());
    await done;
    if (fast) samples.push(performance.now() - before);
  };
  for (let due = nextGap(); due < millis; due += nextGap()) {
    const wait = start + due - performance.now();
    if (wait > 0) await delay(wait);
    all.push(arrive());
  }
  await Promise.all(all);
  return all.length;
}

/**
 * Without a garbage collection before: one that is forced throws compiled code away, and an HTTP server took twice the CPU a
 * request in the second behind it.
 * @returns {() => { seconds: number, cpuMicros: number }}
 */
function startMeters() {
  const cpu = process.cpuUsage();
  const start = clock.now();
  return () => {
    const seconds = (clock.now() - start) / 1000;
    const { user, system } = process.cpuUsage(cpu);
    return { seconds, cpuMicros: user + system };
  };
}

/** @param {number[]} millis */
function percentiles(millis) {
  const sorted = Float64Array.from(millis).sort();
  /** @param {number} part */
  const at = (part) => 1000 * sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * part))];
  return { p50Micros: at(0.5), p99Micros: at(0.99) };
}

/**
 * mulberry32: a small generator that can be seeded.
 * @param {number} seed
 */
function newRandom(seed) {
  let state = seed;
  return () => {
    state = (state + 0x6d2b79f5) | 0;
    let mixed = Math.imul(state ^ (state >>> 15), 1 | state);
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), 61 | mixed)) ^ mixed;
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 4_294_967_296;
  };
}

module.exports = {
  closedLoop,
  halve,
  newRandom,
  openLoop,
  percentiles,
  runCallers,
  startMeters,
  watchStalls,
};
