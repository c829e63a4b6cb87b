'use strict';

// A client that is released to its pool with something in flight: no query waits behind that without a time limit,
// it is finished as in `pg`, and the connection is shared again afterwards.

const assert = require('node:assert/strict');
const { setTimeout: delay } = require('node:timers/promises');
const PgCursor = require('pg-cursor');
const { until } = require('../support/outside');
const { LOCK, PID, newPool, pidOf, poolError, usePools } = require('../support/pools');

const ROWS = 'select generate_series(1, 200000) as n';

/** Counts what a stream gives. */
async function countOf(stream) {
  let count = 0;
  for await (const row of stream) if (row) ++count;
  return count;
}

describe('A client that is released with something in flight', function () {
  this.timeout(20000);
  const observer = usePools();
  before(() => observer.makeTable('taken', 'i int'));

  // What is begun, what ends it, and what it ends in.
  const BEGUN = [
    {
      name: 'a stream',
      begin: (client) => {
        const stream = client.stream(ROWS);
        return async () => assert.equal(await countOf(stream), 200000);
      },
    },
    {
      name: 'a cursor',
      begin: (client) => {
        const cursor = client.cursor(ROWS);
        return async () => {
          assert.equal((await cursor.read(3)).length, 3);
          await cursor.close();
        };
      },
    },
    {
      name: 'a submittable',
      begin: (client) => {
        const cursor = client.query(new PgCursor(ROWS));
        return async () => {
          assert.equal((await cursor.read(3)).length, 3);
          await cursor.close();
        };
      },
    },
    {
      name: 'COPY from a stream',
      begin: (client) => {
        const stream = client.copyFrom('copy conduit_test.taken from stdin');
        return () =>
          new Promise((resolve, reject) => {
            stream.on('error', reject).on('finish', resolve).end('1\n2\n');
          });
      },
    },
    {
      name: 'a long query',
      begin: (client) => {
        const query = client.query('select pg_advisory_xact_lock($1::bigint)', [LOCK]);
        return async () => {
          await observer.unlock(LOCK);
          await query;
        };
      },
    },
    {
      name: 'a long transaction of statements',
      begin: (client) => {
        client.query('begin');
        const query = client.query('select pg_advisory_xact_lock($1::bigint)', [LOCK]);
        return async () => {
          await observer.unlock(LOCK);
          await query;
        };
      },
    },
  ];

  beforeEach(() => observer.lock(LOCK));

  for (const { name, begin } of BEGUN) {
    it(`gets no queries of the pool meanwhile: ${name}`, async () => {
      const pool = newPool({ max: 2 });
      const client = await pool.connect();
      const pid = client.processID;
      const end = begin(client);
      client.release();
      const others = await Promise.all(Array.from({ length: 20 }, () => pool.query(PID)));
      assert.ok(others.every((result) => pidOf(result) !== pid));
      await end();
      await until('it is shared again', () => pool.idleCount === 2);
      assert.equal(pool.totalCount, 2);
    });

    it(`does not extend the time limits of other calls: ${name}`, async () => {
      const pool = newPool({ max: 1, connectionTimeoutMillis: 200 });
      const client = await pool.connect();
      const pid = client.processID;
      const end = begin(client);
      client.release();
      await assert.rejects(pool.query(PID), poolError('ERR_PG_CONDUIT_POOL_TIMEOUT'));
      await assert.rejects(pool.connect(), poolError('ERR_PG_CONDUIT_POOL_TIMEOUT'));
      await assert.rejects(pool.query({ text: PID, timeoutMillis: 50 }), {
        code: 'ERR_PG_CONDUIT_QUERY_TIMEOUT',
        outcome: 'not-run',
      });
      await end();
      assert.equal(pidOf(await pool.query(PID)), pid);
    });

    it(`is waited for by end(): ${name}`, async () => {
      const pool = newPool({ max: 1 });
      const client = await pool.connect();
      const end = begin(client);
      client.release();
      let hasEnded = false;
      const ended = pool.end().then(() => (hasEnded = true));
      await delay(50);
      assert.equal(hasEnded, false);
      await end();
      await ended;
    });
  }

  it('is closed by release(true), which fails what is in flight', async () => {
    const pool = newPool({ max: 1 });
    const client = await pool.connect();
    const query = client.query('select pg_sleep(60)');
    await observer.untilAsleep(client.processID);
    client.release(true);
    await assert.rejects(query, { outcome: 'unknown' });
    await pool.query('select 1');
  });
});
