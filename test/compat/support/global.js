'use strict';

// One PostgreSQL server for the whole run, which listens on TCP: tools write its URL in their own
// ways, and not all of them know sockets. Loaded by mocha (mocharc.js).

const { startDatabase } = require('../../../scripts/database');

/** @type {Awaited<ReturnType<typeof startDatabase>> | undefined} */
let database;

async function mochaGlobalSetup() {
  database = await startDatabase({
    listen: true,
    settings: { max_connections: 200, log_min_messages: 'fatal', wal_level: 'logical' },
  });
  process.env.PG_CONDUIT_COMPAT_SERVER = JSON.stringify(database.config);
}

async function mochaGlobalTeardown() {
  await database?.stop();
}

module.exports = { mochaGlobalSetup, mochaGlobalTeardown };
