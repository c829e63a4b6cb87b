'use strict';

// Figures of a pool twice a second, and those of the last minute: rates from the counts of pool.stats(), how
// long queries took from the tracing channel, and how late the event loop was. Made by start.js; page.js
// sends the figures to whoever looks at the page.

const { tracingChannel } = require('node:diagnostics_channel');
const { EventEmitter } = require('node:events');
const { createHistogram, monitorEventLoopDelay, performance } = require('node:perf_hooks');

const INTERVAL_MILLIS = 500;
/** So often somebody looks how much is in flight, which one look for each sample would miss. */
const LOOK_MILLIS = 20;
const WINDOW_SECONDS = 60;
const DELAY_RESOLUTION_MILLIS = 10;
const MAX_LATENCY_MICROS = 60_000_000;
const COUNTERS = ['queries', 'syncs', 'flushes', 'wakeups'];

/**
 * One connection during a sample; rates are for each second.
 * @typedef {object} ConnectionSample
 * @property {number} processId of the server's backend
 * @property {string} state
 * @property {number} inFlight on average
 * @property {number} peak of the looks
 * @property {number} queries
 * @property {number} syncs
 * @property {number} preparedStatements
 *
 * What has happened since the sample before; rates are for each second.
 * @typedef {object} Sample
 * @property {number} at Date.now()
 * @property {number} seconds since the sample before
 * @property {number} queries
 * @property {number} syncs
 * @property {number} flushes
 * @property {number} wakeups
 * @property {number} hits of the statement cache
 * @property {number} misses
 * @property {number} failed queries
 * @property {number} evictions since the pool was made
 * @property {number} waiting now
 * @property {{ p50: number, p95: number, p99: number } | null} latencyMillis from query() to its
 *   result; null when nothing was settled
 * @property {{ p50: number, p99: number }} delayMillis of the event loop
 * @property {number} busy the part of the time in which the event loop did not wait, up to 1
 * @property {(ConnectionSample | null)[]} connections each keeps its place for as long as it is open
 */

/** Emits `sample`. */
class Sampler extends EventEmitter {
  /** Oldest first. @type {Sample[]} */
  history = [];
  #pool;
  #latencies = createHistogram({ lowest: 1, highest: MAX_LATENCY_MICROS });
  #delays = monitorEventLoopDelay({ resolution: DELAY_RESOLUTION_MILLIS });
  #failed = 0;
  #before;
  #beganAt = performance.now();
  #utilization = performance.eventLoopUtilization();
  /** Ids of connections, by place. @type {(number | undefined)[]} */
  #places = [];
  /** By the connection's id. @type {Map<number, { looks: number, sum: number, peak: number }>} */
  #inFlight = new Map();
  #timers;
  #subscriber = {
    /** @param {{ durationMillis: number, error?: Error }} trace */
    asyncEnd: ({ durationMillis, error }) => {
      const micros = Math.round(durationMillis * 1000);
      this.#latencies.record(Math.min(MAX_LATENCY_MICROS, Math.max(1, micros)));
      if (error) ++this.#failed;
    },
  };

  /** @param {import('../../..').Pool} pool the only one of the process: the channel has no names */
  constructor(pool) {
    super();
    this.#pool = pool;
    this.#before = pool.stats();
    tracingChannel('pg-conduit:query').subscribe(this.#subscriber);
    this.#delays.enable();
    this.#timers = [
      setInterval(() => this.#look(), LOOK_MILLIS),
      setInterval(() => this.#sample(), INTERVAL_MILLIS),
    ];
  }

  stop() {
    for (const timer of this.#timers) clearInterval(timer);
    this.#delays.disable();
    tracingChannel('pg-conduit:query').unsubscribe(this.#subscriber);
  }

  #look() {
    for (const { id, inFlight } of this.#pool.stats().connections) {
      const seen = this.#inFlight.get(id) ?? { looks: 0, sum: 0, peak: 0 };
      this.#inFlight.set(id, seen);
      ++seen.looks;
      seen.sum += inFlight;
      seen.peak = Math.max(seen.peak, inFlight);
    }
  }

  #sample() {
    this.#look();
    const stats = this.#pool.stats();
    const before = this.#before;
    const now = performance.now();
    const seconds = (now - this.#beganAt) / 1000;
    const utilization = performance.eventLoopUtilization();
    /** @param {number} after @param {number} [earlier] */
    const rate = (after, earlier = 0) => round((after - earlier) / seconds);
    /** @type {any} */
    const rates = {};
    for (const name of COUNTERS) rates[name] = rate(stats[name], before[name]);
    const { hits, misses, evictions } = stats.statementCache;

    /** @type {Sample} */
    const sample = {
      at: Date.now(),
      seconds: round(seconds),
      ...rates,
      hits: rate(hits, before.statementCache.hits),
      misses: rate(misses, before.statementCache.misses),
      failed: rate(this.#failed),
      evictions,
      waiting: stats.waitingCount,
      latencyMillis: this.#readLatencies(),
      delayMillis: this.#readDelays(),
      busy: round(performance.eventLoopUtilization(utilization, this.#utilization).utilization),
      connections: this.#readConnections(stats, rate),
    };

    this.#before = stats;
    this.#beganAt = now;
    this.#utilization = utilization;
    this.#failed = 0;
    this.#inFlight.clear();
    this.history.push(sample);
    if (this.history.length > (WINDOW_SECONDS * 1000) / INTERVAL_MILLIS) this.history.shift();
    this.emit('sample', sample);
  }

  #readLatencies() {
    const latencies = this.#latencies;
    if (latencies.count === 0) return null;
    /** @param {number} percent */
    const read = (percent) => round(latencies.percentile(percent) / 1000);
    const found = { p50: read(50), p95: read(95), p99: read(99) };
    latencies.reset();
    return found;
  }

  /** What the timer was late, by which the delay is measured. */
  #readDelays() {
    const delays = this.#delays;
    /** @param {number} percent */
    const read = (percent) =>
      round(Math.max(0, delays.percentile(percent) / 1e6 - DELAY_RESOLUTION_MILLIS));
    const found = delays.count === 0 ? { p50: 0, p99: 0 } : { p50: read(50), p99: read(99) };
    delays.reset();
    return found;
  }

  /**
   * @param {import('../../..').PoolStats} stats
   * @param {(after: number, earlier?: number) => number} rate
   */
  #readConnections({ connections }, rate) {
    const open = new Set(connections.map(({ id }) => id));
    const places = this.#places;
    for (const [place, id] of places.entries()) {
      if (id !== undefined && !open.has(id)) places[place] = undefined;
    }
    for (const id of open) {
      if (places.includes(id)) continue;
      const free = places.indexOf(undefined);
      places[free < 0 ? places.length : free] = id;
    }
    const earlier = new Map(this.#before.connections.map((one) => [one.id, one]));
    return places.map((id) => {
      const one = connections.find((connection) => connection.id === id);
      if (!one) return null;
      const { looks, sum, peak } = this.#inFlight.get(one.id) ?? { looks: 1, sum: 0, peak: 0 };
      return {
        processId: one.processID,
        state: one.state,
        inFlight: round(sum / looks),
        peak,
        queries: rate(one.queries, earlier.get(one.id)?.queries),
        syncs: rate(one.syncs, earlier.get(one.id)?.syncs),
        preparedStatements: one.preparedStatements,
      };
    });
  }
}

/** @param {number} value for JSON: what nobody reads is cut off */
function round(value) {
  return Math.round(value * 1000) / 1000;
}

module.exports = { INTERVAL_MILLIS, Sampler, WINDOW_SECONDS };
