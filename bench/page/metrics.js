'use strict';

// What is measured of a driver, and how the report page names it. Read by overview.js and sections.js.

const { plural } = require('./format');

/**
 * @typedef {import('../report').Result} Result
 * @typedef {'cpuMicros' | 'perSecond' | 'p50Micros' | 'p99Micros' | 'memoryBytes' | 'longestStallMillis'} SpreadKey
 * @typedef {'cpuRatio' | 'throughputRatio' | 'p99Ratio' | 'memoryRatio'} RatioKey
 * @typedef {{ name: string, divisor: number }} Unit
 *
 * @typedef {object} Metric
 * @property {SpreadKey} key
 * @property {RatioKey} [ratio] above 1 our driver is better
 * @property {string} name
 * @property {'less' | 'more'} better
 * @property {boolean} [load] says little where the throughput is given
 * @property {(largest: number, unitOfWork: string) => Unit} unit
 */

/** @param {number} largest in microseconds @param {string} [per] */
function microseconds(largest, per = '') {
  return largest < 10_000 ? { name: `µs${per}`, divisor: 1 } : { name: `ms${per}`, divisor: 1000 };
}

/** @type {Record<string, Metric>} */
const METRICS = {
  cpu: {
    key: 'cpuMicros',
    ratio: 'cpuRatio',
    name: 'Client CPU',
    better: 'less',
    load: true,
    unit: (largest, work) => microseconds(largest, ` per ${work}`),
  },
  throughput: {
    key: 'perSecond',
    ratio: 'throughputRatio',
    name: 'Throughput',
    better: 'more',
    load: true,
    unit: (_, work) => ({ name: `${plural(work)} per second`, divisor: 1 }),
  },
  p50: {
    key: 'p50Micros',
    name: 'Latency p50',
    better: 'less',
    unit: (largest) => microseconds(largest),
  },
  p99: {
    key: 'p99Micros',
    ratio: 'p99Ratio',
    name: 'Latency p99',
    better: 'less',
    unit: (largest) => microseconds(largest),
  },
  memory: {
    key: 'memoryBytes',
    ratio: 'memoryRatio',
    name: 'Memory',
    better: 'less',
    unit: (largest) =>
      largest < 1 << 20 ? { name: 'KiB', divisor: 1 << 10 } : { name: 'MiB', divisor: 1 << 20 },
  },
  stall: {
    key: 'longestStallMillis',
    name: 'Longest stall of the event loop',
    better: 'less',
    unit: () => ({ name: 'ms', divisor: 1 }),
  },
};

/**
 * @typedef {'ours' | 'driver' | 'limit'} Role
 * @param {string} driver
 * @param {{ ours: string, limits: string[] }} figures
 * @returns {Role}
 */
function roleOf(driver, { ours, limits }) {
  if (driver === ours) return 'ours';
  return limits.includes(driver) ? 'limit' : 'driver';
}

module.exports = { METRICS, roleOf };
