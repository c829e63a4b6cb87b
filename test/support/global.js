'use strict';

// One PostgreSQL server for the whole run: started before the first test, and
// stopped after the last one; then tells which tests could not run. Loaded by mocha (.mocharc.json).

const { startDatabase } = require('../../scripts/database');
const { printNotRun } = require('./cannot-run');

/** @type {Awaited<ReturnType<typeof startDatabase>> | undefined} */
let database;

async function mochaGlobalSetup() {
  database = await startDatabase({ settings: { max_connections: 200, log_min_messages: 'fatal' } });
  process.env.PG_CONDUIT_TEST_URL = database.connectionString;
}

async function mochaGlobalTeardown() {
  await database?.stop();
  printNotRun();
}

module.exports = { mochaGlobalSetup, mochaGlobalTeardown };
