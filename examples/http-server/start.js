'use strict';

// What `npm start` runs: finds or starts a database, serves the routes of server.js and the live page on
// the pool, loads itself for a few seconds to show how the queries share connections, then serves until
// Ctrl-C.

const { once } = require('node:events');
const { setTimeout: delay } = require('node:timers/promises');
const { parseArgs } = require('node:util');
const { Pool } = require('../..');
const { version } = require('../../package.json');
const { startDatabase } = require('../../scripts/database');
const { LivePage } = require('./live/page');
const { Sampler } = require('./live/sampler');
const { Loader, ROUTES, failuresOf } = require('./load');
const { createServer } = require('./server');
const { printTable, showProgress } = require('./summary');
const { createTables, dropTables } = require('./tables');

const USAGE = `npm start -- [options]
  --once            end after the load; the exit code tells whether all requests were answered
  --no-load         only serve: the live page has a button that begins a load
  --seconds N       how long the load takes (5); that of the page's button (10, at most 60)
  --connections N   HTTP connections of both (64; of the button's at most 256)
  --port N          where to listen (3000, or a free port if that is taken)
  --help`;

const MAX_POOL_CONNECTIONS = 4;
const MAX_IN_FLIGHT = 1024; // the default
const FIRST_LOAD = { seconds: 5, connections: 64 };
/** Whoever sits before the page knows nothing of the options. */
const BUTTON_LOAD = { seconds: 10, connections: 64 };
const MAX_BUTTON_LOAD = { seconds: 60, connections: 256 };
const DEFAULT_PORT = 3000;

function readOptions() {
  const { values } = parseArgs({
    options: {
      once: { type: 'boolean', default: false },
      'no-load': { type: 'boolean', default: false },
      seconds: { type: 'string' },
      connections: { type: 'string' },
      port: { type: 'string' },
      help: { type: 'boolean', default: false },
    },
  });
  const { once: runOnce, 'no-load': isQuiet, help } = values;
  if (runOnce && isQuiet) throw new Error('--once ends after the load that --no-load leaves out');
  /** @param {'seconds' | 'connections' | 'port'} name @param {number} minimum */
  const read = (name, minimum) => {
    if (values[name] === undefined) return undefined;
    const number = Number(values[name]);
    if (Number.isInteger(number) && number >= minimum) return number;
    throw new Error(`--${name} is "${values[name]}": give a whole number from ${minimum} on`);
  };
  return {
    runOnce,
    isQuiet,
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

/**
 * Undefined when interrupted.
 * @returns {Promise<{ load: object, before: object, after: object } | undefined>}
 */
async function runLoad(loader, pool, { seconds, connections }) {
  const order = {
    route: ROUTES[0],
    seconds: seconds ?? FIRST_LOAD.seconds,
    connections: connections ?? FIRST_LOAD.connections,
  };
  const before = pool.stats();
  const finishProgress = showProgress(order);
  try {
    const load = await loader.run(order);
    return load && { load, before, after: pool.stats() };
  } finally {
    finishProgress();
  }
}

/** What the page's button begins: bounded, since it is there for everybody on this machine. */
function buttonLoad(options) {
  const { seconds, connections } = MAX_BUTTON_LOAD;
  return {
    seconds: Math.min(seconds, options.seconds ?? BUTTON_LOAD.seconds),
    connections: Math.min(connections, options.connections ?? BUTTON_LOAD.connections),
  };
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
      maxInFlight: MAX_IN_FLIGHT,
    });
    const log = logOnce();
    const onError = (error) => {
      // What fails because we are ending was asked for by clients that are gone.
      if (!pool.ending) log(error);
    };
    pool.on('error', onError);
    cleanUps.unshift(() => pool.end());

    const { rows } = await pool.query('show server_version');
    const [serverVersion] = rows[0].server_version.split(' ');
    console.log(`PostgreSQL ${serverVersion} (${database.source}), ${database.place}`);
    await createTables(pool);
    if (database.source === 'environment') cleanUps.unshift(() => dropTables(pool));

    const loader = new Loader(interrupt.signal);
    const sampler = new Sampler(pool);
    cleanUps.unshift(() => sampler.stop());
    const about = {
      driver: version,
      node: process.versions.node,
      postgres: serverVersion,
      limits: { connections: MAX_POOL_CONNECTIONS, inFlight: MAX_IN_FLIGHT },
    };
    const livePage = new LivePage({ about, sampler, loader, button: buttonLoad(options), onError });
    const server = createServer(pool, { onError, livePage });
    const url = await listen(server, options.port);
    cleanUps.unshift(() => closeServer(server));
    cleanUps.unshift(() => livePage.close());
    loader.url = url;
    console.log(`Live page ${url}/`);
    console.log(`Serving ${ROUTES.map((route) => url + route).join('\n        ')}\n`);

    if (!options.isQuiet && !interrupt.signal.aborted) {
      const result = await runLoad(loader, pool, options);
      if (result) printTable(result, pool);
      if (options.runOnce && result && (failuresOf(result.load) > 0 || !result.load['2xx'])) {
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
