'use strict';

// What is measured of a driver, and how the report page names it. Read by overview.js and sections.js.

const { plural } = require('./format');

/**
 * @typedef {import('../report').Result} Result
 * @typedef {'timeMillis' | 'cpuMicros' | 'perSecond' | 'p50Micros' | 'p99Micros' | 'longestStallMillis' |
 *   'delayP99Millis' | 'serverCpuMicros' | 'connections' | import('../report').MemoryKey} SpreadKey
 * @typedef {'timeRatio' | 'cpuRatio' | 'throughputRatio' | 'p99Ratio' | 'memoryRatio' | 'allocationsRatio' |
 *   'serverRatio'} RatioKey
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

/** @param {number} largest in bytes */
function bytes(largest) {
  return largest < 1 << 20 ? { name: 'KiB', divisor: 1 << 10 } : { name: 'MiB', divisor: 1 << 20 };
}

/** @type {Record<string, Metric>} */
const METRICS = {
  time: {
    key: 'timeMillis',
    ratio: 'timeRatio',
    name: 'Time',
    better: 'less',
    unit: (largest) =>
      largest < 10_000 ? { name: 'ms', divisor: 1 } : { name: 's', divisor: 1000 },
  },
  cpu: {
    key: 'cpuMicros',
    ratio: 'cpuRatio',
    name: 'Client CPU',
    better: 'less',
    load: true,
    unit: (largest, work) => microseconds(largest, ` per ${work}`),
  },
  serverCpu: {
    key: 'serverCpuMicros',
    name: "Server's CPU",
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
    unit: bytes,
  },
  heap: {
    key: 'heapBytes',
    name: 'JavaScript heap',
    better: 'less',
    unit: bytes,
  },
  allocations: {
    key: 'allocations',
    ratio: 'allocationsRatio',
    name: 'Allocations',
    better: 'less',
    unit: () => ({ name: 'calls of malloc()', divisor: 1 }),
  },
  allocated: {
    key: 'allocatedBytes',
    name: 'Allocated',
    better: 'less',
    unit: bytes,
  },
  connections: {
    key: 'connections',
    name: 'Connections at the server',
    better: 'less',
    unit: () => ({ name: 'connections', divisor: 1 }),
  },
  server: {
    key: 'serverBytes',
    ratio: 'serverRatio',
    name: "Server's memory",
    better: 'less',
    unit: bytes,
  },
  delay: {
    key: 'delayP99Millis',
    name: 'Delay of the event loop, p99',
    better: 'less',
    unit: () => ({ name: 'ms', divisor: 1 }),
  },
  stall: {
    key: 'longestStallMillis',
    name: 'Longest stall of the event loop',
    better: 'less',
    unit: () => ({ name: 'ms', divisor: 1 }),
  },
};

/**
 * @typedef {'ours' | 'driver' | 'anchor' | 'limit'} Role
 * @param {string} driver
 * @param {{ ours: string, limits: string[], anchors?: string[], drivers: import('../report').DriverInfo[] }} figures
 * @returns {Role}
 */
function roleOf(driver, { ours, limits, anchors = [], drivers }) {
  if (driver === ours || drivers.find(({ name }) => name === driver)?.ours) return 'ours';
  if (anchors.includes(driver)) return 'anchor';
  return limits.includes(driver) ? 'limit' : 'driver';
}

module.exports = { METRICS, roleOf };
