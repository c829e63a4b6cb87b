'use strict';

// Loaded by mocha (.mocharc.json), in a parallel run by each worker process too: starts a PostgreSQL server before
// the first test and stops it after the last one, fails tests that leave a rejection unhandled, and prints which
// tests could not run.

const { startDatabase } = require('../../scripts/database');
const { collectFromWorkers, printNotRun } = require('./cannot-run');
const { complete, failUnlessComplete, watchWorkers } = require('./workers');

/** Where other programs find their server, with which password, …: PGHOST, PGPASSWORD, PGSSLMODE. */
const OF_LIBPQ = /^PG(?!BOUNCER$)[A-Z]/;

/** The number of this worker in a parallel run. Programs that tests start are no workers. */
const WORKER = process.env.MOCHA_WORKER_ID;
delete process.env.MOCHA_WORKER_ID;

/** @type {Awaited<ReturnType<typeof startDatabase>> | undefined} */
let database;

async function startServer() {
  database = await startDatabase({ settings: { max_connections: 200, log_min_messages: 'fatal' } });
  process.env.PG_CONDUIT_TEST_URL = database.connectionString;
}

/**
 * In a parallel run: by the process that starts the workers.
 * @this {import('mocha').Runner}
 */
async function mochaGlobalSetup() {
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
