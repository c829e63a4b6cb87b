'use strict';

// From the figures of all rounds to medians, ratios and tables. Called by run.js and experiments/run.js.

const Table = require('cli-table3');
const { OURS } = require('./drivers');
const { formatPart } = require('./page/format');

/**
 * @typedef {import('./measure').Measurement} Measurement
 * @typedef {import('./workloads').Workload} Workload
 *
 * @typedef {object} DriverInfo
 * @property {string} name
 * @property {string} [version]
 * @property {string} [settings]
 * @property {string} [error]
 * @property {boolean} [ours] where several of a run are
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
 * @property {Spread} [timeMillis] this and the others as in Measurement
 * @property {Spread} [delayP99Millis]
 * @property {Spread} [heapBytes]
 * @property {Spread} [allocations]
 * @property {Spread} [allocatedBytes]
 * @property {Spread} [serverBytes]
 * @property {Spread} [connections]
 * @property {Spread} [serverCpuMicros] for each query or row
 * @property {string} [published] what others have told of it
 * @property {string} [note]
 * @property {number} [cpuRatio] this driver's CPU to ours: above 1 ours is better, as in all ratios
 * @property {number} [throughputRatio]
 * @property {number} [p99Ratio]
 * @property {number} [memoryRatio]
 * @property {number} [timeRatio]
 * @property {number} [allocationsRatio]
 * @property {number} [serverRatio]
 * @property {number} [boundPart] of the throughput of the workload's bound
 * @property {string} [series] of the case
 * @property {number} [x]
 * @property {string} [group] of the case, as in Case
 * @property {string} [member]
 * @property {Measurement[]} measurements
 */

/** @typedef {'memoryBytes' | 'heapBytes' | 'allocations' | 'allocatedBytes' | 'serverBytes'} MemoryKey */

/** @type {MemoryKey[]} */
const MEMORY = ['memoryBytes', 'heapBytes', 'allocations', 'allocatedBytes', 'serverBytes'];

/**
 * @param {Samples[]} samples
 * @param {Workload[]} workloads
 * @param {string} [ours] the driver that all ratios are against
 * @returns {Result[]} without those that do not apply
 */
function summarize(samples, workloads, ours = OURS) {
  const results = samples
    .filter(({ measurements, error }) => measurements.length > 0 || error !== undefined)
    .map((one) => {
      const found = findCase(workloads, one);
      const { series, x, group, member, memoryOnly, isTimed, unitsPerOperation: units } = found;
      const published = found.published?.[one.driver];
      /** @type {Result} */
      const result = { ...one, series, x, group, member, published };
      if (one.error !== undefined) return result;
      /** @param {(measurement: Measurement) => number | undefined} read */
      const spreadOf = (read) => spread(one.measurements.map(read));
      result.note = one.measurements.at(-1)?.note;
      for (const key of MEMORY) result[key] = spreadOf((m) => m[key]);
      result.connections = spreadOf((m) => m.connections);
      if (memoryOnly) return result;
      result.cpuMicros = spreadOf((m) => m.cpuMicros / (m.operations * units));
      result.serverCpuMicros = spreadOf(
        (m) => m.serverCpuMicros && m.serverCpuMicros / (m.operations * units),
      );
      result.timeMillis = spreadOf((m) => m.timeMillis);
      if (!isTimed) result.perSecond = spreadOf((m) => (m.operations * units) / m.seconds);
      result.p50Micros = spreadOf((m) => m.p50Micros);
      result.p99Micros = spreadOf((m) => m.p99Micros);
      result.delayP99Millis = spreadOf((m) => m.delayP99Millis);
      result.longestStallMillis = spreadOf((m) => m.longestStallMillis);
      return result;
    });
  for (const result of results) {
    /** @param {string | undefined} driver in the same case */
    const find = (driver) =>
      results.find(
        (one) =>
          one.driver === driver && one.case === result.case && one.workload === result.workload,
      );
    const bound = find(workloads.find(({ id }) => id === result.workload)?.bound);
    result.boundPart = ratio(result.perSecond, bound?.perSecond);
    const own = find(findCase(workloads, result).ours ?? ours);
    if (!own) continue;
    result.cpuRatio = ratio(result.cpuMicros, own.cpuMicros);
    result.throughputRatio = ratio(own.perSecond, result.perSecond);
    result.timeRatio = ratio(result.timeMillis, own.timeMillis);
    result.p99Ratio = ratio(result.p99Micros, own.p99Micros);
    result.memoryRatio = ratio(result.memoryBytes, own.memoryBytes);
    result.allocationsRatio = ratio(result.allocations, own.allocations);
    result.serverRatio = ratio(result.serverBytes, own.serverBytes);
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

/** @param {Record<string, unknown>} machine */
function describeRounds({ rounds, measureMillis }) {
  const each = measureMillis === undefined ? '' : ` of ${measureMillis} ms`;
  return `${rounds} ${rounds === 1 ? 'round' : 'rounds'}${each}`;
}

/**
 * @param {{ machine: Record<string, unknown>, drivers: DriverInfo[], results: Result[] }} run
 * @param {Workload[]} workloads
 * @param {string} [ours] the driver that all ratios are against
 */
function formatReport({ machine, drivers, results }, workloads, ours = OURS) {
  const parts = [
    `Node ${machine.node}, ${machine.platform}, ${machine.cpu}; PostgreSQL ${machine.server}` +
      `${machine.connection === undefined ? '' : ` over ${machine.connection}`}; ` +
      `${describeRounds(machine)}, ${machine.seconds} s in all`,
    ...Object.entries(machine.places ?? {}).map(([name, words]) => `${name}: ${words}`),
    drivers
      .map(({ name, version, settings, error }) =>
        error === undefined
          ? `  ${name} ${version}: ${settings}`
          : `  ${name} is not available: ${error}`,
      )
      .join('\n'),
    'Median (min to max). Ratios are against ' +
      `${ours}: above 1 it is better, below 1 the other is.`,
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
function columnsOf({ cases, unit, bound }, results) {
  /** @type {{ title: string, read: (result: Result) => string }[]} */
  const columns = [];
  /** @param {keyof Result} key @param {typeof columns} added */
  const addIf = (key, ...added) => {
    if (results.some((result) => result[key] !== undefined)) columns.push(...added);
  };
  addIf('timeMillis', { title: 'time ratio', read: ({ timeRatio }) => formatRatio(timeRatio) });
  if (!cases.every(({ latencyOnly, memoryOnly }) => latencyOnly || memoryOnly)) {
    addIf('cpuMicros', { title: 'CPU ratio', read: ({ cpuRatio }) => formatRatio(cpuRatio) });
    addIf('perSecond', {
      title: 'throughput ratio',
      read: ({ throughputRatio }) => formatRatio(throughputRatio),
    });
    addIf('timeMillis', { title: 'time ms', read: ({ timeMillis }) => formatSpread(timeMillis) });
    addIf('cpuMicros', {
      title: `client CPU us/${unit}`,
      read: ({ cpuMicros }) => formatSpread(cpuMicros),
    });
    addIf('serverCpuMicros', {
      title: `server CPU us/${unit}`,
      read: ({ serverCpuMicros }) => formatSpread(serverCpuMicros),
    });
    addIf('perSecond', {
      title: `${plural(unit)}/s`,
      read: ({ perSecond }) => formatSpread(perSecond),
    });
  }
  addIf('boundPart', {
    title: `of ${bound}`,
    read: ({ boundPart }) => (boundPart === undefined ? '' : formatPart(boundPart)),
  });
  addIf(
    'p99Micros',
    { title: 'p99 ratio', read: ({ p99Ratio }) => formatRatio(p99Ratio) },
    { title: 'p50 us', read: ({ p50Micros }) => formatSpread(p50Micros) },
    { title: 'p99 us', read: ({ p99Micros }) => formatSpread(p99Micros) },
  );
  addIf('delayP99Millis', {
    title: 'loop delay p99 ms',
    read: ({ delayP99Millis }) => formatSpread(delayP99Millis),
  });
  addIf('longestStallMillis', {
    title: 'longest stall ms',
    read: ({ longestStallMillis }) => formatSpread(longestStallMillis),
  });
  addIf(
    'memoryBytes',
    { title: 'memory ratio', read: ({ memoryRatio }) => formatRatio(memoryRatio) },
    { title: 'memory KiB', read: ({ memoryBytes }) => formatSpread(memoryBytes, 1024) },
  );
  addIf('heapBytes', {
    title: 'of it heap KiB',
    read: ({ heapBytes }) => formatSpread(heapBytes, 1024),
  });
  addIf(
    'allocations',
    { title: 'allocations', read: ({ allocations }) => formatSpread(allocations) },
    { title: 'allocated KiB', read: ({ allocatedBytes }) => formatSpread(allocatedBytes, 1024) },
  );
  addIf('connections', {
    title: 'connections',
    read: ({ connections }) => (connections ? String(connections.median) : ''),
  });
  addIf('serverBytes', {
    title: 'server KiB',
    read: ({ serverBytes }) => formatSpread(serverBytes, 1024),
  });
  addIf('published', { title: 'published', read: ({ published = '' }) => published });
  addIf('note', { title: 'note', read: ({ note = '' }) => note });
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
