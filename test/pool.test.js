'use strict';

// lib/pool.js: who gets which connection, and who waits. What happens without a
// server, or when it goes away, stands in pool-outage.test.js.

const assert = require('node:assert/strict');
const path = require('node:path');
const { PoolError, Pool, StatementRefusedError } = require('..');
const {
  connectionString,
  endAll,
  newClient,
  options,
  resetSchema,
  newPool: newPlainPool,
} = require('./support/connect');
const { Observer, applicationName, runFixture, seen, until } = require('./support/outside');

const PID = 'select pg_backend_pid() as pid';
// Blocks while the test holds the lock; that it may be slow besides makes it known as slow.
const BLOCKABLE =
  'select pg_backend_pid() as pid, pg_sleep($1::float8), pg_advisory_xact_lock($2::bigint)';
const LOCK = 7301;
// What fixtures/pool-exit.js says.
const USES = 'queries\na client\na statement alone\n';

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

/** Makes a text known as fast. */
async function teach(pool, text, values) {
  for (let i = 0; i < 20; ++i) await pool.query(text, values);
}

/** @param {string} code */
const poolError = (code) => (error) => {
  assert.ok(error instanceof PoolError, String(error));
  assert.equal(error.code, code);
  assert.equal(error.outcome, 'not-run');
  return true;
};

describe('Pool', function () {
  // A query in the wrong place waits for ever.
  this.timeout(15000);

  /** @type {Observer} */
  let observer;

  before(async () => {
    await resetSchema();
    observer = await Observer.open();
  });
  after(() => observer.close());
  // First, lest the pools wait for them.
  afterEach(() => observer.ask('select pg_advisory_unlock_all()'));
  afterEach(releaseAll);
  afterEach(endAll);

  describe('has the API of pg', () => {
    it('query() gives a promise', async () => {
      const pool = newPool();
      assert.deepEqual((await pool.query('select 1 as one')).rows, [{ one: 1 }]);
      assert.deepEqual((await pool.query('select $1::int as i', [2])).rows, [{ i: 2 }]);
      const { rows } = await pool.query({ text: 'select $1::int', values: [3], rowMode: 'array' });
      assert.deepEqual(rows, [[3]]);
      await assert.rejects(pool.query('selec'), { code: '42601' });
    });

    it('query() takes a callback, and gives nothing then', async () => {
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

    it('connect() gives a promise of a client with release()', async () => {
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

    it('connect() calls back with the error, and a done that may be called', async () => {
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

    it('a second release() throws, and harms nobody', async () => {
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

    it('end() of a pool that was never used ends', async () => {
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

    it('totalCount, idleCount and waitingCount tell what there is', async () => {
      const pool = newPool({ max: 2 });
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

    it('what a connect listener sends comes before all else on the connection', async () => {
      const pool = newPool({ max: 3 });
      pool.on('connect', (client) => client.query("set application_name = 'from listener'"));
      const results = await Promise.all(
        Array.from({ length: 20 }, () =>
          pool.query("select current_setting('application_name') as name"),
        ),
      );
      assert.ok(results.every(({ rows }) => rows[0].name === 'from listener'));
    });

    it('what a connect listener has set outlives a borrower who changes the session', async () => {
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

    it('uses an idle connection first', async () => {
      const pool = newPool({ max: 3 });
      await warm(pool, 3);
      const pids = await pidsOf([1, 2, 3, 4].map(() => pool.query(PID)));
      assert.equal(new Set(pids.slice(0, 3)).size, 3);
      assert.ok(pids.slice(0, 3).includes(pids[3]));
    });

    it('grows to max for slow statements', async () => {
      const pool = newPool({ max: 10 });
      const sleep = 'select pg_backend_pid() as pid, pg_sleep(0.2)';
      const pids = await pidsOf(Array.from({ length: 10 }, () => pool.query(sleep)));
      assert.equal(new Set(pids).size, 10);
      assert.equal(pool.totalCount, 10);
    });

    it('grows from one connection when it is known that a statement is slow', async () => {
      const pool = newPool({ max: 4 });
      await pool.query(BLOCKABLE, [0.05, LOCK]);
      assert.equal(pool.totalCount, 1);
      await observer.lock(LOCK);
      const blocked = [1, 2, 3, 4].map(() => pool.query(BLOCKABLE, [0, LOCK]));
      await observer.untilWaitedFor(LOCK, 4);
      await observer.unlock(LOCK);
      assert.equal(new Set(await pidsOf(blocked)).size, 4);
    });

    it('never opens more than max', async () => {
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

    it('a fast query passes a slow statement by on a free connection', async () => {
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

    it('a fast query waits for a new connection rather than behind a slow statement', async () => {
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

    it('a statement that was never seen is taken to be slow', async () => {
      const pool = newPool({ max: 2 });
      await teach(pool, PID);
      assert.equal(pool.totalCount, 1);
      await observer.lock(LOCK);
      const unseen = pool.query(`${BLOCKABLE} as unseen`, [0, LOCK]);
      const fast = pidOf(await pool.query(PID));
      await observer.unlock(LOCK);
      assert.notEqual(fast, pidOf(await unseen));
    });

    it('queries pass a connection by whose head is overdue', async () => {
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

    it('slow statements do not wait behind each other while there are connections', async () => {
      const pool = newPool({ max: 3 });
      await warm(pool, 3);
      await pool.query(BLOCKABLE, [0.05, LOCK]);
      await observer.lock(LOCK);
      const slow = [1, 2, 3].map(() => pool.query(BLOCKABLE, [0, LOCK]));
      await observer.untilWaitedFor(LOCK, 3);
      await observer.unlock(LOCK);
      assert.equal(new Set(await pidsOf(slow)).size, 3);
    });

    it('one query does not touch another that fails', async () => {
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
    it('maxInFlight caps a connection, and the rest waits in order', async () => {
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

    it('connectionTimeoutMillis limits the wait for a connection that is lent', async () => {
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

  describe('lets connections go', () => {
    it('after idleTimeoutMillis', async () => {
      const name = applicationName();
      const pool = newPool({ application_name: name, idleTimeoutMillis: 50 });
      let removed = 0;
      pool.on('remove', () => ++removed);
      await Promise.all([1, 2, 3].map(() => pool.query('select pg_sleep(0.02)')));
      await until('the pool is empty', () => pool.totalCount === 0);
      assert.equal(removed, 3);
      await until('the backends are gone', async () => !(await observer.backends(name)).length);
      await pool.query('select 1');
    });

    it('not while they are busy or lent', async () => {
      const pool = newPool({ max: 2, idleTimeoutMillis: 20 });
      const client = await pool.connect();
      const busy = pool.query('select pg_backend_pid() as pid, pg_sleep(0.3)');
      const spare = seen(pool, 'remove');
      await busy;
      await spare;
      assert.equal(pool.totalCount, 1);
      assert.equal(pidOf(await client.query(PID)), client.processID);
      client.release();
    });

    it('but keeps min of them', async () => {
      const pool = newPool({ min: 1, max: 3, idleTimeoutMillis: 40 });
      const sleep = 'select pg_backend_pid() as pid, pg_sleep(0.02)';
      const kept = new Set();
      for (let round = 0; round < 3; ++round) {
        const pids = await pidsOf([1, 2, 3].map(() => pool.query(sleep)));
        assert.equal(new Set(pids).size, 3);
        await until('all but one are gone', () => pool.totalCount <= 1);
        assert.equal(pool.totalCount, 1);
        if (round > 0) assert.ok(pids.some((pid) => kept.has(pid)));
        kept.add(pool.stats().connections[0].processID);
      }
    });

    it('after maxUses, one after the other', async () => {
      const pool = newPool({ max: 1, maxUses: 3 });
      const pids = [];
      for (let i = 0; i < 9; ++i) pids.push(pidOf(await pool.query(PID)));
      assert.equal(new Set(pids).size, 3);
      assert.deepEqual(
        pids,
        [0, 3, 6].flatMap((first) => Array(3).fill(pids[first])),
      );
    });

    it('after maxUses, under load', async () => {
      const pool = newPool({ max: 2, maxUses: 5 });
      const pids = await pidsOf(Array.from({ length: 60 }, () => pool.query(PID)));
      const uses = new Map();
      for (const pid of pids) uses.set(pid, (uses.get(pid) ?? 0) + 1);
      assert.ok(Math.max(...uses.values()) <= 5, [...uses.values()].join());
      assert.ok(uses.size >= 12);
    });

    it('after maxUses, when they are borrowed', async () => {
      const pool = newPool({ max: 1, maxUses: 2 });
      const pids = [];
      for (let i = 0; i < 4; ++i) {
        const client = await pool.connect();
        pids.push(pidOf(await client.query(PID)));
        client.release();
      }
      assert.deepEqual(pids, [pids[0], pids[0], pids[2], pids[2]]);
      assert.notEqual(pids[0], pids[2]);
    });

    it('after maxLifetimeSeconds, and never under a query', async () => {
      const pool = newPool({ max: 1, maxLifetimeSeconds: 1 });
      const first = pidOf(await pool.query(PID));
      let running = true;
      const failures = [];
      const load = (async () => {
        while (running) {
          await Promise.all([1, 2, 3].map(() => pool.query(PID))).catch((error) =>
            failures.push(error),
          );
        }
      })();
      await until('it was renewed', async () => pidOf(await pool.query(PID)) !== first);
      running = false;
      await load;
      assert.deepEqual(failures, []);
    });

    it('so that a process with allowExitOnIdle ends by itself', async () => {
      const ended = await runFixture('pool-exit.js', {
        args: ['{"allowExitOnIdle":true,"idleTimeoutMillis":0}'],
      });
      assert.deepEqual(ended, { code: 0, signal: null, stdout: USES, stderr: '' });
    });

    it('so that a process without it ends after idleTimeoutMillis', async () => {
      const ended = await runFixture('pool-exit.js', { args: ['{"idleTimeoutMillis":200}'] });
      const removals = 'removed\n'.repeat(ended.stdout.split('removed').length - 1);
      assert.ok(removals.length > 0);
      assert.deepEqual(ended, {
        code: 0,
        signal: null,
        stdout: USES + removals,
        stderr: '',
      });
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

    it('waits for clients that are lent', async () => {
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

  describe('lends a connection to one borrower alone', () => {
    it('whom no pool.query() disturbs', async () => {
      const pool = newPool({ max: 2 });
      const client = await pool.connect();
      await client.query('create table mine (i int)');
      await client.query('begin');
      await client.query('insert into mine values (1)');
      const sleeping = client.query('select pg_sleep(0.1)');
      const pids = await pidsOf(Array.from({ length: 50 }, () => pool.query(PID)));
      assert.ok(!pids.includes(client.processID));
      assert.equal((await pool.query('select count(*)::int as n from mine')).rows[0].n, 0);
      await sleeping;
      await client.query('commit');
      client.release();
      assert.equal((await pool.query('select count(*)::int as n from mine')).rows[0].n, 1);
    });

    it('and makes queries wait for it when there is no other', async () => {
      const pool = newPool({ max: 1 });
      const client = await pool.connect();
      const order = [];
      const queries = [1, 2, 3].map(() => pool.query(PID).then(() => order.push('query')));
      for (let i = 0; i < 3; ++i) {
        await client.query('select 1');
        order.push('client');
      }
      assert.equal(pool.waitingCount, 3);
      client.release();
      await Promise.all(queries);
      assert.deepEqual(order, ['client', 'client', 'client', 'query', 'query', 'query']);
    });

    it('in the order of the asking', async () => {
      const pool = newPool({ max: 1 });
      const first = await pool.connect();
      const order = [];
      const others = [1, 2, 3, 4].map(async (n) => {
        const client = await pool.connect();
        order.push(n);
        await client.query('select 1');
        client.release();
      });
      first.release();
      await Promise.all(others);
      assert.deepEqual(order, [1, 2, 3, 4]);
    });

    it('who is not starved by a steady load of queries', async () => {
      const pool = newPool({ max: 1 });
      let running = true;
      const load = Array.from({ length: 50 }, async () => {
        while (running) await pool.query(PID);
      });
      for (let i = 0; i < 20; ++i) {
        const client = await pool.connect();
        assert.equal((await client.query('select $1::int as i', [i])).rows[0].i, i);
        client.release();
      }
      running = false;
      await Promise.all(load);
    });

    it('but queries are not starved by a steady load of borrowers', async () => {
      const pool = newPool({ max: 1 });
      let running = true;
      const load = Array.from({ length: 10 }, async () => {
        while (running) {
          const client = await pool.connect();
          await client.query(PID);
          client.release();
        }
      });
      for (let i = 0; i < 20; ++i) {
        assert.equal((await pool.query('select $1::int as i', [i])).rows[0].i, i);
      }
      running = false;
      await Promise.all(load);
    });
  });

  describe('gives a released connection to the next one clean', () => {
    /** What the next user of the only connection sees. */
    const ask = async (pool, text) => (await pool.query(text)).rows[0];

    for (const [state, ruin] of [
      ['an open', async () => {}],
      ['a failed', (client) => assert.rejects(client.query('select 1 / 0'), { code: '22012' })],
    ]) {
      it(`${state} transaction is rolled back before anybody else comes`, async () => {
        const pool = newPool({ max: 1 });
        const table = `left_in_${state.split(' ')[1]}`;
        await pool.query(`create table ${table} (i int)`);
        const client = await pool.connect();
        await client.query('begin');
        await client.query(`insert into ${table} values (1)`);
        await ruin(client);
        const waiting = pool.query(
          `select pg_backend_pid() as pid, count(*)::int as n from ${table}`,
        );
        client.release();
        const { rows } = await waiting;
        assert.deepEqual(rows, [{ pid: client.processID, n: 0 }]);
        const [backend] = await observer.ask(
          'select xact_start from pg_stat_activity where pid = $1',
          [client.processID],
        );
        assert.equal(backend.xact_start, null);
      });
    }

    it('a transaction of queries that nobody awaited is rolled back', async () => {
      const pool = newPool({ max: 1 });
      await pool.query('create table unawaited (i int)');
      const client = await pool.connect();
      const queries = [
        client.query('begin'),
        client.query('insert into unawaited values (1)'),
        client.query('select pg_sleep(0.05)'),
      ];
      client.release();
      const next = await ask(pool, 'select count(*)::int as n from unawaited');
      assert.deepEqual(next, { n: 0 });
      await Promise.all(queries);
    });

    it('queries that nobody awaited still get their answers', async () => {
      const pool = newPool({ max: 1 });
      const client = await pool.connect();
      const queries = Array.from({ length: 20 }, (_, i) =>
        client.query('select $1::int as i', [i]),
      );
      client.release();
      const after = pool.query('select 20 as i');
      const results = await Promise.all([...queries, after]);
      assert.deepEqual(
        results.map(({ rows }) => rows[0].i),
        Array.from({ length: 21 }, (_, i) => i),
      );
    });

    it('a commit that nobody awaited counts', async () => {
      const pool = newPool({ max: 1 });
      await pool.query('create table committed (i int)');
      const client = await pool.connect();
      for (const text of ['begin', 'insert into committed values (1)', 'commit']) {
        client.query(text);
      }
      client.release();
      assert.deepEqual(await ask(pool, 'select count(*)::int as n from committed'), { n: 1 });
    });

    for (const [what, leave, look, expected] of [
      [
        'a setting',
        "set statement_timeout = '1min'",
        "select current_setting('statement_timeout') as seen",
        '0',
      ],
      [
        'a channel',
        'listen channel',
        'select count(*)::int as seen from pg_listening_channels()',
        0,
      ],
      [
        'a temporary table',
        'create temp table scratch (i int)',
        "select to_regclass('pg_temp.scratch') as seen",
        null,
      ],
      [
        'a prepared statement',
        'prepare mine as select 1',
        "select count(*)::int as seen from pg_prepared_statements where name = 'mine'",
        0,
      ],
      [
        'a cursor',
        'declare mine cursor with hold for select 1',
        "select count(*)::int as seen from pg_cursors where name = 'mine'",
        0,
      ],
      [
        'an advisory lock',
        'select pg_advisory_lock(7302)',
        "select count(*)::int as seen from pg_locks where locktype = 'advisory' and objid = 7302",
        0,
      ],
      [
        'a role',
        'set session authorization pg_monitor',
        'select (session_user = current_user and current_user <> $$pg_monitor$$)::int as seen',
        1,
      ],
    ]) {
      it(`${what} is gone`, async () => {
        const pool = newPool({ max: 1 });
        const client = await pool.connect();
        await client.query(leave);
        client.release();
        const { rows } = await pool.query(
          `${look}, pg_backend_pid() as pid`.replace(
            / as seen(.*), pg_backend_pid\(\) as pid$/,
            ' as seen, pg_backend_pid() as pid$1',
          ),
        );
        assert.deepEqual(rows, [{ seen: expected, pid: client.processID }]);
      });
    }

    it('with prepared statements that still work', async () => {
      const pool = newPool({ max: 1 });
      await teach(pool, 'select $1::int as i', [1]);
      const client = await pool.connect();
      await client.query("set statement_timeout = '1min'");
      client.release();
      const results = await Promise.all(
        Array.from({ length: 10 }, (_, i) => pool.query('select $1::int as i', [i])),
      );
      assert.deepEqual(
        results.map(({ rows }) => rows[0].i),
        Array.from({ length: 10 }, (_, i) => i),
      );
    });

    it('and one whose borrower has ended it is replaced', async () => {
      const pool = newPool({ max: 1 });
      const client = await pool.connect();
      await client.end();
      client.release();
      assert.notEqual(pidOf(await pool.query(PID)), client.processID);
    });
  });

  describe('refuses what would change the session that callers share', () => {
    /** @param {string} text @param {RegExp} hint what to do instead */
    async function assertRefused(text, hint) {
      // Nothing listens there: what were sent would be rejected otherwise.
      const pool = new Pool({ host: path.join(__dirname, 'no-such-folder') });
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

    // Not even a client of one's own can do that, so it would be a wrong hint.
    for (const text of ['COPY pg_am FROM STDIN', 'copy pg_am to stdout']) {
      it(text, () => assertRefused(text, /INSERT|psql/));
    }
  });

  describe('runs DDL alone', () => {
    it('VACUUM and CREATE INDEX CONCURRENTLY work, while others query', async () => {
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

    it('so that nothing stands behind it in its pipeline', async () => {
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

    it('and its connection serves others afterwards, even when it has failed', async () => {
      const pool = newPool({ max: 1 });
      const pid = pidOf(await pool.query(PID));
      await assert.rejects(pool.query('create index on no_such_table (i)'), { code: '42P01' });
      await pool.query('create table fine ()');
      assert.equal(pidOf(await pool.query(PID)), pid);
      assert.equal(pool.totalCount, 1);
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
      for (let round = 0; round < 2; ++round) {
        for (let i = 2; i < 6; ++i) await pool.query(`select ${i}`);
      }
      const after = pool.stats();
      assert.equal(after.statementCache.evictions, 3);
      assert.equal(after.connections[0].preparedStatements, 2);
      const { rows } = await pool.query('select count(*)::int as n from pg_prepared_statements');
      assert.deepEqual(rows, [{ n: 2 }]);
    });

    it('tells what is in flight on each connection', async () => {
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

    it('keeps the counts of connections that are closed', async () => {
      const pool = newPool({ max: 1, maxUses: 2 });
      for (let i = 0; i < 10; ++i) await pool.query(PID);
      const { queries, syncs } = pool.stats();
      assert.deepEqual({ queries, syncs }, { queries: 10, syncs: 10 });
    });

    it('shows one Sync for each query, but one flush for all queries of a tick', async () => {
      const pool = newPool({ max: 1 });
      await pool.query(PID);
      const before = pool.stats();
      const bursts = 50;
      const count = 100 * bursts;
      for (let burst = 0; burst < bursts; ++burst) {
        await Promise.all(
          Array.from({ length: 100 }, (_, i) => pool.query('select $1::int as i', [i])),
        );
      }
      const after = pool.stats();
      assert.equal(after.queries - before.queries, count);
      assert.equal(after.syncs - before.syncs, count);
      assert.ok(after.flushes - before.flushes < 2 * bursts);
      assert.ok(after.wakeups - before.wakeups <= count);
    });
  });

  it('options that are wrong reject queries and connect(), and do not throw', async () => {
    const pool = new Pool({ ...options(), maxx: 3 });
    await assert.rejects(pool.query('select 1'), { code: 'ERR_PG_CONDUIT_OPTION' });
    await assert.rejects(pool.connect(), /unknown option "maxx"/);
    await pool.end();
  });
});
