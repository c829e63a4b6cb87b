'use strict';

// lib/pool/pool.js: the API that it has in common with `pg`, end() and stats(). Which connection
// a query gets: dispatch.test.js; what happens without a server: outage.test.js.

const assert = require('node:assert/strict');
const { Pool } = require('../..');
const { connectionString, options } = require('../support/connect');
const { applicationName, seen, until } = require('../support/outside');
const { PID, newPool, pidOf, pidsOf, poolError, usePools, warm } = require('../support/pools');

describe('Pool', function () {
  // A query in the wrong place waits for ever.
  this.timeout(15000);

  const observer = usePools();

  describe('has the API of pg', () => {
    it('query() returns a promise', async () => {
      const pool = newPool();
      assert.deepEqual((await pool.query('select 1 as one')).rows, [{ one: 1 }]);
      assert.deepEqual((await pool.query('select $1::int as i', [2])).rows, [{ i: 2 }]);
      const { rows } = await pool.query({ text: 'select $1::int', values: [3], rowMode: 'array' });
      assert.deepEqual(rows, [[3]]);
      await assert.rejects(pool.query('selec'), { code: '42601' });
    });

    it('query() takes a callback, and then returns nothing', async () => {
      const pool = newPool();
      const call = (...args) =>
        new Promise((resolve) => {
          const given = pool.query(...args, (error, result) => resolve({ error, result }));
          assert.equal(given, undefined);
        });
      assert.deepEqual((await call('select 1 as one')).result.rows, [{ one: 1 }]);
      assert.deepEqual((await call('select $1::int as i', [2])).result.rows, [{ i: 2 }]);
      const inConfig = await new Promise((resolve, reject) => {
        const callback = (error, result) => (error ? reject(error) : resolve(result));
        pool.query({ text: 'select 3 as i', callback });
      });
      assert.deepEqual(inConfig.rows, [{ i: 3 }]);
      const { error, result } = await call('selec');
      assert.equal(error.code, '42601');
      assert.equal(result, undefined);
    });

    it('connect() returns a promise of a client with release()', async () => {
      const pool = newPool({ max: 1 });
      const client = await pool.connect();
      assert.equal(pidOf(await client.query(PID)), client.processID);
      client.release();
      assert.equal(pidOf(await pool.query(PID)), client.processID);
    });

    it('connect() takes a callback with error, client and done', async () => {
      const pool = newPool({ max: 1 });
      const pid = await new Promise((resolve, reject) => {
        const given = pool.connect((error, client, done) => {
          if (error) {
            reject(error);
            return;
          }
          client.query(PID, (failure, result) => {
            done();
            if (failure) reject(failure);
            else resolve(pidOf(result));
          });
        });
        assert.equal(given, undefined);
      });
      assert.equal(pidOf(await pool.query(PID)), pid);
    });

    it('connect() calls back with an error, and with a done() that may be called', async () => {
      const pool = newPool();
      await pool.end();
      const [error, client] = await new Promise((resolve) => {
        pool.connect((...args) => {
          args[2]();
          resolve(args);
        });
      });
      poolError('ERR_PG_CONDUIT_POOL_ENDED')(error);
      assert.equal(client, undefined);
    });

    it('release(error) and release(true) destroy the connection', async () => {
      const pool = newPool({ max: 1 });
      const pids = new Set();
      for (const argument of [new Error('broken'), true, undefined]) {
        const client = await pool.connect();
        pids.add(client.processID);
        client.release(argument);
      }
      assert.equal(pids.size, 3);
      const client = await pool.connect();
      assert.ok(pids.has(client.processID), 'a plain release() keeps it');
      client.release();
    });

    it('a second release() throws, and has no other effect', async () => {
      const pool = newPool({ max: 1 });
      const first = await pool.connect();
      const firstRelease = first.release;
      first.release();
      assert.throws(() => first.release(), /already been released/);
      const second = await pool.connect();
      assert.throws(() => firstRelease(), /already been released/);
      await second.query('begin');
      const other = pool.query(PID);
      assert.equal((await second.query('select txid_current_if_assigned() as id')).rowCount, 1);
      assert.equal(pool.waitingCount, 1);
      await second.query('commit');
      second.release();
      await other;
    });

    it('end() closes all connections, and calls back', async () => {
      const name = applicationName();
      const pool = newPool({ application_name: name });
      await warm(pool, 3);
      assert.equal((await observer.backends(name)).length, 3);
      await pool.end();
      assert.equal(pool.totalCount, 0);
      await until('the backends are gone', async () => !(await observer.backends(name)).length);

      const other = newPool();
      await other.query('select 1');
      const error = await new Promise((resolve) => {
        assert.equal(other.end(resolve), undefined);
      });
      assert.equal(error ?? null, null);
    });

    it('end() resolves for a pool that was never used', async () => {
      await newPool().end();
    });

    it('end() rejects the second time', async () => {
      const pool = newPool();
      const first = pool.end();
      await assert.rejects(pool.end(), /Called end on pool more than once/);
      await first;
      await assert.rejects(pool.end(), /Called end on pool more than once/);
    });

    it('query() and connect() reject after end()', async () => {
      const pool = newPool();
      await pool.query('select 1');
      const ended = pool.end();
      for (const use of [() => pool.query('select 1'), () => pool.connect()]) {
        await assert.rejects(use(), (error) => {
          assert.match(error.message, /Cannot use a pool after calling end on the pool/);
          return poolError('ERR_PG_CONDUIT_POOL_ENDED')(error);
        });
      }
      await ended;
    });

    it('totalCount, idleCount and waitingCount count connections and waiting calls', async () => {
      const pool = newPool({ max: 2, multiplex: 'off' });
      const counts = () => [pool.totalCount, pool.idleCount, pool.waitingCount];
      assert.deepEqual(counts(), [0, 0, 0]);
      const first = await pool.connect();
      assert.deepEqual(counts(), [1, 0, 0]);
      const second = await pool.connect();
      const third = pool.connect();
      const query = pool.query('select 1');
      assert.deepEqual(counts(), [2, 0, 2]);
      first.release();
      (await third).release();
      await query;
      second.release();
      await until('all are idle', () => pool.idleCount === 2);
      assert.deepEqual(counts(), [2, 2, 0]);
      const running = pool.query('select 1');
      assert.deepEqual(counts(), [2, 1, 0]);
      await running;
    });

    it('emits connect, acquire, release and remove with the client', async () => {
      const pool = newPool({ max: 1 });
      const events = [];
      pool.on('connect', (client) => events.push(['connect', client]));
      pool.on('acquire', (client) => events.push(['acquire', client]));
      pool.on('release', (error, client) => events.push(['release', client, error]));
      pool.on('remove', (client) => events.push(['remove', client]));
      const client = await pool.connect();
      client.release();
      const again = await pool.connect();
      assert.equal(again, client);
      const error = new Error('broken');
      const removed = seen(pool, 'remove');
      again.release(error);
      await removed;
      assert.equal(pool.totalCount, 0);
      assert.deepEqual(
        events.map(([name]) => name),
        ['connect', 'acquire', 'release', 'acquire', 'release', 'remove'],
      );
      assert.ok(events.every((event) => event[1] === client));
      assert.equal(events[2][2], undefined);
      assert.equal(events[4][2], error);
    });

    it('takes a connection string', async () => {
      const pool = new Pool(connectionString());
      try {
        assert.deepEqual((await pool.query('select 1 as one')).rows, [{ one: 1 }]);
      } finally {
        await pool.end();
      }
    });

    it("queries of a 'connect' listener run before all others on the connection", async () => {
      const pool = newPool({ max: 3 });
      pool.on('connect', (client) => client.query("set application_name = 'from listener'"));
      const results = await Promise.all(
        Array.from({ length: 20 }, () =>
          pool.query("select current_setting('application_name') as name"),
        ),
      );
      assert.ok(results.every(({ rows }) => rows[0].name === 'from listener'));
    });

    it("settings made by a 'connect' listener are kept when a caller changes the session", async () => {
      const pool = newPool({ max: 1 });
      pool.on('connect', (client) => client.query("set application_name = 'from listener'"));
      const client = await pool.connect();
      await client.query("set statement_timeout = '1min'");
      client.release();
      const { rows } = await pool.query(
        "select current_setting('application_name') as name, current_setting('statement_timeout') as timeout",
      );
      assert.deepEqual(rows, [{ name: 'from listener', timeout: '0' }]);
    });
  });

  describe('end()', () => {
    it('finishes what is in flight and what waits', async () => {
      const pool = newPool({ max: 1, maxInFlight: 2 });
      const queries = Array.from({ length: 20 }, (_, i) =>
        pool.query('select $1::int as i', [i]).then(({ rows }) => rows[0].i),
      );
      const borrowed = pool.connect().then(async (client) => {
        const pid = pidOf(await client.query(PID));
        client.release();
        return pid;
      });
      let finished = 0;
      for (const one of [...queries, borrowed]) one.then(() => ++finished);
      await pool.end();
      assert.equal(finished, 21);
      assert.equal(pool.totalCount, 0);
      assert.deepEqual(
        await Promise.all(queries),
        Array.from({ length: 20 }, (_, i) => i),
      );
    });

    it('waits for checked-out clients', async () => {
      const pool = newPool({ max: 2 });
      const client = await pool.connect();
      let hasEnded = false;
      const ended = pool.end().then(() => (hasEnded = true));
      await client.query('begin');
      await client.query('create table of_a_lent_client ()');
      await client.query('commit');
      assert.equal(hasEnded, false);
      client.release();
      await ended;
      assert.equal(pool.totalCount, 0);
    });

    it('waits for connections that are being opened', async () => {
      const pool = newPool({ max: 3 });
      const queries = [1, 2, 3].map(() => pool.query(PID));
      await pool.end();
      await Promise.all(queries);
      assert.equal(pool.totalCount, 0);
    });
  });

  describe('stats()', () => {
    it('counts hits, misses and evictions of prepared statements', async () => {
      const pool = newPool({ max: 1, statementCacheSize: 2 });
      for (let i = 0; i < 10; ++i) await pool.query('select 1');
      const { statementCache, connections, parses, queries, syncs } = pool.stats();
      assert.deepEqual(statementCache, { hits: 8, misses: 2, evictions: 0 });
      assert.deepEqual({ parses, queries, syncs }, { parses: 1, queries: 10, syncs: 10 });
      assert.equal(connections[0].preparedStatements, 1);
      // Behind the second one there is no room: each later one comes often enough to take the place of another.
      for (let i = 2; i < 6; ++i) {
        for (let use = 0; use < 12; ++use) await pool.query(`select ${i}`);
      }
      const after = pool.stats();
      assert.equal(after.statementCache.evictions, 3);
      assert.equal(after.connections[0].preparedStatements, 2);
      const { rows } = await pool.query('select count(*)::int as n from pg_prepared_statements');
      assert.deepEqual(rows, [{ n: 2 }]);
    });

    it('counts what is in flight on each connection', async () => {
      const pool = newPool({ max: 2 });
      await warm(pool, 2);
      const queries = [1, 2, 3].map(() =>
        pool.query('select pg_backend_pid() as pid, pg_sleep(0.02)'),
      );
      const { connections, totalCount, idleCount, waitingCount } = pool.stats();
      assert.deepEqual(
        { totalCount, idleCount, waitingCount },
        {
          totalCount: 2,
          idleCount: 0,
          waitingCount: 0,
        },
      );
      assert.deepEqual(connections.map(({ inFlight }) => inFlight).sort(), [1, 2]);
      const pids = await pidsOf(queries);
      assert.deepEqual(
        [...new Set(pids)].sort(),
        connections.map(({ processID }) => processID).sort(),
      );
      const after = pool.stats().connections;
      assert.deepEqual(
        after.map(({ inFlight, expectedMillis }) => [inFlight, expectedMillis]),
        [
          [0, 0],
          [0, 0],
        ],
      );
    });

    it('includes the counts of closed connections', async () => {
      const pool = newPool({ max: 1, maxUses: 2 });
      for (let i = 0; i < 10; ++i) await pool.query(PID);
      const { queries, syncs } = pool.stats();
      assert.deepEqual({ queries, syncs }, { queries: 10, syncs: 10 });
    });

    /** What is sent for bursts of 100 queries, each burst in one tick. */
    async function countBursts(pool, bursts) {
      const before = pool.stats();
      for (let burst = 0; burst < bursts; ++burst) {
        await Promise.all(
          Array.from({ length: 100 }, (_, i) => pool.query('select $1::int as i', [i])),
        );
      }
      const after = pool.stats();
      const names = ['queries', 'syncs', 'flushes', 'wakeups'];
      return Object.fromEntries(names.map((name) => [name, after[name] - before[name]]));
    }

    it('shows one flush for 64 queries of a tick, and with syncGroup: off a Sync for each', async () => {
      const pool = newPool({ max: 1, syncGroup: 'off' });
      // One question of the driver's own is among the first.
      await countBursts(pool, 5);
      const bursts = 50;
      const { queries, syncs, flushes, wakeups } = await countBursts(pool, bursts);
      assert.equal(queries, 100 * bursts);
      assert.equal(syncs, queries);
      // Two for 100.
      assert.ok(flushes < 3 * bursts, `${flushes} flushes`);
      assert.ok(wakeups <= queries, `${wakeups} wake-ups`);
    });

    it('shows that known reads share Syncs', async () => {
      const pool = newPool({ max: 1 });
      await until('they share Syncs', async () => {
        const { queries, syncs } = await countBursts(pool, 5);
        // One look at the catalog is among them, and one question for the process, once.
        assert.ok(queries >= 500 && queries <= 502, `${queries} queries`);
        assert.ok(syncs <= queries);
        return syncs <= 0.2 * queries;
      });
      const { queries, syncs, wakeups } = await countBursts(pool, 50);
      assert.ok(syncs >= queries / 32 && syncs <= 0.3 * queries, `${syncs} Syncs`);
      assert.ok(wakeups <= queries, `${wakeups} wake-ups`);
    });
  });

  it('rejects queries and connect() if its options are wrong, instead of throwing', async () => {
    const pool = new Pool({ ...options(), max: 'many' });
    await assert.rejects(pool.query('select 1'), { code: 'ERR_PG_CONDUIT_OPTION' });
    await assert.rejects(pool.connect(), /option "max" must be/);
    await pool.end();
  });
});
