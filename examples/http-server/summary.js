'use strict';

// What the terminal shows of the load: how far it is, and a table of what it has found. Used by start.js.

const { SingleBar, Presets } = require('cli-progress');
const Table = require('cli-table3');
const { failuresOf } = require('./load');

/** One line that grows where a person looks on, one plain line elsewhere. */
function showProgress({ route, seconds, connections }) {
  const title = `GET ${route} for ${seconds} s on ${connections} HTTP connections`;
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

function printTable({ load, before, after }, pool) {
  const queries = after.queries - before.queries;
  const each = (name) => {
    const count = after[name] - before[name];
    return count ? (queries / count).toFixed(1) : '-';
  };
  const table = new Table({ colAligns: ['left', 'right'], style: { head: [], border: [] } });
  table.push(
    ['requests/s', Math.round(load.requests.average).toLocaleString('en')],
    ['latency p50', `${load.latency.p50} ms`],
    ['latency p99', `${load.latency.p99} ms`],
    ['errors', failuresOf(load)],
    ['connections used', `${pool.totalCount} of ${pool.options.max}`],
    ['queries for each Sync', each('syncs')],
    ['queries for each flush', each('flushes')],
    ['queries for each wake-up', each('wakeups')],
  );
  console.log(table.toString());
}

module.exports = { printTable, showProgress };
