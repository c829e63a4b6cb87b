'use strict';

// Puts what the experiments measured into the tables of the documentation. Called by ../fill-docs.js. Where a table stands
// is marked in the page:
//
//   <!-- figures fleet/thinking "point selects": throughput, p99 -->
//   …
//   <!-- end of figures -->
//
// The names are those of index.js and of page/metrics.js; without a case its line over all cases; `range` is that of
// the first metric; `published` and `note` are left out where nothing is.

const path = require('node:path');
const { divide, formatNumber, formatRange } = require('../page/format');
const { METRICS, roleOf } = require('../page/metrics');
const { EXPERIMENTS } = require('.');

/**
 * @typedef {import('../figures').Figures} Figures
 * @typedef {import('../report').Result} Result
 *
 * @typedef {object} Column
 * @property {string} head
 * @property {(result: Result) => string} read
 */

const PAGES = ['experiments.md', 'performance.md', 'scaling.md'].map((name) =>
  path.join(__dirname, '..', '..', 'docs', name),
);
const TABLE =
  /(<!-- figures (?<id>[\w-]+)\/(?<workload>[\w-]+)(?: "(?<name>[^"]+)")?: (?<columns>[\w, ]+) -->\n)[^]*?(<!-- end of figures -->)/g;

/** @param {string} name */
function metricOf(name) {
  const metric = METRICS[name];
  if (!metric) throw new Error(`There is no metric ${name}: ${Object.keys(METRICS).join(', ')}`);
  return metric;
}

/**
 * @param {string} name of a metric
 * @param {Result[]} results
 * @param {string} unitOfWork
 * @returns {Column}
 */
function metricColumn(name, results, unitOfWork) {
  const metric = metricOf(name);
  const largest = Math.max(...results.map((result) => result[metric.key]?.median ?? 0));
  const { name: unit, divisor } = metric.unit(largest, unitOfWork);
  return {
    head: metric.name.toLowerCase().startsWith(unit) ? metric.name : `${metric.name}, ${unit}`,
    read(result) {
      const spread = result[metric.key];
      if (!spread) return '';
      const { median, min, max } = divide(spread, divisor);
      if (metric === METRICS.connections) return String(median);
      const [text, range] = [formatNumber(median), formatRange(min, max)];
      return text === range ? text : `${text} (${range})`;
    },
  };
}

/** @param {Figures} figures @param {string} workload */
function unitOf({ workloads }, workload) {
  return String(workloads.find(({ id }) => id === workload)?.unit);
}

/**
 * One case: a row for each arm, a column for each metric.
 * @param {Figures} figures
 * @param {Result[]} results
 * @param {string[]} columns
 * @param {string} unit
 */
function caseTable(figures, results, columns, unit) {
  const words = (/** @type {'published' | 'note'} */ name) =>
    results.some((result) => result[name])
      ? [{ head: name, read: (/** @type {Result} */ result) => result[name] ?? '' }]
      : [];
  const read = columns.flatMap((name) =>
    name === 'published' || name === 'note' ? words(name) : [metricColumn(name, results, unit)],
  );
  const rows = armsOf(figures, results).map((arm) => {
    const result = /** @type {Result} */ (results.find(({ driver }) => driver === arm));
    const cells =
      result.error === undefined
        ? read.map((column) => column.read(result))
        : [`failed: ${result.error}`, ...read.slice(1).map(() => '')];
    return [nameOf(arm, figures), ...cells];
  });
  return formatTable(['', ...read.map(({ head }) => head)], rows);
}

/**
 * All cases of a series: the medians of the first metric in a column each, and the others of the last case.
 * @param {Figures} figures
 * @param {Result[]} results
 * @param {string[]} columns
 * @param {string} unit
 */
function lineTable(figures, results, [first, ...others], unit) {
  const xs = [...new Set(results.map(({ x }) => Number(x)))].sort((a, b) => a - b);
  const last = xs[xs.length - 1];
  const { key, name, unit: toUnit } = metricOf(first);
  const largest = Math.max(...results.map((result) => result[key]?.median ?? 0));
  const { name: shown, divisor } = toUnit(largest, unit);
  const atLast = results.filter(({ x }) => x === last);
  const rest = others.map((one) =>
    one === 'range'
      ? {
          head: 'range',
          read: (/** @type {Result} */ { [key]: spread }) =>
            spread ? formatRange(spread.min / divisor, spread.max / divisor) : '',
        }
      : metricColumn(one, atLast, unit),
  );
  const rows = armsOf(figures, results).map((arm) => {
    const own = results.filter(({ driver }) => driver === arm);
    const points = xs.map((x) => {
      const spread = own.find((result) => result.x === x)?.[key];
      return spread ? formatNumber(spread.median / divisor) : 'failed';
    });
    const end = own.find(({ x }) => x === last);
    return [nameOf(arm, figures), ...points, ...rest.map(({ read }) => (end ? read(end) : ''))];
  });
  const series = results[0].series;
  const heads = xs.map((x) => x.toLocaleString('en'));
  const more = rest.map(({ head }) => `${head} at ${last.toLocaleString('en')}`);
  return formatTable([`${name}, ${shown}, by ${series}`, ...heads, ...more], rows);
}

/** @param {Figures} figures @param {Result[]} results */
function armsOf({ drivers }, results) {
  return drivers
    .map(({ name }) => name)
    .filter((name) => results.some(({ driver }) => driver === name));
}

/** @param {string} arm @param {Figures} figures */
function nameOf(arm, figures) {
  return roleOf(arm, figures) === 'ours' ? `**${arm}**` : arm;
}

/** @param {string[]} head @param {string[][]} rows */
function formatTable(head, rows) {
  const lines = [head, head.map(() => '---'), ...rows];
  return lines.map((cells) => `| ${cells.join(' | ')} |\n`).join('');
}

/**
 * @param {string} page
 * @param {Figures[]} all
 * @returns {string} the page, with the tables of those experiments that were run
 * @throws {Error} of a mark that names nothing
 */
function fill(page, all) {
  return page.replace(TABLE, (whole, start, ...groups) => {
    const { id, workload, name, columns } = groups[groups.length - 1];
    const experiment = EXPERIMENTS.find((one) => one.id === id);
    if (!experiment) throw new Error(`There is no experiment ${id}: ${whole.split('\n')[0]}`);
    const figures = all.find(({ title }) => title === experiment.title);
    if (!figures) return whole;
    const results = figures.results.filter(
      (result) => result.workload === workload && (name === undefined || result.case === name),
    );
    if (results.length === 0) throw new Error(`No such figures: ${whole.split('\n')[0]}`);
    const isLine = name === undefined && results.some(({ x }) => x !== undefined);
    const build = isLine ? lineTable : caseTable;
    const table = build(figures, results, columns.split(', '), unitOf(figures, workload));
    return `${start}\n${table}\n<!-- end of figures -->`;
  });
}

module.exports = { PAGES, fill };
