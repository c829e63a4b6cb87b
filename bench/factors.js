'use strict';

// The tables of README.md and docs/performance.md: how many times the others' throughput pg-conduit has, and with what part of
// their CPU. Called by fill-docs.js. Where a table stands is marked in the page, with its name:
//
//   <!-- factors short -->
//   …
//   <!-- end of factors -->

const { isOver } = require('./choices');
const { OURS } = require('./drivers');
const { plural } = require('./page/format');

/**
 * @typedef {import('./figures').Figures} Figures
 * @typedef {import('./report').Result} Result
 *
 * @typedef {object} Row
 * @property {string} words for it
 * @property {string} workload
 * @property {string} name of the case
 */

/** @param {string} words @param {string} workload @param {string} name @returns {Row} */
const row = (words, workload, name) => ({ words, workload, name });

/** The drivers by name, with a place for their version. */
const DRIVERS = {
  pg: '`pg` {}',
  'pg-pipeline': '`pg` {}, `pipeline: true`',
  'pg-native': '`pg-native` {}',
  postgres: '`postgres` {}',
};

/** What is told of other networks, too. */
const EVERYWHERE = [
  row('one select by primary key at a time', 'w1', '1 in flight'),
  row('256 selects in flight, one connection, a Sync each', 'w1', '256 in flight, a Sync each'),
  row('the same in Sync groups (the default of a pool)', 'w1', '256 in flight, Sync groups'),
  row('256 selects in flight, a pool of 10', 'w2', '256 in flight'),
  row('1000 inserts as promises, a Sync each', 'w4', 'as promises, a Sync each'),
  row("the same, `syncGroup: 'all'`", 'w4', 'as promises, Sync groups'),
  row('HTTP: one select per request, 64 connections', 'w5', '/db'),
];

/**
 * @typedef {object} FactorTable
 * @property {Record<string, string>} drivers
 * @property {Row[]} rows
 * @property {Partial<import('./choices').Choices>} [network] other than the usual one
 */

/** @type {Record<string, FactorTable>} */
const TABLES = {
  // For who does not know yet what a Sync is.
  short: {
    drivers: { pg: '`pg` {}', postgres: '`postgres` {}' },
    rows: [
      row('256 callers, one connection', 'w1', '256 in flight, Sync groups'),
      row('256 callers, a pool of 10', 'w2', '256 in flight'),
      row('an HTTP server, one query per request', 'w5', '/db'),
      row('1000 concurrent inserts', 'w4', 'as promises, a Sync each'),
      row('a result of 10,000 rows', 'w3', '10,000 rows x 9 mixed columns'),
      row('one query at a time', 'w1', '1 in flight'),
    ],
  },
  full: {
    drivers: DRIVERS,
    rows: [
      ...EVERYWHERE.slice(0, 4),
      row(
        '32 selects in flight, a pool of 10, beside transactions, streams, COPY and settings',
        'w10',
        '32 callers, beside all else that a driver does',
      ),
      row('10,000 rows of nine columns', 'w3', '10,000 rows x 9 mixed columns'),
      ...EVERYWHERE.slice(4),
    ],
  },
  tls: { drivers: DRIVERS, rows: EVERYWHERE, network: { tcp: true, tls: true } },
  away: { drivers: DRIVERS, rows: EVERYWHERE, network: { tcp: true, latencyMillis: 1 } },
};

const TABLE = /(<!-- factors (?<name>\w+) -->\n)[^]*?(<!-- end of factors -->)/g;

// Never more than was measured: what is cut off is to our disadvantage.

/**
 * @param {Result} [result] of another driver
 * @param {string} unit of what was done
 */
function cell(result, unit) {
  if (result === undefined) return '–';
  const { error, throughputRatio, cpuRatio } = result;
  if (error !== undefined) return `failed: ${error}`;
  if (throughputRatio === undefined || cpuRatio === undefined) return '–';
  const [times, part] = [formatTimes(throughputRatio), formatPart(cpuRatio)];
  return `**${times}x** the ${plural(unit)}/s, **${part}** of the CPU`;
}

/** @param {number} ratio of our throughput to another's */
function formatTimes(ratio) {
  return ratio < 10 ? (Math.floor(ratio * 10) / 10).toFixed(1) : String(Math.floor(ratio));
}

/** @param {number} ratio of another's CPU to ours */
function formatPart(ratio) {
  return ratio < 2 ? `${Math.ceil(100 / ratio)} %` : `1/${Math.floor(ratio)}`;
}

/** @param {Figures} figures @param {string} driver */
function versionOf({ drivers }, driver) {
  const { version = '' } = drivers.find(({ name }) => name === driver) ?? {};
  return version.split('.').slice(0, 2).join('.');
}

/** @param {Figures} figures @param {string} name */
function formatTable(figures, name) {
  const { drivers, rows } = TABLES[name];
  const shown = Object.keys(drivers).filter((driver) =>
    figures.results.some((result) => result.driver === driver),
  );
  const head = shown.map(
    (driver) => `compared with ${drivers[driver].replace('{}', versionOf(figures, driver))}`,
  );
  const lines = rows.map(({ words, workload, name: one }) => {
    const unit = String(figures.workloads.find(({ id }) => id === workload)?.unit);
    const cells = shown.map((driver) => {
      const result = figures.results.find(
        (candidate) =>
          candidate.workload === workload && candidate.case === one && candidate.driver === driver,
      );
      return cell(result, unit);
    });
    return [words, ...cells];
  });
  return formatLines([['', ...head], ...lines]);
}

/** @param {string[][]} rows the first one is the head */
function formatLines([head, ...rows]) {
  return [head, head.map(() => '---'), ...rows]
    .map((cells) => `| ${cells.join(' | ')} |\n`)
    .join('');
}

/** @param {Figures} figures @param {string} [workload] that is measured in fewer rounds than the others */
function describe({ command, machine, results }, workload) {
  const { node, server, cpu } = machine;
  const own = results.filter((result) => result.workload === workload);
  const rounds =
    Math.max(...own.map(({ measurements = [] }) => measurements.length), 0) || machine.rounds;
  return (
    `Measured by \`${command}\`: ${rounds === 1 ? 'one round' : `medians of ${rounds} rounds`}, each driver alone in its own process; ` +
    `Node.js ${node}, PostgreSQL ${server}, ${cpu} cores shared with the server.\n`
  );
}

/**
 * @param {string} page
 * @param {Figures[]} all
 * @returns {string} the page, with the tables of which every row was run
 * @throws {Error} of a mark that names nothing
 */
function fillFactors(page, all) {
  return page.replace(TABLE, (whole, start, ...groups) => {
    const { name } = groups[groups.length - 1];
    const table = TABLES[name];
    if (!table) throw new Error(`There is no table ${name}: ${Object.keys(TABLES).join(', ')}`);
    const figures = all.find(
      (run) =>
        run.ours === OURS &&
        isOver(run, table.network) &&
        table.rows.every((one) =>
          run.results.some(
            (result) =>
              result.driver === OURS &&
              result.workload === one.workload &&
              result.case === one.name,
          ),
        ),
    );
    if (!figures) return whole;
    return `${start}\n${formatTable(figures, name)}\n${describe(figures)}\n<!-- end of factors -->`;
  });
}

module.exports = {
  TABLES,
  describe,
  fillFactors,
  formatLines,
  formatPart,
  formatTimes,
  versionOf,
};
