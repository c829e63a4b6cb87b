'use strict';

// One PostgreSQL server for the whole run: started before the first test, and
// stopped after the last one; then tells which tests could not run. Loaded by mocha (.mocharc.json).

const { startDatabase } = require('../../scripts/database');
const { printNotRun } = require('./cannot-run');

/** Where other programs find their server, with which password, …: PGHOST, PGPASSWORD, PGSSLMODE. */
const OF_LIBPQ = /^PG(?!BOUNCER$)[A-Z]/;

/** @type {Awaited<ReturnType<typeof startDatabase>> | undefined} */
let database;

async function mochaGlobalSetup() {
  database = await startDatabase({ settings: { max_connections: 200, log_min_messages: 'fatal' } });
  process.env.PG_CONDUIT_TEST_URL = database.connectionString;
  if (database.source === 'environment') {
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
}

module.exports = { mochaGlobalSetup, mochaGlobalTeardown };
