'use strict';

// What `npm start` runs: finds or starts a database, serves the routes of server.js on the pool, loads
// itself for a few seconds to show how the queries share connections, then serves until Ctrl-C.

const { once } = require('node:events');
const { setTimeout: delay } = require('node:timers/promises');
const { parseArgs } = require('node:util');
const autocannon = require('autocannon');
const { SingleBar, Presets } = require('cli-progress');
const Table = require('cli-table3');
const { Pool } = require('../..');
const { startDatabase } = require('../../scripts/database');
const { createServer } = require('./server');
const { createTables, dropTables } = require('./tables');

const USAGE = `npm start -- [options]
  --once            end after the load; the exit code tells whether all requests were answered
  --seconds N       how long the load takes (5)
  --connections N   HTTP connections of the load (64)
  --port N          where to listen (3000, or a free port if that is taken)
  --help`;

const ROUTES = ['/db', '/queries?n=20', '/updates?n=20', '/fortunes'];
const MAX_POOL_CONNECTIONS = 4;
const DEFAULT_PORT = 3000;

function readOptions() {
  const { values } = parseArgs({
    options: {
      once: { type: 'boolean', default: false },
      seconds: { type: 'string', default: '5' },
      connections: { type: 'string', default: '64' },
      port: { type: 'string' },
      help: { type: 'boolean', default: false },
    },
  });
  const { once: runOnce, help } = values;
  /** @param {'seconds' | 'connections' | 'port'} name @param {number} minimum */
  const read = (name, minimum) => {
    if (values[name] === undefined) return undefined;
    const number = Number(values[name]);
    if (Number.isInteger(number) && number >= minimum) return number;
    throw new Error(`--${name} is "${values[name]}": give a whole number from ${minimum} on`);
  };
  return {
    runOnce,
    help,
    seconds: read('seconds', 1),
    connections: read('connections', 1),
    port: read('port', 0),
  };
}

/**
 * @param {import('node:http').Server} server
 * @param {number} [port]
 */
async function listen(server, port) {
  try {
    server.listen(port ?? DEFAULT_PORT, '127.0.0.1');
    await once(server, 'listening');
  } catch (error) {
    if (error.code !== 'EADDRINUSE') throw error;
    if (port !== undefined) {
      throw new Error(`Port ${port} is taken: choose another with --port`, { cause: error });
    }
    server.listen(0, '127.0.0.1');
    await once(server, 'listening');
  }
  return `http://127.0.0.1:${server.address().port}`;
}

/** One line that grows where a person looks on, one plain line elsewhere. */
function showProgress(title, seconds) {
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

/**
 * The load, from a thread of its own: it must not share the server's event loop. Undefined when
 * interrupted.
 * @returns {Promise<{ load: object, before: object, after: object } | undefined>}
 */
async function runLoad(url, pool, { seconds, connections }, signal) {
  const before = pool.stats();
  const title = `GET /db for ${seconds} s on ${connections} HTTP connections`;
  const finishProgress = showProgress(title, seconds);
  try {
    const running = autocannon({ url: `${url}/db`, connections, duration: seconds, workers: 1 });
    // With workers, a load that was stopped never reports.
    const load = await Promise.race([running, once(signal, 'abort').then(() => undefined)]);
    if (load) return { load, before, after: pool.stats() };
    running.stop();
    return undefined;
  } finally {
    finishProgress();
  }
}

function printTable({ load, before, after }, pool) {
  const queries = after.queries - before.queries;
  const each = (count) => (count ? (queries / count).toFixed(1) : '-');
  const table = new Table({ colAligns: ['left', 'right'], style: { head: [], border: [] } });
  table.push(
    ['requests/s', Math.round(load.requests.average).toLocaleString('en')],
    ['latency p50', `${load.latency.p50} ms`],
    ['latency p99', `${load.latency.p99} ms`],
    ['errors', failures(load)],
    ['connections used', `${pool.totalCount} of ${MAX_POOL_CONNECTIONS}`],
    ['queries for each flush', each(after.flushes - before.flushes)],
    ['queries for each wake-up', each(after.wakeups - before.wakeups)],
  );
  console.log(table.toString());
}

function failures(load) {
  return load.errors + load.timeouts + load.non2xx;
}

/** Each message once: a database that went away would fill the screen. */
function logOnce() {
  const seen = new Set();
  return (error) => {
    if (seen.has(error.message)) return;
    seen.add(error.message);
    console.error(error);
  };
}

async function main(options) {
  const interrupt = new AbortController();
  const onSignal = () => {
    // The second Ctrl-C means now; the database's supervisor cleans up without us.
    if (interrupt.signal.aborted) process.exit(130);
    interrupt.abort();
  };
  process.on('SIGINT', onSignal);
  process.on('SIGTERM', onSignal);

  // Undone in the opposite order, whatever happens.
  const cleanUps = [];
  try {
    const database = await startDatabase();
    cleanUps.unshift(() => database.stop());
    const pool = new Pool({
      connectionString: database.connectionString,
      max: MAX_POOL_CONNECTIONS,
    });
    const onError = logOnce();
    pool.on('error', onError);
    cleanUps.unshift(() => pool.end());

    const { rows } = await pool.query('show server_version');
    console.log(`PostgreSQL ${rows[0].server_version} (${database.source})`);
    await createTables(pool);
    if (database.source === 'environment') cleanUps.unshift(() => dropTables(pool));

    const server = createServer(pool, { onError });
    const url = await listen(server, options.port);
    cleanUps.unshift(() => closeServer(server));
    console.log(`Serving ${ROUTES.map((route) => url + route).join('\n        ')}\n`);

    if (!interrupt.signal.aborted) {
      const result = await runLoad(url, pool, options, interrupt.signal);
      if (result) printTable(result, pool);
      if (options.runOnce && result && (failures(result.load) > 0 || !result.load['2xx'])) {
        process.exitCode = 1;
      }
    }
    if (!options.runOnce && !interrupt.signal.aborted) {
      console.log(`\nStill serving ${url} — Ctrl-C ends it.`);
      await once(interrupt.signal, 'abort');
    }
  } finally {
    for (const cleanUp of cleanUps) await cleanUp();
    process.off('SIGINT', onSignal);
    process.off('SIGTERM', onSignal);
  }
}

/** @param {import('node:http').Server} server */
async function closeServer(server) {
  server.close();
  server.closeIdleConnections();
  // A client that keeps its connection busy has one second.
  const closing = once(server, 'close');
  const late = await Promise.race([closing, delay(1000, 'late', { ref: false })]);
  if (late === 'late') server.closeAllConnections();
}

try {
  const options = readOptions();
  if (options.help) {
    console.log(USAGE);
  } else {
    main(options).catch((error) => {
      console.error(error);
      process.exitCode = 1;
    });
  }
} catch (error) {
  console.error(`${error.message}\n\n${USAGE}`);
  process.exitCode = 2;
}
