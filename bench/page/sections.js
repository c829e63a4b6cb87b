'use strict';

// The part of the report page about one workload: for each case, each line chart, or each group of cases, the plots and
// the table of the same figures. Called by view.js.

const { divide, formatNumber, formatPart, formatRange } = require('./format');
const { METRICS, roleOf } = require('./metrics');
const { driversOf, membersOf, ratioOf } = require('./overview');

/**
 * @typedef {import('../figures').Figures} Figures
 * @typedef {import('../report').Result} Result
 * @typedef {import('../report').Spread} Spread
 * @typedef {import('./metrics').Metric} Metric
 * @typedef {import('./metrics').Role} Role
 * @typedef {import('./overview').Cell} Cell
 * @typedef {import('./overview').Table} Table
 *
 * What plots.js draws, in the browser.
 * @typedef {Spread & { text: string }} Mark
 * @typedef {{ driver: string, role: Role, failed?: boolean, x?: number, marks: Mark[] }} PlotRow
 * @typedef {object} Plot
 * @property {string} id
 * @property {'bars' | 'latency' | 'lines'} kind
 * @property {string} title
 * @property {string} axis the unit
 * @property {string} [xAxis]
 * @property {PlotRow[]} rows
 *
 * @typedef {{ id: string, title: string, plots: Plot[], tables: Table[] }} Block
 */

/**
 * @param {Figures} figures
 * @param {import('../figures').FiguresWorkload} workload
 * @param {string} id of the section
 */
function buildSection(figures, workload, id) {
  const own = figures.results.filter((result) => result.workload === workload.id);
  /** @type {Map<string, Result[]>} */
  const groups = new Map();
  for (const result of own) {
    const name = isLine(result, own) ? String(result.series) : (result.group ?? result.case);
    groups.set(name, [...(groups.get(name) ?? []), result]);
  }
  const blocks = [...groups].map(([title, results], index) => {
    const [{ group }] = results;
    const build = isLine(results[0], own) ? buildLines : group ? buildGroup : buildCase;
    return build({ ...figures, results }, workload, title, `${id}-${index + 1}`);
  });
  return { id, title: workload.title, blocks };
}

/**
 * A single point of a series, as a quick run has it, makes no line.
 * @param {Result} result
 * @param {Result[]} all
 */
function isLine({ series, x }, all) {
  return series !== undefined && all.some((one) => one.series === series && one.x !== x);
}

/**
 * @param {Figures} figures with the results of this case
 * @param {import('../figures').FiguresWorkload} workload
 * @param {string} title
 * @param {string} id
 * @returns {Block}
 */
function buildCase(figures, workload, title, id) {
  const { results } = figures;
  const found = workload.cases?.find(({ name }) => name === title);
  const latencyOnly = found?.latencyOnly;
  const present = Object.values(METRICS).filter(
    (metric) => !(metric.load && latencyOnly) && results.some((result) => result[metric.key]),
  );
  const columns = present.map((metric) => ({ metric, ...unitOf(metric, results, workload.unit) }));
  /** @type {Plot[]} */
  const plots = [];
  /** @param {typeof columns} shown @param {Pick<Plot, 'kind' | 'title'>} plot */
  const addPlot = (shown, plot) => {
    if (shown.length === 0) return;
    const [{ name: axis, metric }] = shown;
    const rows = orderedResults(figures)
      .map((result) => plotRow(figures, result, shown))
      .filter(({ marks, failed }) => failed || marks.length > 0);
    plots.push({
      ...plot,
      id: `${id}-plot-${plots.length + 1}`,
      title: `${plot.title} (${metric.better} is better)`,
      axis,
      rows,
    });
  };
  const { p50, p99 } = METRICS;
  for (const column of columns) {
    if (column.metric === p50 || column.metric === p99) continue;
    addPlot([column], { kind: 'bars', title: column.metric.name });
  }
  const latencies = columns.filter(({ metric }) => metric === p50 || metric === p99);
  // On one axis the larger one decides about the unit.
  const { name = '', divisor = 1 } = latencies[latencies.length - 1] ?? {};
  for (const column of latencies) Object.assign(column, { name, divisor });
  if (latencies.length < 2) addPlot(latencies, { kind: 'bars', title: latencies[0]?.metric.name });
  else addPlot(latencies, { kind: 'latency', title: 'Latency, p50 (ring) to p99 (diamond)' });
  const ours = found?.ours ?? figures.ours;
  const table = caseTable({ ...figures, ours }, columns, { title, bound: workload.bound });
  return { id, title, plots, tables: [table] };
}

/**
 * @param {Figures} figures with the results of this case, and the driver that its ratios are against
 * @param {{ metric: Metric, name: string, divisor: number }[]} columns
 * @param {{ title: string, bound?: string }} what
 * @returns {Table}
 */
function caseTable(figures, columns, { title, bound }) {
  const head = ['driver'];
  /** @type {((result: Result) => Cell)[]} */
  const read = [];
  for (const { metric, name, divisor } of columns) {
    head.push(`${metric.name}, ${name}`);
    read.push((result) => spreadCell(result[metric.key], divisor));
    const { ratio } = metric;
    const others = figures.results.filter(({ driver }) => driver !== figures.ours);
    if (!ratio || !others.some((result) => result[ratio])) continue;
    head.push(`${metric.name}, ratio`);
    read.push((result) => otherRatio(figures, result, metric));
  }
  if (bound !== undefined && figures.results.some(({ boundPart }) => boundPart)) {
    head.push(`Throughput, of ${bound}`);
    read.push(({ boundPart }) => ({
      text: boundPart === undefined ? '' : formatPart(boundPart),
    }));
  }
  for (const [name, key] of /** @type {const} */ ([
    ['Published', 'published'],
    ['Note', 'note'],
  ])) {
    if (!figures.results.some((result) => result[key])) continue;
    head.push(name);
    read.push((result) => ({ text: result[key] ?? '', kind: 'words' }));
  }
  if (head.length === 1) head.push('figures'); // all have failed
  const rows = orderedResults(figures).map((result) => {
    const { error } = result;
    /** @type {Cell[]} */
    const cells =
      error === undefined
        ? read.map((cell) => cell(result))
        : [{ text: `failed: ${error}`, kind: 'failed', span: head.length - 1 }];
    return { head: result.driver, role: roleOf(result.driver, figures), cells };
  });
  return { caption: `${title}: median (min–max) of the rounds`, head, rows };
}

/**
 * @param {Figures} figures with the results of this series
 * @param {import('../figures').FiguresWorkload} workload
 * @param {string} title
 * @param {string} id
 * @returns {Block}
 */
function buildLines(figures, workload, title, id) {
  const { results } = figures;
  /** @type {Block} */
  const block = { id, title, plots: [], tables: [] };
  const xs = [...new Set(results.map(({ x }) => x ?? 0))].sort((a, b) => a - b);
  for (const metric of Object.values(METRICS)) {
    if (!results.some((result) => result[metric.key])) continue;
    const { name: unit, divisor } = unitOf(metric, results, workload.unit);
    block.plots.push({
      id: `${id}-plot-${block.plots.length + 1}`,
      kind: 'lines',
      title: `${metric.name} (${metric.better} is better)`,
      axis: unit,
      xAxis: title,
      rows: results
        .filter((result) => result[metric.key])
        .map((result) => ({
          ...plotRow(figures, result, [{ metric, divisor }]),
          x: result.x,
        })),
    });
    const keys = xs.map((x) => x.toLocaleString('en'));
    const find = keyed(results, ({ x = 0 }) => x.toLocaleString('en'));
    block.tables.push(crossTable(figures, { metric, unit, divisor, corner: title, keys, find }));
  }
  return block;
}

/**
 * Cases beside each other: in each plot all of them, with a bar for each driver.
 * @param {Figures} figures with the results of this group
 * @param {import('../figures').FiguresWorkload} workload
 * @param {string} title
 * @param {string} id
 * @returns {Block}
 */
function buildGroup(figures, workload, title, id) {
  const { results } = figures;
  /** @type {Block} */
  const block = { id, title, plots: [], tables: [] };
  const find = keyed(results, ({ member }) => String(member));
  const keys = membersOf(results);
  const order = driversOf(figures);
  for (const metric of Object.values(METRICS)) {
    if (!results.some((result) => result[metric.key])) continue;
    const { name: unit, divisor } = unitOf(metric, results, workload.unit);
    const shown = keys.flatMap((key) => order.flatMap((driver) => find(key, driver) ?? []));
    block.plots.push({
      id: `${id}-plot-${block.plots.length + 1}`,
      kind: 'bars',
      title: `${metric.name} (${metric.better} is better)`,
      axis: unit,
      rows: shown.map((result) => ({
        ...plotRow(figures, result, [{ metric, divisor }]),
        driver: `${result.member}, ${result.driver}`,
      })),
    });
    block.tables.push(crossTable(figures, { metric, unit, divisor, corner: 'case', keys, find }));
  }
  return block;
}

/**
 * @param {Result[]} results
 * @param {(result: Result) => string} keyOf
 * @returns {(key: string, driver: string) => Result | undefined}
 */
function keyed(results, keyOf) {
  const found = new Map(results.map((result) => [`${keyOf(result)}/${result.driver}`, result]));
  return (key, driver) => found.get(`${key}/${driver}`);
}

/**
 * A row for each key, and a column for each driver.
 * @param {Figures} figures
 * @param {{ metric: Metric, unit: string, divisor: number, corner: string, keys: string[],
 *   find: ReturnType<typeof keyed> }} what
 * @returns {Table}
 */
function crossTable(figures, { metric, unit, divisor, corner, keys, find }) {
  const names = driversOf(figures);
  return {
    caption: `${metric.name}, ${unit}: median (min–max)${metric.ratio ? ', ratio' : ''}`,
    head: [corner, ...names],
    rows: keys.map((key) => ({
      head: key,
      cells: names.map((driver) => {
        const found = find(key, driver);
        if (!found) return { text: '' };
        if (found.error !== undefined) return { text: `failed: ${found.error}`, kind: 'failed' };
        const cell = spreadCell(found[metric.key], divisor);
        const { text, kind } = otherRatio(figures, found, metric);
        const told = metric === METRICS.time && found.published;
        const range = [cell.range, text, told && `published: ${told}`].filter(Boolean).join('; ');
        return { ...cell, range, kind };
      }),
    })),
  };
}

/**
 * @param {Metric} metric
 * @param {Result[]} results
 * @param {string} unitOfWork
 */
function unitOf(metric, results, unitOfWork) {
  const medians = results.map((result) => result[metric.key]?.median ?? 0);
  return metric.unit(Math.max(...medians), unitOfWork);
}

/** @param {Figures} figures */
function orderedResults(figures) {
  const order = driversOf(figures);
  return [...figures.results].sort((a, b) => order.indexOf(a.driver) - order.indexOf(b.driver));
}

/**
 * @param {Figures} figures
 * @param {Result} result
 * @param {{ metric: Metric, divisor: number }[]} columns
 * @returns {PlotRow}
 */
function plotRow(figures, result, columns) {
  const { driver } = result;
  const marks = columns.flatMap(({ metric, divisor }) => {
    const spread = result[metric.key];
    if (!spread) return [];
    const shown = divide(spread, divisor);
    return [{ ...shown, text: formatNumber(shown.median) }];
  });
  const failed = result.error !== undefined;
  return { driver, role: roleOf(driver, figures), marks, ...(failed && { failed }) };
}

/** @param {Spread | undefined} spread @param {number} divisor @returns {Cell} */
function spreadCell(spread, divisor) {
  if (!spread) return { text: '' };
  const { median, min, max } = divide(spread, divisor);
  const text = formatNumber(median);
  const range = formatRange(min, max);
  return range === text ? { text } : { text, range: `(${range})` };
}

/**
 * @param {Figures} figures
 * @param {Result} result
 * @param {Metric} metric
 * @returns {Cell} empty for our own driver
 */
function otherRatio(figures, result, { ratio }) {
  if (!ratio || result.driver === figures.ours) return { text: '' };
  return ratioOf(figures, result, ratio);
}

module.exports = { buildSection };
