'use strict';

// The head of a run on the report page: what was measured with what, what failed, and how many times
// better our driver is. Called by view.js.

const { formatNumber, formatRatio } = require('./format');
const { METRICS, roleOf } = require('./metrics');

/**
 * @typedef {import('../figures').Figures} Figures
 * @typedef {import('../report').Result} Result
 * @typedef {import('./metrics').Metric} Metric
 * @typedef {import('./metrics').Role} Role
 *
 * @typedef {object} Cell
 * @property {string} text
 * @property {string} [range]
 * @property {'better' | 'worse' | 'failed' | 'words'} [kind]
 * @property {number} [span] columns
 *
 * @typedef {object} Table
 * @property {string} caption
 * @property {string[]} head
 * @property {{ head: string, role?: Role, cells: Cell[] }[]} rows
 */

/** Ratios nearer to 1 than this are not told apart by colour. */
const EVEN = 0.05;

/** @param {Figures} figures */
function describeMachine({ date, machine }) {
  const { node, platform, cpu, memoryBytes, server, connection, rounds, measureMillis, seconds } =
    machine;
  const each = measureMillis === undefined ? '' : ` of ${measureMillis} ms`;
  /** @type {[string, unknown][]} */
  const facts = [
    ['Date', String(date).slice(0, 16).replace('T', ' ') + ' UTC'],
    ['Machine', [platform, cpu].filter(Boolean).join(', ')],
    ['Memory', memoryBytes && `${formatNumber(Number(memoryBytes) / 2 ** 30)} GiB`],
    ['Node.js', node],
    ['PostgreSQL', [server, connection && `over ${connection}`].filter(Boolean).join(', ')],
    ['Measured', `${rounds} ${rounds === 1 ? 'round' : 'rounds'}${each}, ${seconds} s in all`],
    ...Object.entries(machine.places ?? {}),
  ];
  return facts
    .filter(([, value]) => value)
    .map(([name, value]) => ({ name, value: String(value) }));
}

/** @param {Figures} figures @returns {Table} */
function driverTable(figures) {
  return {
    caption: 'Drivers, their versions and settings',
    head: ['driver', 'version', 'settings'],
    rows: figures.drivers.map(({ name, version = '', settings = '', error }) => ({
      head: name,
      role: roleOf(name, figures),
      cells:
        error === undefined
          ? [
              { text: version, kind: 'words' },
              { text: settings, kind: 'words' },
            ]
          : [{ text: `not available: ${error}`, kind: 'failed', span: 2 }],
    })),
  };
}

/**
 * Those that compare drivers at work: lines are compared in their own section, groups in tables of their own.
 * @param {Figures} figures
 * @param {Metric} metric
 */
function comparable({ workloads, results }, metric) {
  return results.filter((result) => {
    const workload = workloads.find(({ id }) => id === result.workload);
    const found = workload?.cases?.find(({ name }) => name === result.case);
    if (found?.ours !== undefined) return false; // its ratios say how much better another is
    const isAlone = result.series === undefined && result.group === undefined;
    return isAlone && !(metric.load && found?.latencyOnly);
  });
}

/**
 * @param {Figures} figures
 * @returns {string[]} sentences
 */
function claims(figures) {
  const { ours } = figures;
  const sentences = [];
  for (const [metric, words] of /** @type {[Metric, string][]} */ ([
    [METRICS.time, 'the shortest time'],
    [METRICS.cpu, 'the least client CPU'],
    [METRICS.throughput, 'the highest throughput'],
    [METRICS.p99, 'the lowest p99'],
  ])) {
    const results = comparable(figures, metric).filter((result) => result[metric.key]);
    let cases = 0;
    let best = 0;
    for (const result of results.filter(({ driver }) => driver === ours)) {
      const others = results.filter(
        (other) => sameCase(other, result) && roleOf(other.driver, figures) === 'driver',
      );
      if (others.length === 0) continue;
      cases++;
      if (others.every((other) => Number(ratioIn(other, metric)) >= 1)) best++;
    }
    const total = cases === 1 ? '1 case' : `${cases} cases`;
    if (cases > 0) sentences.push(`${words} in ${best} of ${total}`);
  }
  return sentences;
}

/** @param {Result} result @param {Metric} metric @returns {number | undefined} */
function ratioIn(result, { ratio }) {
  return ratio && result[ratio];
}

/** @param {Result} a @param {Result} b */
function sameCase(a, b) {
  return a.workload === b.workload && a.case === b.case;
}

/**
 * One row for each driver: the median case, and from which to which.
 * @param {Figures} figures
 * @returns {Table}
 */
function ratioSummary(figures) {
  const { time, cpu, throughput, p99 } = METRICS;
  const metrics = [time, cpu, throughput, p99].filter((metric) =>
    comparable(figures, metric).some((result) => ratioIn(result, metric)),
  );
  const names = driversOf(figures).filter((name) => name !== figures.ours);
  const rows = names.map((name) => ({
    head: name,
    role: roleOf(name, figures),
    cells: metrics.map((metric) => {
      const ratios = comparable(figures, metric)
        .filter(({ driver }) => driver === name)
        .flatMap((result) => ratioIn(result, metric) ?? [])
        .sort((a, b) => a - b);
      return summarizeRatios(ratios, roleOf(name, figures));
    }),
  }));
  return {
    caption: `How many times better ${figures.ours} is: the median of all cases, and the range`,
    head: ['compared with', ...metrics.map(({ name }) => name)],
    rows: rows.filter(({ cells }) => cells.some(({ text }) => text !== '')),
  };
}

/** @param {number[]} sorted @param {Role} role @returns {Cell} */
function summarizeRatios(sorted, role) {
  if (sorted.length === 0) return { text: '' };
  const half = sorted.length / 2;
  const median = (sorted[Math.ceil(half) - 1] + sorted[Math.floor(half)]) / 2;
  const ends = [sorted[0], sorted[sorted.length - 1]].map(formatRatio);
  const cases = sorted.length > 1 ? `${ends.join('–')} in ${sorted.length} cases` : 'in 1 case';
  return { ...ratioCell(median, role), range: cases };
}

/**
 * Cases by drivers.
 * @param {Figures} figures
 * @returns {Table[]} one for each metric that has a ratio
 */
function ratioTables(figures) {
  const tables = [];
  for (const metric of Object.values(METRICS)) {
    const { ratio: key } = metric;
    if (!key) continue;
    const results = comparable(figures, metric).filter(
      (result) => result.error !== undefined || result[metric.key],
    );
    const others = driversOf({ ...figures, results }).filter((name) => name !== figures.ours);
    if (!results.some((result) => result[key] && result.driver !== figures.ours)) continue;
    /** @type {Result[]} */
    const cases = [];
    for (const result of results) {
      const compared = results.some(
        (one) => sameCase(one, result) && one[key] && others.includes(one.driver),
      );
      if (compared && !cases.some((one) => sameCase(one, result))) cases.push(result);
    }
    tables.push({
      caption: `${metric.name}: how many times better ${figures.ours} is`,
      head: ['case', ...others],
      rows: cases.map((one) => ({
        head: nameCase(figures, one),
        cells: others.map((driver) => {
          const found = results.find((result) => result.driver === driver && sameCase(result, one));
          return ratioOf(figures, found, key);
        }),
      })),
    });
  }
  return tables;
}

/**
 * Of cases that are shown beside each other: a row for each of them, a column for each group.
 * @param {Figures} figures
 * @returns {Table[]} one for each workload, metric and other driver
 */
function groupTables(figures) {
  const tables = [];
  for (const { id, title } of figures.workloads) {
    const own = figures.results.filter(({ workload, group }) => workload === id && group);
    const groups = [...new Set(own.map(({ group }) => String(group)))];
    const others = driversOf({ ...figures, results: own }).filter((name) => name !== figures.ours);
    for (const { name, ratio } of [METRICS.throughput, METRICS.cpu]) {
      for (const driver of others) {
        const results = own.filter((result) => result.driver === driver);
        if (ratio === undefined || !results.some((result) => result[ratio])) continue;
        tables.push({
          caption: `${title}. ${name}: how many times better than ${driver}`,
          head: ['case', ...groups],
          rows: membersOf(results).map((member) => ({
            head: member,
            cells: groups.map((group) => {
              const found = results.find((one) => one.group === group && one.member === member);
              return ratioOf(figures, found, ratio);
            }),
          })),
        });
      }
    }
  }
  return tables;
}

/** @param {Result[]} results of groups */
function membersOf(results) {
  return [...new Set(results.map(({ member }) => String(member)))];
}

/**
 * @param {Figures} figures
 * @param {Result | undefined} result
 * @param {import('./metrics').RatioKey} key
 * @returns {Cell}
 */
function ratioOf(figures, result, key) {
  if (result?.error !== undefined) return { text: 'failed', kind: 'failed' };
  const ratio = result?.[key];
  if (!result || typeof ratio !== 'number') return { text: '' };
  return ratioCell(ratio, roleOf(result.driver, figures));
}

/**
 * A limit is not meant to be beaten, and gets no colour.
 * @param {number} ratio
 * @param {Role} role
 * @returns {Cell}
 */
function ratioCell(ratio, role) {
  const text = formatRatio(ratio);
  if (role === 'limit') return { text };
  if (ratio > 1 + EVEN) return { text, kind: 'better' };
  return ratio < 1 - EVEN ? { text, kind: 'worse' } : { text };
}

/**
 * In the order of the bench; a driver that only the results name comes last.
 * @param {Figures} figures
 * @returns {string[]} those that have results
 */
function driversOf({ drivers, results }) {
  const names = new Set([...drivers.map(({ name }) => name), ...results.map((one) => one.driver)]);
  return [...names].filter((name) => results.some(({ driver }) => driver === name));
}

/** @param {Figures} figures */
function failures(figures) {
  return figures.results
    .filter(({ error }) => error !== undefined)
    .map((one) => ({ what: `${one.driver}, ${nameCase(figures, one)}`, error: one.error }));
}

/** @param {Figures} figures @param {Result} result */
function nameCase({ workloads }, result) {
  const title = workloads.find(({ id }) => id === result.workload)?.title ?? result.workload;
  return `${title.split(':')[0]} ${result.case}`;
}

module.exports = {
  claims,
  describeMachine,
  driverTable,
  driversOf,
  failures,
  groupTables,
  membersOf,
  ratioOf,
  ratioSummary,
  ratioTables,
};
