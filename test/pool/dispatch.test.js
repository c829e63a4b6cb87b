'use strict';

// Which connection of a pool a statement runs on, what waits, and which statements are refused
// because they would change the session that callers share, or run alone on a connection.

const assert = require('node:assert/strict');
const { fork } = require('node:child_process');
const { once } = require('node:events');
const fs = require('node:fs');
const net = require('node:net');
const os = require('node:os');
const path = require('node:path');
const { mock } = require('node:test');
const { setTimeout: delay } = require('node:timers/promises');
const { Pool, StatementRefusedError } = require('../..');
const { ConnectionLoad } = require('../../lib/connection/load');
const { blockThread } = require('../support/blocked');
const { newClient } = require('../support/connect');
const { TINY_MILLIS, useCosts } = require('../support/costs');
const { until } = require('../support/outside');
const {
  BLOCKABLE,
  LOCK,
  PID,
  newPool,
  pidOf,
  pidsOf,
  poolError,
  teach,
  usePools,
  warm,
} = require('../support/pools');
const { NOWHERE, listen } = require('../support/ports');
const { Proxy } = require('../support/proxy');

const DISTANT = path.join(__dirname, '..', 'support', 'fixtures', 'distant.js');

describe('Pool', function () {
  // A query in the wrong place waits for ever.
  this.timeout(15000);

  const observer = usePools();

  describe('shares connections among queries', () => {
    it('200 concurrent queries run on the one connection of max: 1', async () => {
      const pool = newPool({ max: 1 });
      const results = await Promise.all(
        Array.from({ length: 200 }, (_, i) => pool.query(`${PID}, $1::int as i`, [i])),
      );
      assert.equal(new Set(results.map(pidOf)).size, 1);
      assert.deepEqual(
        results.map(({ rows }) => rows[0].i),
        Array.from({ length: 200 }, (_, i) => i),
      );
      assert.equal(pool.totalCount, 1);
    });

    it('idle connections are used first', async () => {
      const pool = newPool({ max: 3 });
      await warm(pool, 3);
      const pids = await pidsOf([1, 2, 3, 4].map(() => pool.query(PID)));
      assert.equal(new Set(pids.slice(0, 3)).size, 3);
      assert.ok(pids.slice(0, 3).includes(pids[3]));
    });

    it('queries known to be cheap wake no more connections than are worth it', async () => {
      for (const [given, most] of [
        [{}, 4],
        [{ spreadMillis: 0 }, 8],
      ]) {
        const pool = newPool({ max: 8, ...given });
        await warm(pool, 8);
        const used = await until('they are known to be cheap', async () => {
          for (let i = 0; i < 20; ++i) await pool.query(PID);
          const pids = await pidsOf(Array.from({ length: 8 }, () => pool.query(PID)));
          const { size } = new Set(pids);
          return size <= most ? size : undefined;
        });
        assert.ok('spreadMillis' in given ? used === 8 : used <= 4, String(used));
      }
    });

    it('the pool grows to max for slow statements', async () => {
      const pool = newPool({ max: 10 });
      const sleep = 'select pg_backend_pid() as pid, pg_sleep(0.2)';
      const pids = await pidsOf(Array.from({ length: 10 }, () => pool.query(sleep)));
      assert.equal(new Set(pids).size, 10);
      assert.equal(pool.totalCount, 10);
    });

    it('the pool grows from one connection for statements known to be slow', async () => {
      const pool = newPool({ max: 4 });
      await pool.query(BLOCKABLE, [0.05, LOCK]);
      assert.equal(pool.totalCount, 1);
      await observer.lock(LOCK);
      const blocked = [1, 2, 3, 4].map(() => pool.query(BLOCKABLE, [0, LOCK]));
      await observer.untilWaitedFor(LOCK, 4);
      await observer.unlock(LOCK);
      assert.equal(new Set(await pidsOf(blocked)).size, 4);
    });

    it('the pool never opens more connections than max', async () => {
      const pool = newPool({ max: 2 });
      let opened = 0;
      pool.on('connect', () => ++opened);
      await Promise.all(
        Array.from({ length: 10 }, () =>
          pool.query('select pg_backend_pid() as pid, pg_sleep(0.02)'),
        ),
      );
      assert.equal(opened, 2);
      assert.equal(pool.totalCount, 2);
    });

    it('a fast query takes a free connection rather than wait behind a slow statement', async () => {
      const pool = newPool({ max: 2 });
      await warm(pool, 2);
      await teach(pool, PID);
      await pool.query(BLOCKABLE, [0.05, LOCK]);
      await observer.lock(LOCK);
      const slow = pool.query(BLOCKABLE, [0, LOCK]);
      // Each of them would wait for the lock if it stood behind.
      const fast = new Set(await pidsOf(Array.from({ length: 50 }, () => pool.query(PID))));
      for (let i = 0; i < 20; ++i) fast.add(pidOf(await pool.query(PID)));
      await observer.unlock(LOCK);
      assert.equal(fast.size, 1);
      assert.ok(!fast.has(pidOf(await slow)));
    });

    it('a fast query has a new connection opened rather than wait behind a slow statement', async () => {
      const pool = newPool({ max: 2 });
      await teach(pool, PID);
      await pool.query(BLOCKABLE, [0.05, LOCK]);
      assert.equal(pool.totalCount, 1);
      await observer.lock(LOCK);
      const slow = pool.query(BLOCKABLE, [0, LOCK]);
      const fast = pidOf(await pool.query(PID));
      await observer.unlock(LOCK);
      assert.notEqual(fast, pidOf(await slow));
      assert.equal(pool.totalCount, 2);
    });

    it('an unknown statement is assumed to be slow', async () => {
      const pool = newPool({ max: 2 });
      await teach(pool, PID);
      assert.equal(pool.totalCount, 1);
      await observer.lock(LOCK);
      const unseen = pool.query(`${BLOCKABLE} as unseen`, [0, LOCK]);
      const fast = pidOf(await pool.query(PID));
      await observer.unlock(LOCK);
      assert.notEqual(fast, pidOf(await unseen));
    });

    it('queries avoid a connection whose first statement in flight is overdue', async () => {
      const pool = newPool({ max: 2 });
      await teach(pool, PID);
      await teach(pool, BLOCKABLE, [0, LOCK]);
      assert.equal(pool.totalCount, 1);
      await observer.lock(LOCK);
      const overdue = pool.query(BLOCKABLE, [0, LOCK]);
      await observer.untilWaitedFor(LOCK);
      // Those that come before it is known to be overdue may stand behind it.
      const answered = [];
      const all = [overdue];
      await until('a query has passed', () => {
        const query = pool.query(PID);
        query.then((result) => answered.push(pidOf(result)));
        all.push(query);
        return answered.length > 0;
      });
      const passed = [...answered];
      await observer.unlock(LOCK);
      await Promise.all(all);
      assert.ok(!passed.includes(pidOf(await overdue)));
    });

    it('slow statements do not wait behind each other while connections are free', async () => {
      const pool = newPool({ max: 3 });
      await warm(pool, 3);
      await pool.query(BLOCKABLE, [0.05, LOCK]);
      await observer.lock(LOCK);
      const slow = [1, 2, 3].map(() => pool.query(BLOCKABLE, [0, LOCK]));
      await observer.untilWaitedFor(LOCK, 3);
      await observer.unlock(LOCK);
      assert.equal(new Set(await pidsOf(slow)).size, 3);
    });

    it('a fast query waits for the first connection that becomes free rather than behind a slow statement', async () => {
      const pool = newPool({ max: 2 });
      await warm(pool, 2);
      await teach(pool, PID);
      await teach(pool, BLOCKABLE, [0.05, LOCK], 3);
      await observer.lock(LOCK);
      await observer.lock(LOCK + 1);
      const slow = [LOCK, LOCK + 1].map((lock) => pool.query(BLOCKABLE, [0, lock]));
      await observer.untilWaitedFor(LOCK);
      await observer.untilWaitedFor(LOCK + 1);
      const fast = [1, 2, 3].map(() => pool.query(PID));
      assert.equal(pool.waitingCount, 3);
      await observer.unlock(LOCK + 1);
      // The other one is still blocked.
      const pids = new Set(await pidsOf(fast));
      assert.deepEqual([...pids], [pidOf(await slow[1])]);
      await observer.unlock(LOCK);
      assert.ok(!pids.has(pidOf(await slow[0])));
    });

    it('queries that wait for a slow statement keep their order and their time limit', async () => {
      const pool = newPool({ max: 1, connectionTimeoutMillis: 1000 });
      await teach(pool, BLOCKABLE, [0.05, LOCK], 3);
      await observer.lock(LOCK);
      const slow = pool.query(BLOCKABLE, [0, LOCK]);
      const done = [];
      const waiting = [1, 2, 3].map((i) =>
        pool.query('select $1::int as i', [i]).then(({ rows }) => done.push(rows[0].i)),
      );
      assert.equal(pool.waitingCount, 3);
      await observer.unlock(LOCK);
      await Promise.all([slow, ...waiting]);
      assert.deepEqual(done, [1, 2, 3]);

      await observer.lock(LOCK);
      const blocked = pool.query(BLOCKABLE, [0, LOCK]);
      await assert.rejects(pool.query(PID), poolError('ERR_PG_CONDUIT_POOL_TIMEOUT'));
      await observer.unlock(LOCK);
      await blocked;
    });

    it('a fast query is sent behind an unknown statement if no connection may be opened', async () => {
      const pool = newPool({ max: 1 });
      await teach(pool, PID);
      await observer.lock(LOCK);
      const unseen = pool.query(`${BLOCKABLE} as never_seen`, [0, LOCK]);
      const fast = pool.query(PID);
      assert.equal(pool.waitingCount, 0);
      assert.equal(pool.stats().connections[0].inFlight, 2);
      await observer.unlock(LOCK);
      assert.equal(pidOf(await unseen), pidOf(await fast));
    });

    describe('behind which there is enough work already', () => {
      const SHORT = 'select pg_sleep(0.003), $1::int as i';

      useCosts((text) => (text === SHORT ? 3 : TINY_MILLIS));
      beforeEach(() => mock.method(ConnectionLoad.prototype, 'isOverdue', () => false));

      /**
       * @param {Record<string, any>} given @param {number} count
       * @param {Record<string, any>} [changed] options that hold when the connections are open
       */
      async function ask(given, count, changed) {
        const pool = newPool({ max: 2, ...given });
        await warm(pool, pool.options.max);
        Object.assign(pool.options, changed);
        const queries = Array.from({ length: count }, (_, i) => pool.query(SHORT, [i]));
        return { pool, queries, waiting: pool.waitingCount };
      }

      it('are spared further queries, which wait in their order for the first that has time', async () => {
        const { pool, queries, waiting } = await ask({}, 20);
        assert.equal(waiting, 18);
        assert.deepEqual(
          pool.stats().connections.map(({ inFlight }) => inFlight),
          [1, 1],
        );
        const answered = await Promise.all(queries);
        assert.deepEqual(
          answered.map(({ rows }) => rows[0].i),
          Array.from({ length: 20 }, (_, i) => i),
        );
      });

      it('are sent what exceeds maxWaiting, rather than that it is rejected', async () => {
        const { queries, waiting } = await ask({ maxWaiting: 4 }, 20);
        assert.equal(waiting, 4);
        await Promise.all(queries);
      });

      it('are sent what has waited for connectionTimeoutMillis, rather than that it is rejected', async () => {
        const { queries, waiting } = await ask({}, 100, { connectionTimeoutMillis: 50 });
        assert.equal(waiting, 98);
        await Promise.all(queries);
      });

      it("are sent what may share a Sync: syncGroup: 'all'", async () => {
        const { queries, waiting } = await ask({ syncGroup: 'all' }, 20);
        assert.equal(waiting, 0);
        await Promise.all(queries);
      });

      it('are sent all of it if there is but one', async () => {
        const { queries, waiting } = await ask({ max: 1 }, 20);
        assert.equal(waiting, 0);
        await Promise.all(queries);
      });
    });

    describe('does not consider a statement slow', () => {
      const FAST = 'select $1::int as fast';

      /** What a use of the text is expected to cost. */
      async function expected(pool) {
        const query = pool.query(FAST, [0]);
        const { expectedMillis } = pool.stats().connections[0];
        await query;
        return expectedMillis;
      }

      /**
       * The least of what it is expected to cost after the uses: other processes of a busy machine may
       * hold the server up, now and then.
       * @param {(i: number) => Promise<any>} use
       */
      async function leastExpected(pool, use) {
        let least = Infinity;
        for (let attempt = 0; attempt < 3 && least >= 5; ++attempt) {
          for (let i = 0; i < 10; ++i) await use(i);
          least = Math.min(least, await expected(pool));
        }
        return least;
      }

      it('before it is sent, however long JavaScript is busy', async () => {
        const pool = newPool({ max: 1 });
        await teach(pool, FAST, [0]);
        const before = pool.stats().flushes;
        const first = pool.query(FAST, [1]);
        blockThread(50);
        await Promise.all([first, pool.query(FAST, [2])]);
        assert.equal(pool.stats().flushes - before, 1);
      });

      it('while JavaScript writes a burst, of which the first part is sent already', async () => {
        const pool = newPool({ max: 1 });
        await teach(pool, FAST, [0]);
        const burst = Array.from({ length: 100 }, (_, i) => {
          blockThread(1);
          return pool.query(FAST, [i]);
        });
        // Behind a slow one they would wait.
        assert.equal(pool.waitingCount, 0);
        await Promise.all(burst);
      });

      for (const [when, blockSoon] of [
        ['in the tick that sends it', () => blockThread(50)],
        ['in a microtask', () => void Promise.resolve().then(() => blockThread(50))],
        ['in an immediate', () => void setImmediate(blockThread, 50)],
        ['in a timer', () => void setTimeout(blockThread, 0, 50)],
        [
          'in timers all the time',
          () => [0, 1, 2, 3].map((wait) => setTimeout(blockThread, wait, 20)),
        ],
      ]) {
        it(`because JavaScript was busy ${when}`, async () => {
          const pool = newPool({ max: 1 });
          await teach(pool, FAST, [0]);
          const millis = await leastExpected(pool, async (i) => {
            const query = pool.query(FAST, [i]);
            blockSoon();
            await query;
          });
          assert.ok(millis < 5, `${millis} ms`);
        });
      }

      it('because JavaScript was busy with data of another socket', async () => {
        const server = net.createServer((socket) => socket.on('data', () => blockThread(50)));
        const port = await listen(server);
        const socket = net.connect(port, '127.0.0.1');
        await once(socket, 'connect');
        socket.setNoDelay(true);
        try {
          const pool = newPool({ max: 1 });
          await teach(pool, FAST, [0]);
          const millis = await leastExpected(pool, async (i) => {
            socket.write('block');
            await pool.query(FAST, [i]);
            await delay(5);
          });
          assert.ok(millis < 5, `${millis} ms`);
        } finally {
          socket.destroy();
          server.close();
        }
      });

      it('because the server is far away, or behind a proxy', async () => {
        const proxy = await Proxy.open();
        proxy.delayMillis = 25;
        try {
          const pool = newPool({ connectionString: undefined, max: 1, ...proxy.options() });
          await teach(pool, FAST, [0]);
          const millis = await expected(pool);
          assert.ok(millis < 40, `${millis} ms`);
          // One behind the other they would take 10 seconds.
          const start = performance.now();
          const results = await Promise.all(
            Array.from({ length: 200 }, (_, i) => pool.query(FAST, [i])),
          );
          const took = performance.now() - start;
          for (const [fast, { rows }] of results.entries()) assert.deepEqual(rows, [{ fast }]);
          assert.ok(took < 5000, `${took} ms`);
        } finally {
          await proxy.close();
        }
      });
    });

    it('a server that is far away stays so, whatever arrives while JavaScript is busy', async () => {
      const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'distant-'));
      const distant = fork(DISTANT, [folder]);
      try {
        const [through] = await once(distant, 'message');
        const pool = newPool({ ...through, connectionString: undefined, max: 1 });
        const text = 'select length($1::text)';
        await teach(pool, text, ['x'], 5);
        // The socket is full soon, so that libpq reads in the middle of the loop, which takes longer than a round trip.
        const value = 'x'.repeat(4000);
        const many = Array.from({ length: 1900 }, () => {
          blockThread(0.1);
          return pool.query(text, [value]);
        });
        await Promise.all(many);
        // With a shorter round trip, each would seem to cost the server the difference, and be sent alone.
        await teach(pool, text, ['x'], 10);
        const burst = Array.from({ length: 60 }, () => pool.query(text, ['x']));
        const { waitingCount } = pool;
        await Promise.all(burst);
        await pool.end();
        assert.equal(waitingCount, 0);
      } finally {
        distant.kill();
        fs.rmSync(folder, { recursive: true, force: true });
      }
    });

    it('a query that fails does not affect the others', async () => {
      const pool = newPool({ max: 1 });
      const outcomes = await Promise.allSettled(
        Array.from({ length: 100 }, (_, i) => pool.query('select 1 / $1::int as i', [i % 2])),
      );
      for (const [i, { status, reason }] of outcomes.entries()) {
        assert.equal(status, i % 2 === 0 ? 'rejected' : 'fulfilled');
        if (i % 2 === 0) assert.equal(reason.code, '22012');
      }
    });
  });

  describe('bounds what is in flight and what waits', () => {
    it('maxInFlight limits a connection, and the other queries wait in order', async () => {
      const pool = newPool({ max: 1, maxInFlight: 5 });
      await pool.query('select 1');
      const done = [];
      const queries = Array.from({ length: 50 }, (_, i) =>
        pool.query('select $1::int as i', [i]).then(({ rows }) => done.push(rows[0].i)),
      );
      assert.equal(pool.stats().connections[0].inFlight, 5);
      assert.equal(pool.waitingCount, 45);
      await Promise.all(queries);
      assert.deepEqual(
        done,
        Array.from({ length: 50 }, (_, i) => i),
      );
      assert.equal(pool.waitingCount, 0);
    });

    it('beyond maxWaiting only the surplus is rejected', async () => {
      const pool = newPool({ max: 1, maxInFlight: 5, maxWaiting: 10 });
      await pool.query('select 1');
      const outcomes = await Promise.allSettled(
        Array.from({ length: 20 }, (_, i) => pool.query('select $1::int as i', [i])),
      );
      for (const [i, { status, value, reason }] of outcomes.entries()) {
        assert.equal(status, i < 15 ? 'fulfilled' : 'rejected', `query ${i}`);
        if (i < 15) assert.deepEqual(value.rows, [{ i }]);
        else poolError('ERR_PG_CONDUIT_POOL_FULL')(reason);
      }
      await pool.query('select 1');
    });

    it('beyond maxWaiting connect() rejects, and with maxWaiting: 0 nothing waits', async () => {
      const pool = newPool({ max: 1, maxWaiting: 1 });
      const client = await pool.connect();
      const waiting = pool.connect();
      await assert.rejects(pool.connect(), poolError('ERR_PG_CONDUIT_POOL_FULL'));
      await assert.rejects(pool.query('select 1'), poolError('ERR_PG_CONDUIT_POOL_FULL'));
      client.release();
      (await waiting).release();
    });

    it('connectionTimeoutMillis limits the wait for a checked-out connection', async () => {
      const pool = newPool({ max: 1, connectionTimeoutMillis: 500 });
      const client = await pool.connect();
      const outcomes = await Promise.allSettled([
        pool.connect(),
        pool.query('select 1'),
        pool.query('vacuum pg_am'),
      ]);
      for (const { status, reason } of outcomes) {
        assert.equal(status, 'rejected');
        assert.match(reason.message, /^timeout exceeded when trying to connect/);
        poolError('ERR_PG_CONDUIT_POOL_TIMEOUT')(reason);
      }
      assert.equal(pool.waitingCount, 0);
      client.release();
      await pool.query('select 1');
    });

    it('connectionTimeoutMillis does not limit how long a query runs', async () => {
      const pool = newPool({ max: 1, connectionTimeoutMillis: 500 });
      await pool.query('select pg_sleep(0.7)');
      const client = await pool.connect();
      await client.query('select pg_sleep(0.7)');
      client.release();
    });
  });

  describe('refuses statements that would change the session that callers share', () => {
    /** @param {string} text @param {RegExp} hint what to do instead */
    async function assertRefused(text, hint) {
      // Nothing listens there: what were sent would be rejected otherwise.
      const pool = new Pool({ host: NOWHERE });
      await assert.rejects(pool.query(text), (error) => {
        assert.ok(error instanceof StatementRefusedError, String(error));
        assert.equal(error.code, 'ERR_PG_CONDUIT_REFUSED');
        assert.equal(error.outcome, 'not-run');
        assert.match(error.message, hint);
        return true;
      });
      assert.equal(pool.totalCount, 0);
      await pool.end();
    }

    for (const text of [
      'BEGIN',
      'start transaction',
      'commit',
      'rollback',
      'savepoint a',
      'SET search_path TO public',
      '/* a comment */ set statement_timeout = 1',
      'reset all',
      'LISTEN channel',
      'declare c cursor for select 1',
      'PREPARE p AS SELECT 1',
      'deallocate all',
      'discard all',
      'CREATE TEMP TABLE t ()',
      'create temporary table t as select 1',
      'select pg_advisory_lock(1)',
    ]) {
      it(text, () => assertRefused(text, /pool\.connect\(\)/));
    }

    for (const text of ['COPY pg_am FROM STDIN', 'copy pg_am to stdout']) {
      it(text, () => assertRefused(text, /copyFrom\(\) or copyTo\(\)/));
    }
  });

  describe('runs DDL alone on a connection', () => {
    it('so that VACUUM and CREATE INDEX CONCURRENTLY work while other queries run', async () => {
      for (const max of [1, 3]) {
        const pool = newPool({ max });
        await pool.query(`create table vacuumed_${max} as select generate_series(1, 100) as i`);
        const others = Array.from({ length: 100 }, () =>
          pool.query(`select count(*)::int as n from vacuumed_${max}`),
        );
        await pool.query(`vacuum vacuumed_${max}`);
        await pool.query(`create index concurrently on vacuumed_${max} (i)`);
        await pool.query(`vacuum (analyze) vacuumed_${max}`);
        for (const { rows } of await Promise.all(others)) assert.equal(rows[0].n, 100);
      }
    });

    it('so that no query waits behind it in a pipeline', async () => {
      const pool = newPool({ max: 2 });
      await pool.query('create table locked (i int)');
      await teach(pool, PID);
      const client = await newClient();
      await client.query('begin');
      await client.query('lock table locked in access share mode');
      const ddl = pool.query('alter table locked add column j int');
      const pids = new Set();
      for (let i = 0; i < 20; ++i) pids.add(pidOf(await pool.query(PID)));
      await client.query('commit');
      await ddl;
      assert.equal(pids.size, 1);
    });

    it('and its connection serves other queries afterwards, even when it has failed', async () => {
      const pool = newPool({ max: 1 });
      const pid = pidOf(await pool.query(PID));
      await assert.rejects(pool.query('create index on no_such_table (i)'), { code: '42P01' });
      await pool.query('create table fine ()');
      assert.equal(pidOf(await pool.query(PID)), pid);
      assert.equal(pool.totalCount, 1);
    });
  });
});
