'use strict';

// Streams, cursors and queries as objects, given to a pool's query(): the same scenario on a pool of `pg` and on one of
// ours, whose logs must be equal.

const assert = require('node:assert/strict');
const { once } = require('node:events');
const { setTimeout: delay } = require('node:timers/promises');
const pg = require('pg');
const Cursor = require('pg-cursor');
const QueryStream = require('pg-query-stream');
const conduit = require('../..');
const { options } = require('../support/connect');

const ROWS = 'select i from generate_series(1, 500) i';

/** @type {any[]} */
let opened = [];

/** @param {any} driver @param {Record<string, any>} [given] */
function newPool(driver, given) {
  const pool = new driver.Pool(options({ max: 2, ...given }));
  pool.on('error', () => {});
  opened.push(pool);
  return pool;
}

/** @param {(driver: any, log: unknown[]) => Promise<void>} scenario */
async function sameInBoth(scenario) {
  const logs = [];
  for (const driver of [pg, conduit]) {
    const log = [];
    await scenario(driver, log);
    logs.push(log);
  }
  assert.deepEqual(logs[1], logs[0]);
  assert.notEqual(logs[0].length, 0);
}

/** @param {AsyncIterable<any>} stream */
async function sum(stream) {
  let total = 0;
  for await (const { i } of stream) total += i;
  return total;
}

const messageOf = (error) => error.message;

describe('a submittable that a pool runs', () => {
  afterEach(async () => {
    const pools = opened;
    opened = [];
    await Promise.all(pools.map((pool) => pool.end().catch(() => {})));
  });

  it('streams its rows, and then resolves', async () => {
    await sameInBoth(async (driver, log) => {
      const pool = newPool(driver);
      const stream = new QueryStream(ROWS);
      const promise = pool.query(stream);
      log.push(promise instanceof Promise, await sum(stream));
      const { command, fields } = await promise;
      log.push(command, fields[0].name, pool.totalCount, pool.idleCount);
    });
  });

  it('calls back in the place of a promise', async () => {
    await sameInBoth(async (driver, log) => {
      const pool = newPool(driver);
      for (const between of [[], [undefined]]) {
        const stream = new QueryStream('select $1::int as i', [3]);
        const called = new Promise((resolve) => {
          log.push(pool.query(stream, ...between, (...args) => resolve(args)));
        });
        log.push(await sum(stream));
        const [error, result] = await called;
        log.push(error, result.command);
      }
    });
  });

  it('reports an error to its reader and to the caller', async () => {
    await sameInBoth(async (driver, log) => {
      const pool = newPool(driver);
      const stream = new QueryStream('select 1 / 0 as i');
      const promise = pool.query(stream).catch((error) => error.code);
      log.push(await sum(stream).catch((error) => error.code), await promise);
      log.push((await pool.query('select 1 as usable')).rows);
    });
  });

  it('gives its connection back when the stream is left early', async () => {
    await sameInBoth(async (driver, log) => {
      const pool = newPool(driver, { max: 1 });
      const stream = new QueryStream(ROWS, [], { batchSize: 10 });
      const promise = pool.query(stream);
      for await (const { i } of stream) {
        log.push(i);
        break;
      }
      await promise;
      log.push((await pool.query('select 1 as usable')).rows);
    });
  });

  it('is a Query that emits its rows, and resolves to them', async () => {
    await sameInBoth(async (driver, log) => {
      const pool = newPool(driver);
      const query = new driver.Query('select $1::int as i', [1]);
      query.on('row', (row) => log.push(row));
      log.push((await pool.query(query)).rows);
      log.push(await pool.query(new driver.Query('select nonsense')).catch(messageOf));
    });
  });

  it('is told when the pool has ended', async () => {
    await sameInBoth(async (driver, log) => {
      const pool = newPool(driver);
      await pool.end();
      log.push(await pool.query(new QueryStream(ROWS)).catch(messageOf));
    });
  });

  describe('where `pg` leaves its caller waiting', () => {
    it('ends the stream of a pool that cannot connect', async () => {
      const pool = newPool(conduit, { connectionString: 'postgres://127.0.0.1:1/nowhere' });
      const stream = new QueryStream(ROWS);
      const refused = pool.query(stream).catch((error) => error.code);
      assert.equal(await sum(stream).catch((error) => error.code), 'ECONNREFUSED');
      assert.equal(await refused, 'ECONNREFUSED');
      const query = new conduit.Query({ text: ROWS, rows: 10 });
      await assert.rejects(pool.query(query), { code: 'ECONNREFUSED' });
    });

    it('resolves for a cursor that was read to its end, and gives its connection back', async () => {
      const pool = newPool(conduit, { max: 1 });
      const cursor = new Cursor('select i from generate_series(1, 3) i');
      const promise = pool.query(cursor);
      assert.equal((await cursor.read(10)).length, 3);
      await promise;
      assert.equal((await pool.query('select 1 as one')).rows[0].one, 1);
    });

    it('resolves for a Query with a callback of its own', async () => {
      const pool = newPool(conduit, { max: 1 });
      const given = [];
      const query = new conduit.Query('select 1 as one', (error, result) => given.push(result));
      const result = await pool.query(query);
      assert.deepEqual(given, [result]);
      assert.deepEqual(result.rows, [{ one: 1 }]);
    });

    it('runs nothing for a stream that was destroyed while it waited', async () => {
      const pool = newPool(conduit, { max: 1 });
      const client = await pool.connect();
      const stream = new QueryStream(ROWS);
      const promise = pool.query(stream);
      stream.destroy();
      await once(stream, 'close');
      client.release();
      assert.equal(await promise, undefined);
      assert.equal((await pool.query('select 1 as one')).rows[0].one, 1);
    });
  });

  it('has a connection of its own for as long as it is read', async () => {
    const pool = newPool(conduit, { max: 1 });
    const stream = new QueryStream(ROWS, [], { batchSize: 10 });
    const promise = pool.query(stream);
    await once(stream, 'readable');
    let isDone = false;
    const other = pool.query('select 1').then(() => (isDone = true));
    await delay(20);
    assert.equal(isDone, false);
    assert.equal(await sum(stream), 125_250);
    await Promise.all([promise, other]);
  });

  it('fails when its connection is lost, which is then replaced', async () => {
    const pool = newPool(conduit, { max: 1 });
    const outside = newPool(conduit);
    const stream = new QueryStream(
      'select pg_backend_pid() as pid, i from generate_series(1, 1e6) i',
    );
    const promise = pool.query(stream).catch((error) => error);
    const { value } = await stream[Symbol.asyncIterator]().next();
    await outside.query('select pg_terminate_backend($1)', [value.pid]);
    await assert.rejects(sum(stream));
    const error = await promise;
    assert.ok(error instanceof Error);
    assert.equal((await pool.query('select 1 as one')).rows[0].one, 1);
  });
});
