'use strict';

// Clients and pools on the run's server, closed after each test. Every test
// file that talks to the server uses it.

const { Client, Pool } = require('../..');

const SCHEMA = 'conduit_test';

/** @type {{ end: () => any }[]} */
let opened = [];

/** @returns {string} */
function connectionString() {
  const url = process.env.PG_CONDUIT_TEST_URL;
  if (url === undefined) throw new Error('run the tests with "npm test", which starts a server');
  return url;
}

/**
 * Own tables only: the server may be somebody's own.
 * @param {Record<string, any>} [given]
 */
function options(given) {
  return {
    connectionString: connectionString(),
    options: `-c search_path=${SCHEMA},public`,
    ...given,
  };
}

/** @param {Record<string, any>} [given] */
function newPool(given) {
  const pool = new Pool(options(given));
  opened.push(pool);
  return pool;
}

/** @param {Record<string, any>} [given] */
async function newClient(given) {
  const client = new Client(options(given));
  opened.push(client);
  await client.connect();
  return client;
}

/** Ends what newPool() and newClient() gave out; call it in afterEach. */
async function endAll() {
  const all = opened;
  opened = [];
  await Promise.all(
    all.map(async (one) => {
      try {
        await one.end();
      } catch {
        // Ended by the test.
      }
    }),
  );
}

/** Makes the schema anew; call it in before. */
async function resetSchema() {
  const client = new Client(connectionString());
  await client.connect();
  await client.query(`drop schema if exists ${SCHEMA} cascade`);
  await client.query(`create schema ${SCHEMA}`);
  await client.end();
}

/** Prepared statements of a client's session, or of a pool with one connection. */
async function countPrepared(one) {
  const { rows } = await one.query({
    text: 'select count(*)::int as n from pg_prepared_statements',
    prepare: false,
  });
  return rows[0].n;
}

module.exports = {
  SCHEMA,
  connectionString,
  countPrepared,
  endAll,
  newClient,
  newPool,
  options,
  resetSchema,
};
