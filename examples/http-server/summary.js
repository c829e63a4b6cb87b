'use strict';

// What the terminal shows of a load: how far it is, a table of what it has found, and that in one line. Used by start.js;
// the line by live/page.js too.

const { styleText } = require('node:util');
const { SingleBar, Presets } = require('cli-progress');
const Table = require('cli-table3');

/** @typedef {import('./load').Finished} Finished */
/** @typedef {import('./load').Outcome} Outcome */

const NOTHING = '–';

/** One line that grows where a person looks on, one plain line elsewhere. */
function showProgress({ route, seconds, connections }) {
  const title = `GET ${route} for ${seconds} s on ${connections} HTTP connections, in turns`;
  if (!process.stdout.isTTY) {
    console.log(title);
    return () => {};
  }
  const bar = new SingleBar({ format: `${title} {bar} {value}/{total} s` }, Presets.rect);
  bar.start(seconds, 0);
  const timer = setInterval(() => bar.increment(), 1000);
  return () => {
    clearInterval(timer);
    bar.update(seconds);
    bar.stop();
  };
}

/** Of one contender. @type {[label: string, read: (outcome: Outcome) => number, unit: string, digits: number][]} */
const ROWS = [
  ['requests/s', ({ requestsPerSecond }) => requestsPerSecond, '', 0],
  ['CPU a request', ({ cpuMicros }) => cpuMicros, ' µs', 0],
  ['latency p50', ({ p50Millis }) => p50Millis, ' ms', 1],
  ['latency p99', ({ p99Millis }) => p99Millis, ' ms', 1],
  ['connections at the server', ({ connections }) => connections, '', 0],
  ['errors', ({ failures }) => failures, '', 0],
];

/** @param {number} value @param {number} digits */
function format(value, digits) {
  if (!Number.isFinite(value)) return NOTHING;
  const range = { minimumFractionDigits: digits, maximumFractionDigits: digits };
  return value.toLocaleString('en', range);
}

/**
 * @param {Finished} finished
 * @returns {string} what it comes to, in one line; empty if one of them has answered nothing
 */
function headline({ outcomes: [theirs, ours] }) {
  const throughput = ours.requestsPerSecond / theirs.requestsPerSecond;
  const cpu = ours.cpuMicros / theirs.cpuMicros;
  if (!Number.isFinite(throughput) || !Number.isFinite(cpu)) return '';
  const times = format(throughput, throughput < 10 ? 1 : 0);
  return (
    `${ours.name} answers ${times}x the requests per second of ${theirs.name}, ` +
    `with ${format(100 * cpu, 0)} % of its CPU for each`
  );
}

/** @param {Finished} finished */
function printTable(finished) {
  const shown = [...finished.outcomes].reverse();
  const head = ['', ...shown.map(({ name }) => name)];
  const colAligns = /** @type {const} */ (['left', 'right', 'right']);
  const table = new Table({ head, colAligns, style: { head: [], border: [], compact: true } });
  for (const [label, read, unit, digits] of ROWS) {
    table.push([label, ...shown.map((outcome) => format(read(outcome), digits) + unit)]);
  }
  console.log(table.toString());
}

/**
 * How ours came by it.
 * @param {import('../..').PoolStats} before
 * @param {import('../..').PoolStats} after
 */
function printReason(before, after) {
  const queries = after.queries - before.queries;
  const each = (name) => format(queries / (after[name] - before[name]), 1);
  console.log(
    `pg-conduit sent ${each('flushes')} queries in one write on average, ` +
      `and read ${each('wakeups')} answers in one wake-up; ${each('syncs')} shared a transaction.`,
  );
}

/** @param {Finished} finished */
function printHeadline(finished) {
  const line = headline(finished);
  if (line === '') return;
  console.log(`\n${process.stdout.isTTY ? styleText('bold', line) : line}.`);
}

module.exports = { headline, printHeadline, printReason, printTable, showProgress };
