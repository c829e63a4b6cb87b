'use strict';

// lib/connection/connection.js: its books, and what it does with prepared statements. Pools
// are tested in pool.test.js, the end of connections in lifecycle.test.js.

const assert = require('node:assert/strict');
const { Client } = require('../..');
const { connectionOf } = require('../../lib/client/client');
const { ConnectionLoad } = require('../../lib/connection/load');
const { countPrepared, endAll, newClient, newPool, options } = require('../support/connect');
const { observeServer, until } = require('../support/outside');

const LOCK = 7303;

describe('Connection', function () {
  this.timeout(15000);

  const observer = observeServer();
  afterEach(endAll);

  describe('keeps track', () => {
    it('of what is in flight, and has nothing left when all is settled', async () => {
      const client = await newClient();
      const connection = connectionOf(client);
      const texts = ['select 1', 'select 1 / 0', 'selec', 'select pg_sleep(0.01)', ''];
      const queries = Array.from({ length: 100 }, (_, i) => client.query(texts[i % texts.length]));
      queries.push(client.query('select $1', ['\0']), client.query('select $1::int', ['x']));
      assert.ok(connection.inFlight >= 101 && connection.inFlight <= 102);
      assert.ok(connection.load.expectedMillis > 0);
      assert.ok(connection.load.unknown > 0);
      await Promise.allSettled(queries);
      assert.equal(connection.inFlight, 0);
      assert.equal(connection.load.expectedMillis, 0);
      assert.equal(connection.load.unknown, 0);
      assert.equal(connection.load.isBlocked(performance.now() + 1000), false);
      assert.equal(connection.settled, queries.length);
      // Statements of its own that nobody waits for may still be in flight: those that close what has failed.
      await until('those are answered', () => connection.counters().pending === 0);
    });

    it('of whether it is blocked by a slow or an overdue statement', async () => {
      const client = await newClient();
      const { load } = connectionOf(client);
      const text = 'select pg_advisory_xact_lock($1::bigint)';
      for (let i = 0; i < 20; ++i) await client.query(text, [LOCK]);
      assert.equal(load.isBlocked(performance.now()), false);
      await observer.lock(LOCK);
      const query = client.query(text, [LOCK]);
      const now = performance.now();
      assert.equal(load.isBlocked(now), false, 'it is known as fast');
      assert.equal(load.isBlocked(now + 1000), false, 'it is not sent yet');
      await until('it is overdue', () => load.isBlocked(now + 1000));
      await observer.unlock(LOCK);
      await query;
      assert.equal(load.isBlocked(performance.now() + 1000), false);

      const unseen = client.query('select pg_sleep(0.05)');
      assert.equal(load.isBlocked(performance.now()), false, 'it was never seen');
      await unseen;
      const slow = client.query('select pg_sleep(0.05)');
      assert.equal(load.isBlocked(performance.now()), true, 'it is known as slow');
      await slow;
      assert.equal(load.isBlocked(performance.now()), false);
    });

    it('of when a query may wait for others of its Sync group: behind more than 16 that keep the server busy', () => {
      const load = new ConnectionLoad();
      const of = (averageMillis) => /** @type {any} */ ({ info: { averageMillis } });
      for (let i = 0; i < 16; ++i) load.add(of(1));
      assert.equal(load.isBusy, false);
      load.add(of(1));
      assert.equal(load.isBusy, true);
      load.roundTripMillis = 20;
      assert.equal(load.isBusy, false, 'it is done before more could reach it');
    });

    it('of the time that a statement itself takes, without the statements before it', async () => {
      const pool = newPool({ max: 1, syncGroup: 'off' });
      const fast = 'select $1::int as fast';
      for (let i = 0; i < 10; ++i) await pool.query(fast, [i]);
      // 50 fast ones behind a slow one are still fast.
      const queries = [pool.query('select pg_sleep(0.1)')];
      for (let i = 0; i < 50; ++i) queries.push(pool.query(fast, [i]));
      await Promise.all(queries);
      const [connection] = pool.stats().connections;
      const probe = pool.query(fast, [1]);
      const { expectedMillis } = pool.stats().connections[0];
      await probe;
      assert.equal(connection.expectedMillis, 0);
      assert.ok(expectedMillis < 50, String(expectedMillis));
    });
  });

  describe('accepts queries', () => {
    it('while it connects, and sends them in order', async () => {
      const client = new Client(options());
      const connected = client.connect();
      const done = [];
      const queries = [1, 2, 3].map((i) =>
        client.query('select $1::int as i', [i]).then(({ rows }) => done.push(rows[0].i)),
      );
      await connected;
      await Promise.all(queries);
      assert.deepEqual(done, [1, 2, 3]);
      await client.end();
    });

    it('before connect(), which wait for it, or for end()', async () => {
      const client = new Client(options());
      const early = client.query('select 1 as one');
      await client.connect();
      assert.deepEqual((await early).rows, [{ one: 1 }]);
      await client.end();
      const ended = new Client(options());
      const never = assert.rejects(ended.query('select 1'), {
        message: 'Connection terminated',
        outcome: 'not-run',
      });
      await ended.end();
      await never;
    });

    it('beyond the number that may be in flight, and answers them all in order', async () => {
      const client = await newClient();
      const size = 6 << 20;
      const done = [];
      await Promise.all(
        Array.from({ length: 12 }, async (_, i) => {
          const { rows } = await client.query('select length($1::text) as length, $2::int as i', [
            'x'.repeat(size + i),
            i,
          ]);
          assert.equal(rows[0].length, size + i);
          done.push(rows[0].i);
        }),
      );
      assert.deepEqual(
        done,
        Array.from({ length: 12 }, (_, i) => i),
      );
    });

    it('and a parameter that cannot be sent does not affect the others', async () => {
      const pool = newPool({ max: 1 });
      const throws = {
        toPostgres() {
          throw new Error('from toPostgres');
        },
      };
      for (let round = 0; round < 3; ++round) {
        const outcomes = await Promise.allSettled([
          pool.query('select $1::text as t', ['before']),
          pool.query('select $1::text as t', [throws]),
          pool.query('select $1::text as t', ['a\0b']),
          pool.query('select $1::text as t', ['after']),
        ]);
        assert.deepEqual(
          outcomes.map(({ status, value, reason }) =>
            status === 'fulfilled' ? value.rows[0].t : (reason.code ?? reason.message),
          ),
          ['before', 'from toPostgres', '22021', 'after'],
        );
      }
    });
  });

  describe('prepares statements', () => {
    it('at their second use, once', async () => {
      const pool = newPool({ max: 1 });
      await pool.query('select 1 as one');
      assert.equal(pool.stats().parses, 0);
      for (let i = 0; i < 5; ++i) await pool.query('select 1 as one');
      assert.equal(pool.stats().parses, 1);
      await Promise.all(Array.from({ length: 50 }, () => pool.query('select 2 as two')));
      assert.equal(pool.stats().parses, 2);
    });

    it('at their first use with prepareThreshold: 1, and never with prepare: false', async () => {
      const eager = newPool({ max: 1, prepareThreshold: 1 });
      await eager.query('select 1');
      assert.equal(eager.stats().parses, 1);
      const without = newPool({ max: 1, prepare: false });
      for (let i = 0; i < 5; ++i) await without.query('select 1');
      assert.equal(without.stats().parses, 0);
      for (let i = 0; i < 5; ++i) await eager.query({ text: 'select 2', prepare: false });
      assert.equal(eager.stats().parses, 1);
    });

    it('and closes evicted ones on the server', async () => {
      const pool = newPool({ max: 1, statementCacheSize: 3, prepareThreshold: 1 });
      for (let round = 0; round < 3; ++round) {
        for (let i = 0; i < 20; ++i) {
          assert.deepEqual((await pool.query(`select ${i} as i${i}`)).rows, [{ [`i${i}`]: i }]);
        }
      }
      const { statementCache } = pool.stats();
      assert.ok(statementCache.evictions >= 30);
      await until(
        'the server has only what is cached',
        async () => (await countPrepared(pool)) <= 3,
      );
    });

    it('and keeps some of those that come in turn, where there is no room for all', async () => {
      const pool = newPool({ max: 1, statementCacheSize: 3 });
      for (let round = 0; round < 10; ++round) {
        for (let i = 0; i < 20; ++i) {
          assert.deepEqual((await pool.query(`select ${i} as i${i}`)).rows, [{ [`i${i}`]: i }]);
        }
      }
      const { parses, statementCache } = pool.stats();
      assert.deepEqual([parses, statementCache.evictions], [3, 0]);
      assert.equal(await countPrepared(pool), 3);
    });

    it('and evicts them under load without affecting those in flight', async () => {
      const pool = newPool({ max: 1, statementCacheSize: 3, prepareThreshold: 1 });
      const results = await Promise.all(
        Array.from({ length: 1000 }, (_, i) =>
          pool.query(`select ${i % 10} as i, $1::int as n`, [i]),
        ),
      );
      results.forEach(({ rows }, n) => assert.deepEqual(rows, [{ i: n % 10, n }]));
      await pool.query('select 1');
      const prepared = await countPrepared(pool);
      assert.ok(prepared <= 3, String(prepared));
    });

    it('and rejects each of many uses of a text that cannot be prepared, and continues', async () => {
      const pool = newPool({ max: 1 });
      for (let round = 0; round < 3; ++round) {
        const outcomes = await Promise.allSettled(
          Array.from({ length: 20 }, () => pool.query('select * from no_such_table')),
        );
        for (const { reason } of outcomes) assert.equal(reason.code, '42P01');
        assert.deepEqual((await pool.query('select 1 as one')).rows, [{ one: 1 }]);
      }
      await pool.query('create table no_such_table (i int)');
      assert.equal((await pool.query('select * from no_such_table')).rowCount, 0);
      await pool.query('drop table no_such_table');
    });

    it('again when a table has changed, without an error', async () => {
      const pool = newPool({ max: 1 });
      await pool.query('create table changing (a int)');
      await pool.query('insert into changing values (1)');
      const text = 'select * from changing';
      for (let i = 0; i < 3; ++i) await pool.query(text);
      // By somebody else, so that no command tag of ours tells.
      await observer.ask('alter table conduit_test.changing add column b int default 2');
      const results = await Promise.all(Array.from({ length: 20 }, () => pool.query(text)));
      for (const { rows } of results) assert.deepEqual(rows, [{ a: 1, b: 2 }]);
    });

    it('again when they are gone from the server', async () => {
      const client = await newClient();
      for (let i = 0; i < 3; ++i) await client.query('select 1 as one');
      await client.query('deallocate all');
      assert.deepEqual((await client.query('select 1 as one')).rows, [{ one: 1 }]);
      await client.query("do $$ begin execute 'deallocate all'; end $$");
      assert.deepEqual((await client.query('select 1 as one')).rows, [{ one: 1 }]);
    });

    it('but not again inside a transaction that the error has aborted', async () => {
      const client = await newClient();
      for (let i = 0; i < 3; ++i) await client.query('select 1 as one');
      await client.query('begin');
      // In a function, where the text does not show it.
      await client.query(
        "create function pg_temp.forget() returns void language plpgsql as 'begin execute ''deallocate all''; end'",
      );
      for (let i = 0; i < 3; ++i) await client.query('select 1 as one');
      await client.query('select pg_temp.forget()');
      await assert.rejects(client.query('select 1 as one'), { code: '26000' });
      await client.query('rollback');
      assert.deepEqual((await client.query('select 1 as one')).rows, [{ one: 1 }]);
    });
  });
});
