'use strict';

// From the figures of all rounds to medians, ratios and tables. Called by run.js.

const Table = require('cli-table3');
const { OURS } = require('./drivers');

/**
 * @typedef {import('./measure').Measurement} Measurement
 * @typedef {import('./workloads').Workload} Workload
 *
 * @typedef {{ name: string, version?: string, settings?: string, error?: string }} DriverInfo
 *
 * @typedef {object} Samples one driver in one case
 * @property {string} workload
 * @property {string} case
 * @property {string} driver
 * @property {Measurement[]} measurements one for each round
 * @property {string} [error]
 *
 * @typedef {{ median: number, min: number, max: number }} Spread
 *
 * @typedef {object} Result
 * @property {string} workload
 * @property {string} case
 * @property {string} driver
 * @property {string} [error]
 * @property {Spread} [cpuMicros] for each query or row
 * @property {Spread} [perSecond]
 * @property {Spread} [p50Micros]
 * @property {Spread} [p99Micros]
 * @property {Spread} [longestStallMillis]
 * @property {Spread} [memoryBytes]
 * @property {number} [cpuRatio] this driver's CPU to ours: above 1 ours is better, as in all ratios
 * @property {number} [throughputRatio]
 * @property {number} [p99Ratio]
 * @property {number} [memoryRatio]
 * @property {string} [series] of the case
 * @property {number} [x]
 * @property {Measurement[]} measurements
 */

/**
 * @param {Samples[]} samples
 * @param {Workload[]} workloads
 * @returns {Result[]} without those that do not apply
 */
function summarize(samples, workloads) {
  const results = samples
    .filter(({ measurements, error }) => measurements.length > 0 || error !== undefined)
    .map((one) => {
      const { series, x, memoryOnly, unitsPerOperation: units } = findCase(workloads, one);
      /** @type {Result} */
      const result = { ...one, series, x };
      if (one.error !== undefined) return result;
      /** @param {(measurement: Measurement) => number | undefined} read */
      const spreadOf = (read) => spread(one.measurements.map(read));
      result.memoryBytes = spreadOf((m) => m.memoryBytes);
      if (memoryOnly) return result;
      result.cpuMicros = spreadOf((m) => m.cpuMicros / (m.operations * units));
      result.perSecond = spreadOf((m) => (m.operations * units) / m.seconds);
      result.p50Micros = spreadOf((m) => m.p50Micros);
      result.p99Micros = spreadOf((m) => m.p99Micros);
      result.longestStallMillis = spreadOf((m) => m.longestStallMillis);
      return result;
    });
  for (const result of results) {
    const ours = results.find(
      (one) => one.driver === OURS && one.case === result.case && one.workload === result.workload,
    );
    if (!ours) continue;
    result.cpuRatio = ratio(result.cpuMicros, ours.cpuMicros);
    result.throughputRatio = ratio(ours.perSecond, result.perSecond);
    result.p99Ratio = ratio(result.p99Micros, ours.p99Micros);
    result.memoryRatio = ratio(result.memoryBytes, ours.memoryBytes);
  }
  return results;
}

/**
 * @param {Workload[]} workloads
 * @param {{ workload: string, case: string }} which
 */
function findCase(workloads, which) {
  const workload = workloads.find(({ id }) => id === which.workload);
  const found = workload?.cases.find(({ name }) => name === which.case);
  if (!found) throw new Error(`No case ${which.workload} ${which.case}`);
  return found;
}

/**
 * @param {(number | undefined)[]} numbers
 * @returns {Spread | undefined}
 */
function spread(numbers) {
  const sorted = numbers.filter((number) => number !== undefined).sort((a, b) => a - b);
  if (sorted.length === 0) return undefined;
  const middle = sorted.length / 2;
  const median = (sorted[Math.ceil(middle) - 1] + sorted[Math.floor(middle)]) / 2;
  return { median, min: sorted[0], max: sorted[sorted.length - 1] };
}

/** @param {Spread} [above] @param {Spread} [below] */
function ratio(above, below) {
  return above && below ? above.median / below.median : undefined;
}

/**
 * @param {{ machine: Record<string, unknown>, drivers: DriverInfo[], results: Result[] }} run
 * @param {Workload[]} workloads
 */
function formatReport({ machine, drivers, results }, workloads) {
  const parts = [
    `Node ${machine.node}, ${machine.platform}, ${machine.cpu}; PostgreSQL ${machine.server}; ` +
      `${machine.rounds} rounds of ${machine.measureMillis} ms, ${machine.seconds} s in all`,
    drivers
      .map(({ name, version, settings, error }) =>
        error === undefined
          ? `  ${name} ${version}: ${settings}`
          : `  ${name} is not available: ${error}`,
      )
      .join('\n'),
    'Median (min to max). Ratios are against ' +
      `${OURS}: above 1 it is better, below 1 the other is.`,
  ];
  for (const workload of workloads) {
    const own = results.filter((result) => result.workload === workload.id);
    if (own.length === 0) continue; // none of it with --quick
    parts.push(`${workload.title}\n${formatTable(workload, own)}`);
  }
  return parts.join('\n\n');
}

/**
 * Those of which any result of the workload has a figure.
 * @param {Workload} workload
 * @param {Result[]} results
 */
function columnsOf({ cases, unit }, results) {
  /** @type {{ title: string, read: (result: Result) => string }[]} */
  const columns = [];
  if (!cases.every(({ latencyOnly, memoryOnly }) => latencyOnly || memoryOnly)) {
    columns.push(
      { title: 'CPU ratio', read: ({ cpuRatio }) => formatRatio(cpuRatio) },
      {
        title: 'throughput ratio',
        read: ({ throughputRatio }) => formatRatio(throughputRatio),
      },
      { title: `client CPU us/${unit}`, read: ({ cpuMicros }) => formatSpread(cpuMicros) },
      { title: `${plural(unit)}/s`, read: ({ perSecond }) => formatSpread(perSecond) },
    );
  }
  if (results.some(({ p99Micros }) => p99Micros)) {
    columns.push(
      { title: 'p99 ratio', read: ({ p99Ratio }) => formatRatio(p99Ratio) },
      { title: 'p50 us', read: ({ p50Micros }) => formatSpread(p50Micros) },
      { title: 'p99 us', read: ({ p99Micros }) => formatSpread(p99Micros) },
    );
  }
  if (results.some(({ longestStallMillis }) => longestStallMillis)) {
    columns.push({
      title: 'longest stall ms',
      read: ({ longestStallMillis }) => formatSpread(longestStallMillis),
    });
  }
  if (results.some(({ memoryBytes }) => memoryBytes)) {
    columns.push(
      { title: 'memory ratio', read: ({ memoryRatio }) => formatRatio(memoryRatio) },
      { title: 'memory KiB', read: ({ memoryBytes }) => formatSpread(memoryBytes, 1024) },
    );
  }
  return columns;
}

/**
 * @param {Workload} workload
 * @param {Result[]} results
 */
function formatTable(workload, results) {
  const columns = columnsOf(workload, results);
  const head = ['', 'driver', ...columns.map(({ title }) => title)];
  const table = new Table({
    head,
    style: { head: [], border: [], compact: true },
    colAligns: ['left', 'left', ...head.slice(2).map(() => /** @type {const} */ ('right'))],
  });
  for (const one of workload.cases) {
    for (const result of results.filter((candidate) => candidate.case === one.name)) {
      const row = [one.name, result.driver];
      if (result.error !== undefined) {
        table.push([...row, { colSpan: head.length - 2, content: `failed: ${result.error}` }]);
        continue;
      }
      row.push(...columns.map(({ read }) => read(result)));
      table.push(row);
    }
  }
  return table.toString();
}

/** @param {string} unit */
function plural(unit) {
  return unit === 'query' ? 'queries' : `${unit}s`;
}

/** @param {number} [value] */
function formatRatio(value) {
  return value === undefined ? '' : value.toFixed(2);
}

/** @param {Spread} [value] @param {number} [divisor] */
function formatSpread(value, divisor = 1) {
  if (!value) return '';
  const [median, min, max] = [value.median, value.min, value.max].map((number) =>
    formatNumber(number / divisor),
  );
  return `${median} (${min} to ${max})`;
}

/** @param {number} value with three figures or more */
function formatNumber(value) {
  const digits = value >= 100 ? 0 : value >= 10 ? 1 : 2;
  const options = { minimumFractionDigits: digits, maximumFractionDigits: digits };
  return value.toLocaleString('en', options);
}

module.exports = { formatReport, summarize };
