'use strict';

// Pools whose borrowed clients are released whatever becomes of the test, and what the pool-*
// tests ask, lock and expect. usePools() stands first in a describe block.

const assert = require('node:assert/strict');
const { PoolError } = require('../..');
const { endAll, newPool: newPlainPool } = require('./connect');
const { observeServer, until } = require('./outside');

const PID = 'select pg_backend_pid() as pid';
const ONE = 'select 1 as one';
// Blocks while the test holds the lock; that it may be slow besides makes it known as slow.
const BLOCKABLE =
  'select pg_backend_pid() as pid, pg_sleep($1::float8), pg_advisory_xact_lock($2::bigint)';
const LOCK = 7301;

/** Clients that a failed test has not released. */
const unreleased = new Set();

/** @param {Record<string, any>} [given] */
function newPool(given) {
  const pool = newPlainPool(given);
  pool.on('acquire', (client) => unreleased.add(client));
  pool.on('release', (error, client) => unreleased.delete(client));
  return pool;
}

function releaseAll() {
  for (const client of unreleased) client.release(true);
}

/** @param {{ rows: any[] }} result */
const pidOf = (result) => result.rows[0].pid;

/** @param {Promise<any>[]} promises */
const pidsOf = async (promises) => (await Promise.all(promises)).map(pidOf);

/** Opens so many connections, all of them idle then. */
async function warm(pool, count) {
  const clients = await Promise.all(Array.from({ length: count }, () => pool.connect()));
  for (const client of clients) client.release();
  await until('all connections are idle', () => pool.idleCount === count);
}

/**
 * A pool whose clients float with reads that are known.
 * @param {Record<string, any>} [given]
 * @param {string[]} [texts] that are known then, besides ONE
 */
async function floatingPool(given, texts = []) {
  const pool = newPool({ max: 3, multiplex: 'reads', ...given });
  for (const text of [ONE, ...texts]) await pool.query(text);
  // The catalog is asked for the second read.
  await until('reads float', async () => {
    const client = await pool.connect();
    await client.query(ONE);
    const { floating } = pool.stats().leases;
    client.release();
    return floating === 1;
  });
  return pool;
}

/** Makes it known what a text costs. */
async function teach(pool, text, values, uses = 20) {
  for (let i = 0; i < uses; ++i) await pool.query(text, values);
}

/** @param {string} code */
const poolError = (code) => (error) => {
  assert.ok(error instanceof PoolError, String(error));
  assert.equal(error.code, code);
  assert.equal(error.outcome, 'not-run');
  return true;
};

/** Lets go after each test what it has left; call it in describe. */
function usePools() {
  const observer = observeServer();
  afterEach(releaseAll);
  afterEach(endAll);
  return observer;
}

module.exports = {
  BLOCKABLE,
  LOCK,
  ONE,
  PID,
  floatingPool,
  newPool,
  pidOf,
  pidsOf,
  poolError,
  teach,
  usePools,
  warm,
};
