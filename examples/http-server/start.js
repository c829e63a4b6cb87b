'use strict';

// What `npm start` runs: finds or starts a database, serves the routes of server.js and the live page on a pool of
// pg-conduit, and the same routes on one of pg in a process beside it; loads both for a few seconds and tells what that has
// come to; then serves until Ctrl-C.

const { once } = require('node:events');
const { setTimeout: delay } = require('node:timers/promises');
const { parseArgs } = require('node:util');
const { Pool } = require('../..');
const { version } = require('../../package.json');
const { startDatabase } = require('../../scripts/database');
const { LivePage } = require('./live/page');
const { Sampler } = require('./live/sampler');
const { Loader, ROUTES } = require('./load');
const { PeerProcess } = require('./peer-process');
const { createServer, logOnce } = require('./server');
const { printHeadline, printReason, printTable, showProgress } = require('./summary');
const { createTables, dropTables } = require('./tables');

const USAGE = `npm start -- [options]
  --once            end after the load; the exit code tells whether all requests were answered
  --no-load         only serve: the live page has a button that begins a load
  --seconds N       how long the load takes, half of it for each driver (10; that of the page's button at most 60)
  --connections N   HTTP connections (64; of the button's load at most 256)
  --max N           connections of each driver's pool, at most (4)
  --port N          where to listen (3000, or a free port if that is taken)
  --help`;

const MAX_POOL_CONNECTIONS = 4;
const MAX_IN_FLIGHT = 1024; // the default
const LOAD = { seconds: 10, connections: 64 };
const MAX_BUTTON_LOAD = { seconds: 60, connections: 256 };
const DEFAULT_PORT = 3000;

function readOptions() {
  const { values } = parseArgs({
    options: {
      once: { type: 'boolean', default: false },
      'no-load': { type: 'boolean', default: false },
      seconds: { type: 'string' },
      connections: { type: 'string' },
      max: { type: 'string' },
      port: { type: 'string' },
      help: { type: 'boolean', default: false },
    },
  });
  const { once: runOnce, 'no-load': isQuiet, help } = values;
  if (runOnce && isQuiet) throw new Error('--once ends after the load that --no-load leaves out');
  /** @param {'seconds' | 'connections' | 'max' | 'port'} name @param {number} minimum */
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
    max: read('max', 1) ?? MAX_POOL_CONNECTIONS,
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

/** @returns {Promise<import('./load').Finished | undefined>} nothing when it was interrupted */
async function runLoad(loader, pool, { seconds, connections }) {
  const order = {
    route: ROUTES[0],
    seconds: seconds ?? LOAD.seconds,
    connections: connections ?? LOAD.connections,
  };
  const before = pool.stats();
  const finishProgress = showProgress(order);
  const finished = await loader.run(order).finally(finishProgress);
  if (finished) {
    printTable(finished);
    printReason(before, pool.stats());
    printHeadline(finished);
  }
  return finished;
}

/** What the page's button begins: bounded, since it is there for everybody on this machine. */
function buttonLoad(options) {
  const { seconds, connections } = MAX_BUTTON_LOAD;
  return {
    seconds: Math.min(seconds, options.seconds ?? LOAD.seconds),
    connections: Math.min(connections, options.connections ?? LOAD.connections),
  };
}

/** @param {import('./load').Outcome} outcome */
function isFine({ requestsPerSecond, failures }) {
  return requestsPerSecond > 0 && failures === 0;
}

/** This process, with what it needs to serve. @returns {Promise<number>} */
async function ownCpuMicros() {
  const { user, system } = process.cpuUsage();
  return user + system;
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
    const { max } = options;
    /** By its name the server tells whose connection it is. @param {string} driver */
    const poolOptions = (driver) => ({
      connectionString: database.connectionString,
      application_name: `npm start ${process.pid} ${driver}`,
      max,
    });
    const pool = new Pool({ ...poolOptions('pg-conduit'), maxInFlight: MAX_IN_FLIGHT });
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

    const peer = await PeerProcess.start(poolOptions('pg'));
    cleanUps.unshift(() => peer.end());
    const loader = new Loader(interrupt.signal);
    const sampler = new Sampler(pool);
    cleanUps.unshift(() => sampler.stop());
    const about = {
      driver: version,
      node: process.versions.node,
      postgres: serverVersion,
      peer: { name: peer.name, version: peer.version, url: peer.url },
      limits: { connections: max, inFlight: MAX_IN_FLIGHT },
    };
    const livePage = new LivePage({ about, sampler, loader, button: buttonLoad(options), onError });
    const server = createServer(pool, { onError, livePage });
    const url = await listen(server, options.port);
    cleanUps.unshift(() => closeServer(server));
    cleanUps.unshift(() => livePage.close());
    const countConnections = async (driver) => {
      const text = 'select count(*)::int as n from pg_stat_activity where application_name = $1';
      return (await pool.query(text, [poolOptions(driver).application_name])).rows[0].n;
    };
    const ours = { name: 'pg-conduit', url, cpuMicros: ownCpuMicros };
    loader.contenders = [peer, ours].map((one) => ({
      ...{ name: one.name, url: one.url },
      cpuMicros: () => one.cpuMicros(),
      countConnections: () => countConnections(one.name),
    }));
    console.log(`Live page ${url}/`);
    console.log(`Serving ${ROUTES.map((route) => url + route).join('\n        ')}`);
    console.log(`The same on ${peer.name} ${peer.version}: ${peer.url}${ROUTES[0]}\n`);

    if (!options.isQuiet && !interrupt.signal.aborted) {
      const finished = await runLoad(loader, pool, options);
      if (options.runOnce && finished) process.exitCode = finished.outcomes.every(isFine) ? 0 : 1;
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
