'use strict';

// The tables of W8: what each tool gains by pg-conduit in the place of `pg`. Called by fill-docs.js. Where a table stands is
// marked in the page, with the place from which the server was reached:
//
//   <!-- tools away -->
//   …
//   <!-- end of tools -->

const { isOver } = require('./choices');
const { OURS } = require('./drivers');
const { describe, formatLines, formatPart, formatTimes, versionOf } = require('./factors');
const { getTool } = require('./tools');
const { cases: CASES } = require('./workloads/w8-tools');

/**
 * @typedef {import('./figures').Figures} Figures
 * @typedef {import('./report').Result} Result
 */

const WORKLOAD = 'w8';
const OTHER = 'pg';
const PLACES = [...new Set(CASES.map(({ place }) => String(place)))];
const TABLE = /(<!-- tools (?<place>\w+) -->\n)[^]*?(<!-- end of tools -->)/g;

/** @param {Figures} figures @param {string} driver @param {string} name of the case */
function find({ results }, driver, name) {
  return results.find(
    (result) => result.workload === WORKLOAD && result.driver === driver && result.case === name,
  );
}

/** @param {Figures} figures @param {string} name of the case */
function cell(figures, name) {
  const [own, other] = [OURS, OTHER].map((driver) => find(figures, driver, name));
  const error = own?.error ?? other?.error;
  if (error !== undefined) return `failed: ${error}`;
  const { throughputRatio, cpuRatio } = other ?? {};
  if (throughputRatio === undefined || cpuRatio === undefined) return '–';
  return `**${formatTimes(throughputRatio)}x** (${formatPart(cpuRatio)})`;
}

/** @param {Figures} figures @param {string} driver @param {typeof CASES} cases */
function mostConnections(figures, driver, cases) {
  const counts = cases.map(({ name }) => find(figures, driver, name)?.connections?.max ?? NaN);
  return String(Math.max(...counts.filter((count) => !Number.isNaN(count))));
}

/** @param {Figures} figures @param {typeof CASES} cases of one place */
function formatTable(figures, cases) {
  const shapes = [...new Set(cases.map(({ shape }) => shape))];
  const tools = [...new Set(cases.map(({ tool }) => tool))];
  const connections = `connections, \`${OTHER}\` → ${OURS}`;
  const rows = tools.map((tool) => {
    const own = cases.filter((one) => one.tool === tool);
    const counts = [OTHER, OURS].map((driver) => mostConnections(figures, driver, own));
    const cells = own.map(({ name }) => cell(figures, name));
    return [getTool(tool).packageName, ...cells, counts.join(' → ')];
  });
  return formatLines([['', ...shapes, connections], ...rows]);
}

/**
 * @param {string} page
 * @param {Figures[]} all
 * @returns {string} the page, with the tables of which every row was run
 * @throws {Error} of a mark that names nothing
 */
function fillToolFactors(page, all) {
  return page.replace(TABLE, (whole, start, ...groups) => {
    const { place } = groups[groups.length - 1];
    const cases = CASES.filter((one) => one.place === place);
    if (cases.length === 0) throw new Error(`There is no place ${place}: ${PLACES.join(', ')}`);
    const figures = all.find(
      (one) => one.ours === OURS && isOver(one) && cases.every(({ name }) => find(one, OURS, name)),
    );
    if (!figures) return whole;
    const words =
      `Operations per second, as a multiple of those with \`pg\` ${versionOf(figures, OTHER)}, and in parentheses the client CPU of one, as a ` +
      `part of that with \`pg\`. ${describe(figures, WORKLOAD)}`;
    return `${start}\n${formatTable(figures, cases)}\n${words}\n<!-- end of tools -->`;
  });
}

module.exports = { PLACES, fillToolFactors };
