'use strict';

// The table of docs/performance.md with what part of the throughput of W5 without a database each driver reaches. Called by
// fill-docs.js. Where it stands is marked in the page:
//
//   <!-- http -->
//   …
//   <!-- end of http -->

const { isOver } = require('./choices');
const { OURS } = require('./drivers');
const { describe, formatLines, versionOf } = require('./factors');
const { formatNumber } = require('./page/format');
const { bound: BOUND, cases: CASES, id: WORKLOAD } = require('./workloads/w5-http');

/**
 * @typedef {import('./figures').Figures} Figures
 */

const TABLE = /(<!-- http -->\n)[^]*?(<!-- end of http -->)/g;

/** @param {Figures} figures @param {string | undefined} driver @param {string} name of the case */
function find({ results }, driver, name) {
  return results.find(
    (result) => result.workload === WORKLOAD && result.driver === driver && result.case === name,
  );
}

/** @param {Figures} figures */
function formatTable(figures) {
  const shown = figures.drivers
    .map(({ name }) => name)
    .filter((name) => name !== BOUND && CASES.some((one) => find(figures, name, one.name)));
  const head = shown.map((name) =>
    name === OURS ? name : `\`${name}\` ${versionOf(figures, name)}`,
  );
  const rows = CASES.map(({ name }) => {
    const cells = shown.map((driver) => {
      const { error, boundPart } = find(figures, driver, name) ?? {};
      if (error !== undefined) return `failed: ${error}`;
      // Never more than was measured.
      return boundPart === undefined ? '–' : `${Math.floor(100 * boundPart)} %`;
    });
    const limit = find(figures, BOUND, name)?.perSecond?.median;
    return [`\`${name}\``, limit === undefined ? '–' : formatNumber(limit), ...cells];
  });
  return formatLines([['', 'no database, requests/s', ...head], ...rows]);
}

/**
 * @param {string} page
 * @param {Figures[]} all
 * @returns {string} the page, with the table if every route was run with ours and without a database
 */
function fillHttpParts(page, all) {
  const figures = all.find(
    (one) =>
      one.ours === OURS &&
      isOver(one) &&
      CASES.every(({ name }) => find(one, OURS, name) && find(one, BOUND, name)),
  );
  if (!figures) return page;
  const text = `${formatTable(figures)}\n${describe(figures)}`;
  return page.replace(TABLE, (_, start, end) => `${start}\n${text}\n${end}`);
}

module.exports = { fillHttpParts };
