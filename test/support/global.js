'use strict';

// Loaded by mocha (.mocharc.json), in a parallel run by each worker process too: starts a PostgreSQL server before
// the first test and stops it after the last one, fails tests that leave a rejection unhandled, and prints which
// tests could not run.

const fs = require('node:fs');
const { startDatabase } = require('../../scripts/database');
const { collectFromWorkers, printNotRun } = require('./cannot-run');
const { complete, failUnlessComplete, watchWorkers } = require('./workers');

/** Where other programs find their server, with which password, …: PGHOST, PGPASSWORD, PGSSLMODE. */
const OF_LIBPQ = /^PG(?!BOUNCER$)[A-Z]/;

/** What statfs() calls a file system in memory. */
const TMPFS = 0x01021994;
const MEMORY_BYTES = 4 * 2 ** 30;

/** The number of this worker in a parallel run. Programs that tests start are no workers. */
const WORKER = process.env.MOCHA_WORKER_ID;
delete process.env.MOCHA_WORKER_ID;

/** @type {Awaited<ReturnType<typeof startDatabase>> | undefined} */
let database;

/**
 * Where files are in memory, if there is plenty of it: the data of all servers of a run take less than half.
 * @returns {string | undefined}
 */
function findMemory() {
  try {
    const { bavail, bsize, type } = fs.statfsSync('/dev/shm');
    const isRoomy = Math.min(bavail * bsize, process.availableMemory()) >= MEMORY_BYTES;
    return type === TMPFS && isRoomy ? '/dev/shm' : undefined;
  } catch {
    // A system that has no such thing.
    return undefined;
  }
}

async function startServer() {
  database = await startDatabase({
    settings: { max_connections: 200, log_min_messages: 'fatal' },
    // They are copied by `cp`.
    keepsCluster: process.platform !== 'win32',
  });
  process.env.PG_CONDUIT_TEST_URL = database.connectionString;
  // Of the servers that follow, in this process and in those that it starts.
  if (database.clusters) process.env.PG_CONDUIT_TEST_CLUSTERS ??= database.clusters;
}

/**
 * In a parallel run: by the process that starts the workers.
 * @this {import('mocha').Runner}
 */
async function mochaGlobalSetup() {
  const memory = findMemory();
  if (memory) process.env.PG_CONDUIT_TEST_MEMORY ??= memory;
  await startServer();
  failUnlessComplete();
  if (this.isParallelMode()) {
    collectFromWorkers();
    watchWorkers();
  }
  if (database?.source === 'environment') {
    // Somebody's own: it should be seen at once if it is the wrong one.
    console.log(`The tests run on ${database.place}`);
  } else {
    for (const name of Object.keys(process.env)) {
      if (OF_LIBPQ.test(name)) delete process.env[name];
    }
  }
}

async function mochaGlobalTeardown() {
  await database?.stop();
  printNotRun();
  complete();
}

// Mocha leaves rejections that nobody handles to other listeners, and without one they would go unnoticed.
/** @param {unknown} reason */
function failOnRejection(reason) {
  throw reason;
}

const mochaHooks = {
  /** Before the tests of the whole run, or in a worker before those of each file. */
  async beforeAll() {
    // A worker loses its listeners after each file.
    process.off('unhandledRejection', failOnRejection);
    process.on('unhandledRejection', failOnRejection);
    // Roles, settings, locks and the view of who is connected belong to a server, not to a database: each worker has
    // a server of its own. The first one uses that of the run.
    const isOther = WORKER !== undefined && WORKER !== '0';
    if (isOther && database === undefined) await startServer();
  },
};

module.exports = { mochaGlobalSetup, mochaGlobalTeardown, mochaHooks };
