'use strict';

// The tables of docs/performance.md with the curves of W9: the queries a second of each driver, and their CPU, as the callers
// become more. Called by fill-docs.js. Where a table stands is marked in the page, with the series:
//
//   <!-- callers "callers, one connection" -->
//   …
//   <!-- end of callers -->

const { isOver } = require('./choices');
const { OURS } = require('./drivers');
const { describe, formatLines, versionOf } = require('./factors');
const { formatNumber } = require('./page/format');
const { cases: CASES, id: WORKLOAD } = require('./workloads/w9-callers');

/**
 * @typedef {import('./figures').Figures} Figures
 * @typedef {import('./report').Result} Result
 */

const SERIES = [...new Set(CASES.map(({ series }) => String(series)))];
const TABLE = /(<!-- callers "(?<series>[^"]+)" -->\n)[^]*?(<!-- end of callers -->)/g;

/** @param {Figures} figures @param {string} driver @param {string} name of the case */
function find({ results }, driver, name) {
  return results.find(
    (result) => result.workload === WORKLOAD && result.driver === driver && result.case === name,
  );
}

/** @param {Result | undefined} result */
function cell(result) {
  if (result?.error !== undefined) return `failed: ${result.error}`;
  const { perSecond, cpuMicros } = result ?? {};
  if (!perSecond || !cpuMicros) return '–';
  // Three figures: there is no more in them.
  const rate = Math.round(Number(perSecond.median.toPrecision(3))).toLocaleString('en');
  const text = `${rate} (${formatNumber(cpuMicros.median)})`;
  return result?.driver === OURS ? `**${text}**` : text;
}

/** @param {Figures} figures @param {typeof CASES} cases of one series */
function formatTable(figures, cases) {
  const { drivers, limits, anchors = [] } = figures;
  const shown = drivers.filter(({ name }) => cases.some((one) => find(figures, name, one.name)));
  const head = shown.map(({ name }) => {
    if (name === OURS) return name;
    const kind = anchors.includes(name) ? ', anchor' : limits.includes(name) ? ', limit' : '';
    return `\`${name}\` ${versionOf(figures, name)}${kind}`;
  });
  const upwards = [...cases].sort((a, b) => Number(a.x) - Number(b.x));
  const rows = upwards.map(({ name, x }) => [
    String(x),
    ...shown.map((driver) => cell(find(figures, driver.name, name))),
  ]);
  return formatLines([['callers', ...head], ...rows]);
}

/**
 * @param {string} page
 * @param {Figures[]} all
 * @returns {string} the page, with the tables of which every row was run
 * @throws {Error} of a mark that names nothing
 */
function fillCallers(page, all) {
  return page.replace(TABLE, (whole, start, ...groups) => {
    const { series } = groups[groups.length - 1];
    const cases = CASES.filter((one) => one.series === series);
    if (cases.length === 0) throw new Error(`There is no series ${series}: ${SERIES.join('; ')}`);
    const figures = all.find(
      (one) => one.ours === OURS && isOver(one) && cases.every(({ name }) => find(one, OURS, name)),
    );
    if (!figures) return whole;
    const words = `Queries per second, and in parentheses the client's CPU of a query in µs. ${describe(figures, WORKLOAD)}`;
    return `${start}\n${formatTable(figures, cases)}\n${words}\n<!-- end of callers -->`;
  });
}

module.exports = { SERIES, fillCallers };
