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
 * @property {number} [cpuRatio] this driver's CPU to ours: above 1 ours is better, as in all ratios
 * @property {number} [throughputRatio]
 * @property {number} [p99Ratio]
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
      /** @type {Result} */
      const result = { ...one };
      if (one.error !== undefined) return result;
      const units = findCase(workloads, one).unitsPerOperation;
      /** @param {(measurement: Measurement) => number | undefined} read */
      const spreadOf = (read) => spread(one.measurements.map(read));
      result.cpuMicros = spreadOf((m) => m.cpuMicros / (m.operations * units));
      result.perSecond = spreadOf((m) => (m.operations * units) / m.seconds);
      result.p50Micros = spreadOf((m) => m.p50Micros);
      result.p99Micros = spreadOf((m) => m.p99Micros);
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
    parts.push(`${workload.title}\n${formatTable(workload, own)}`);
  }
  return parts.join('\n\n');
}

/**
 * @param {Workload} workload
 * @param {Result[]} results
 */
function formatTable(workload, results) {
  const latencyOnly = workload.cases.every((one) => one.latencyOnly);
  const latency = results.some(({ p99Micros }) => p99Micros);
  const head = ['', 'driver'];
  if (!latencyOnly) {
    const { unit } = workload;
    head.push('CPU ratio', 'throughput ratio', `client CPU us/${unit}`, `${plural(unit)}/s`);
  }
  if (latency) head.push('p99 ratio', 'p50 us', 'p99 us');

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
      if (!latencyOnly) {
        row.push(formatRatio(result.cpuRatio), formatRatio(result.throughputRatio));
        row.push(formatSpread(result.cpuMicros), formatSpread(result.perSecond));
      }
      if (latency) {
        row.push(formatRatio(result.p99Ratio));
        row.push(formatSpread(result.p50Micros), formatSpread(result.p99Micros));
      }
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

/** @param {Spread} [value] */
function formatSpread(value) {
  if (!value) return '';
  const { median, min, max } = value;
  return `${formatNumber(median)} (${formatNumber(min)} to ${formatNumber(max)})`;
}

/** @param {number} value with three figures or more */
function formatNumber(value) {
  const digits = value >= 100 ? 0 : value >= 10 ? 1 : 2;
  const options = { minimumFractionDigits: digits, maximumFractionDigits: digits };
  return value.toLocaleString('en', options);
}

module.exports = { formatReport, summarize };
