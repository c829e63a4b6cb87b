'use strict';

// Backends that are killed, terminated or stopped, a server that starts up or is full: who asked learns
// in time what has become of it, which the tables confirm, and goes on afterwards. On a server of its own.

const assert = require('node:assert/strict');
const fs = require('node:fs');
const path = require('node:path');
const { setTimeout: delay } = require('node:timers/promises');
const pg = require('pg');
const { Client, ConnectionError, DatabaseError, Pool } = require('../..');
const { startDatabase } = require('../../scripts/database');
const { errorOf } = require('../support/outcomes');
const { Observer, until } = require('../support/outside');
const { Proxy } = require('../support/proxy');

/** So soon everybody must hear of the end of a connection; alone on a machine it takes a hundredth. */
const TOLD_WITHIN_MILLIS = 5000;
const MAX_CONNECTIONS = 12;
const INSERT = 'insert into written values ($1) returning id';

describe('When the server', function () {
  this.timeout(60000);

  /** @type {Awaited<ReturnType<typeof startDatabase>>} */
  let database;
  /** @type {Observer} */
  let observer;
  /** What is closed after each test. @type {{ end: () => Promise<void> }[]} */
  const opened = [];
  /** The checkpointer that a crash has ended. @type {number | undefined} */
  let crashedWith;
  /** Backends that are stopped. @type {Set<number>} */
  const stopped = new Set();

  before(async () => {
    database = await startDatabase({
      own: true,
      listen: true,
      settings: {
        log_min_messages: 'fatal',
        max_connections: MAX_CONNECTIONS,
        // What was committed must survive kill -9.
        synchronous_commit: 'on',
        hot_standby: 'off',
      },
    });
  });
  after(() => database.stop());
  beforeEach(async () => {
    await reobserve();
    await observer.ask('create table if not exists written (id int)');
    await observer.ask('truncate written');
  });
  afterEach(async () => {
    for (const pid of [...stopped]) resume(pid);
    await Promise.all(opened.splice(0).map((one) => one.end()));
    await observer.close().catch(() => {});
  });

  /** @param {Record<string, any>} [options] */
  function newPool(options) {
    const pool = new Pool({ ...database.config, ...options });
    opened.push(pool);
    return pool;
  }

  /** @param {Record<string, any>} [options] */
  async function newClient(options) {
    const client = new Client({ ...database.config, ...options });
    opened.push(client);
    await client.connect();
    return client;
  }

  /** @param {'client' | 'pool'} kind @param {Record<string, any>} [options] */
  const open = (kind, options) =>
    kind === 'pool' ? newPool({ max: 1, ...options }) : newClient(options);

  const pidOf = async (one) => (await one.query('select pg_backend_pid() as pid')).rows[0].pid;

  /** @param {number} pid */
  function stop(pid) {
    process.kill(pid, 'SIGSTOP');
    stopped.add(pid);
  }

  /** @param {number} pid */
  function resume(pid) {
    process.kill(pid, 'SIGCONT');
    stopped.delete(pid);
  }

  const checkpointer = async () => {
    const text = "select pid from pg_stat_activity where backend_type = 'checkpointer'";
    return (await observer.ask(text))[0]?.pid;
  };

  /** Kills a backend; the server restarts itself then, a little later. */
  async function kill(pid) {
    crashedWith = await checkpointer();
    process.kill(pid, 'SIGKILL');
  }

  /** Observes it again, after a crash when it has begun anew. */
  async function reobserve() {
    await until('the server is back', async () => {
      await observer?.close().catch(() => {});
      try {
        observer = await Observer.open(database.config);
        const pid = await checkpointer();
        return pid !== undefined && pid !== crashedWith;
      } catch {
        return false;
      }
    });
  }

  /**
   * @param {{ status: string, value?: any, reason?: any }[]} outcomes of inserts of their index
   * @returns {Promise<Record<string, number>>} how often each was told
   */
  async function assertTruth(outcomes) {
    const rows = await observer.ask('select id, count(*)::int as n from written group by id');
    const counts = new Map(rows.map(({ id, n }) => [id, n]));
    const told = { done: 0, 'not-run': 0, unknown: 0 };
    for (const [id, { status, value, reason }] of outcomes.entries()) {
      const there = counts.get(id) ?? 0;
      if (status === 'fulfilled') {
        assert.deepEqual(value.rows, [{ id }]);
        assert.equal(there, 1, `${id} is done`);
        ++told.done;
        continue;
      }
      assert.ok(reason instanceof ConnectionError, String(reason));
      assert.ok(there <= (reason.outcome === 'unknown' ? 1 : 0), `${id} is ${reason.outcome}`);
      ++told[reason.outcome];
    }
    return told;
  }

  const ENDS = {
    'kill -9': kill,
    pg_terminate_backend: (pid) => observer.terminate(pid),
  };

  for (const [how, end] of Object.entries(ENDS)) {
    describe(`ends a connection by ${how}`, () => {
      for (const kind of /** @type {const} */ (['client', 'pool'])) {
        it(`100 inserts in flight on a ${kind} are committed or unknown, as the table shows`, async () => {
          const one = await open(kind, { syncGroup: 'all' });
          const pid = await pidOf(one);
          const slow = 'insert into written select 50 from pg_sleep(60) returning id';
          const inserts = Array.from({ length: 100 }, (_, id) =>
            id === 50 ? one.query(slow) : one.query(INSERT, [id]),
          );
          const settled = Promise.allSettled(inserts);
          await observer.untilAsleep(pid);
          const endedAt = performance.now();
          await end(pid);
          const outcomes = await settled;
          const millis = performance.now() - endedAt;
          assert.ok(millis < TOLD_WITHIN_MILLIS, `${millis} ms`);
          await reobserve();
          const told = await assertTruth(outcomes);
          // What was sent behind the slow one may have run, for all that is known here.
          assert.equal(told.done, 50);
          assert.equal(told.done + told.unknown + told['not-run'], 100);
          assert.ok(told.unknown >= 1, JSON.stringify(told));
          await assertGoesOn(kind, one, pid);
        });

        it(`an idle ${kind} emits an error, and no query fails`, async () => {
          const one = await open(kind);
          const pid = await pidOf(one);
          const lost = new Promise((resolve) => {
            one.once('error', resolve);
          });
          await end(pid);
          const error = await Promise.race([lost, delay(TOLD_WITHIN_MILLIS)]);
          assert.ok(error instanceof ConnectionError, 'nobody was told');
          await reobserve();
          await assertGoesOn(kind, one, pid);
        });
      }

      it('an open transaction is rolled back, and its error says so', async () => {
        const pool = newPool({ max: 1 });
        let pid = 0;
        const failed = errorOf(
          pool.transaction(async (tx) => {
            pid = await pidOf(tx);
            await tx.query(INSERT, [1]);
            await tx.query('select pg_sleep(60)');
          }),
        );
        await until('it sleeps', () => pid !== 0);
        await observer.untilAsleep(pid);
        await end(pid);
        const error = await failed;
        assert.ok(error instanceof ConnectionError, String(error));
        await reobserve();
        assert.equal(error.outcome, 'not-run');
        assert.deepEqual(await observer.ask('select id from written'), []);
        await assertGoesOn('pool', pool, pid);
      });
    });
  }

  /** A pool replaces its connection; a client says that it has none. */
  async function assertGoesOn(kind, one, pid) {
    if (kind === 'pool') {
      assert.notEqual(await pidOf(one), pid);
      return;
    }
    const error = await errorOf(one.query('select 1'));
    assert.ok(error instanceof ConnectionError);
    assert.equal(error.outcome, 'not-run');
    assert.notEqual(await pidOf(await newClient()), pid);
  }

  describe('does not accept connections yet (57P03)', () => {
    const postmaster = () =>
      fs.readFileSync(path.join(database.dataDirectory, 'postmaster.pid'), 'utf8').split('\n');
    const promote = () => {
      fs.writeFileSync(path.join(database.dataDirectory, 'promote'), '');
      process.kill(Number(postmaster()[0]), 'SIGUSR1');
    };

    /** As long as it is a standby without hot_standby, it says so to everybody. */
    async function whileStartingUp(run) {
      await observer.close();
      const signal = path.join(database.dataDirectory, 'standby.signal');
      fs.writeFileSync(signal, '');
      fs.chmodSync(signal, 0o666);
      const restarted = database.restart();
      try {
        await until('it is there', () => {
          try {
            return postmaster()[7].trim() === 'standby';
          } catch {
            return false; // the file is just being written
          }
        });
        await run();
      } finally {
        promote();
        await restarted;
      }
      await reobserve();
    }

    it('queries fail with that error at once, not run', async () => {
      await whileStartingUp(async () => {
        const [pool, late] = [newPool(), newPool({ connectionTimeoutMillis: 30000 })];
        const attempts = [pool, late].flatMap((one) => [one.query('select 1'), one.connect()]);
        attempts.push(newClient());
        for (const error of await Promise.all(attempts.map(errorOf))) {
          assert.ok(error instanceof DatabaseError, String(error));
          assert.equal(error.code, '57P03');
          assert.equal(error.outcome, 'not-run');
        }
      });
    });

    it('queries of a pool with waitForServer wait for it, and all are answered', async () => {
      const pool = newPool({ max: 3, connectionTimeoutMillis: 30000, waitForServer: true });
      await pool.query('select 1');
      let answers;
      await whileStartingUp(async () => {
        answers = Array.from({ length: 20 }, (_, id) => pool.query(INSERT, [id]));
        answers.push(pool.transaction((tx) => tx.query(INSERT, [20])));
        await delay(300);
        assert.equal(pool.waitingCount, 21);
      });
      await assertTruth(await Promise.allSettled(answers));
      await Promise.all(answers);
    });

    it('queries whose time limit expires are rejected with the reason', async () => {
      await whileStartingUp(async () => {
        const pool = newPool({ connectionTimeoutMillis: 400, waitForServer: true });
        const errors = await Promise.all([pool.query('select 1'), pool.connect()].map(errorOf));
        for (const error of errors) {
          assert.ok(error instanceof DatabaseError, String(error));
          assert.equal(error.code, '57P03');
          assert.equal(error.outcome, 'not-run');
          assert.match(error.detail, /within 400 ms/);
        }
      });
    });
  });

  describe('has no free connection slot (53300)', () => {
    /** Takes all connections but so many. */
    async function occupy(left) {
      const taken = [];
      await until('it is full', async () => {
        const client = new pg.Client(database.config);
        client.on('error', () => {});
        return client.connect().then(
          () => taken.push(client) < 0,
          ({ code }) => code === '53300',
        );
      });
      for (const client of taken.splice(0, left)) await client.end();
      await until('the others are gone', async () => {
        const [{ n }] = await observer.ask(
          "select count(*)::int as n from pg_stat_activity where backend_type = 'client backend'",
        );
        return n === MAX_CONNECTIONS - left;
      });
      opened.push({ end: () => Promise.all(taken.map((client) => client.end())) });
      return taken;
    }

    it('a pool continues with the connections that it has', async () => {
      await occupy(2);
      const pool = newPool({ max: 10 });
      const answers = Array.from({ length: 60 }, (_, i) =>
        pool.query('select $1::int as i, pg_sleep(0.02)', [i]).then(({ rows }) => rows[0].i),
      );
      assert.deepEqual(
        await Promise.all(answers),
        Array.from({ length: 60 }, (_, i) => i),
      );
      assert.ok(pool.totalCount <= 3, String(pool.totalCount));
    });

    it('a pool without a connection rejects, or waits for one until its time limit', async () => {
      const [one] = await occupy(0);
      const error = await errorOf(newPool().query('select 1'));
      assert.ok(error instanceof DatabaseError, String(error));
      assert.equal(error.code, '53300');
      assert.equal(error.outcome, 'not-run');
      assert.match(error.hint, /lower the max/);
      const limited = newPool({ connectionTimeoutMillis: 300, waitForServer: true });
      const late = await errorOf(limited.query('select 1'));
      assert.equal(late.code, '53300');
      assert.match(late.detail, /within 300 ms/);
      const patient = newPool({ max: 5, waitForServer: true });
      const answers = Promise.all(Array.from({ length: 20 }, () => patient.query('select 1')));
      await until('it has tried', () => patient.totalCount === 0);
      await one.end();
      await answers;
    });

    it('a pool retries with growing, random delays, one attempt at a time', async () => {
      await occupy(0);
      const proxies = await Promise.all([Proxy.open(database.config), Proxy.open(database.config)]);
      try {
        const timesOf = async (proxy) => {
          const times = [];
          const receive = proxy.receive.bind(proxy);
          proxy.receive = (socket) => {
            times.push(performance.now());
            receive(socket);
          };
          const pool = newPool({
            ...proxy.options(),
            max: 4,
            connectionTimeoutMillis: 3000,
            waitForServer: true,
          });
          await Promise.allSettled(Array.from({ length: 20 }, () => pool.query('select 1')));
          return times;
        };
        const [gaps, others] = (await Promise.all(proxies.map(timesOf))).map((times) =>
          // The first ones, one for each connection that may be opened, come at once.
          times.slice(4).map((time, i) => time - times[i + 3]),
        );
        assert.ok(gaps.length >= 3, String(gaps));
        for (const [i, gap] of [...gaps.slice(1).entries(), ...others.slice(1).entries()]) {
          assert.ok(gap >= Math.min(50 * 2 ** (i + 1), 1000) / 2, `${i}: ${gap} ms`);
        }
        assert.notDeepEqual(gaps.map(Math.round), others.map(Math.round));
      } finally {
        await Promise.all(proxies.map((proxy) => proxy.close()));
      }
    });
  });

  describe('is stopped (SIGSTOP)', () => {
    it('in one backend, time limits reject, and other queries continue', async () => {
      const pool = newPool({ max: 3 });
      await Promise.all([1, 2, 3].map(() => pool.query('select pg_sleep(0.05)')));
      const pid = await pidOf(pool);
      stop(pid);
      const outcomes = await Promise.all(
        Array.from({ length: 30 }, (_, id) =>
          pool.query({ text: INSERT, values: [id], timeoutMillis: 500 }).catch((error) => error),
        ),
      );
      const late = outcomes.filter((outcome) => outcome instanceof Error);
      for (const { code } of late) assert.equal(code, 'ERR_PG_CONDUIT_QUERY_TIMEOUT');
      assert.ok(late.length > 0 && late.every(({ outcome }) => outcome === 'unknown'));
      // Nobody is sent behind it any more.
      await Promise.all(Array.from({ length: 50 }, () => pool.query('select 1')));
      resume(pid);
      await until('all are idle', () => pool.idleCount === pool.totalCount);
      const ids = (await observer.ask('select id from written')).map(({ id }) => id);
      assert.equal(new Set(ids).size, ids.length);
      for (const [id, outcome] of outcomes.entries()) {
        if (!(outcome instanceof Error)) assert.ok(ids.includes(id));
      }
    });

    for (const given of /** @type {any[]} */ ([
      { timeoutMillis: 300 },
      { query_timeout: 300 },
      { signal: true },
    ])) {
      it(`in the backend of a client, ${Object.keys(given)} rejects, and the client is closed`, async () => {
        const client = await newClient();
        const pid = await pidOf(client);
        stop(pid);
        const signal = given.signal && AbortSignal.timeout(300);
        const error = await errorOf(client.query({ text: 'select 1', ...given, signal }));
        assert.equal(error.name, given.signal ? 'AbortError' : 'QueryAbortedError');
        assert.equal(error.outcome, 'unknown');
        const next = await errorOf(client.query('select 1'));
        assert.ok(next instanceof ConnectionError);
        assert.equal(next.outcome, 'not-run');
      });
    }

    it('in the backend of a query with a signal, the pool replaces the connection', async () => {
      const pool = newPool({ max: 1 });
      const pid = await pidOf(pool);
      stop(pid);
      const signal = AbortSignal.timeout(300);
      const error = await errorOf(pool.query({ text: 'select 1', signal }));
      assert.equal(error.name, 'AbortError');
      assert.equal(error.outcome, 'unknown');
      assert.notEqual(await pidOf(pool), pid);
    });

    it('as a whole while connections are being opened, connectionTimeoutMillis rejects', async () => {
      const postmaster = database.pid;
      stop(postmaster);
      const client = new Client({ ...database.config, connectionTimeoutMillis: 300 });
      const pool = newPool({ connectionTimeoutMillis: 300, max: 1 });
      const errors = await Promise.all(
        [client.connect(), pool.query('select 1'), pool.connect()].map(errorOf),
      );
      for (const { code, outcome } of errors) {
        assert.ok(['ETIMEDOUT', 'ERR_PG_CONDUIT_POOL_TIMEOUT'].includes(code), code);
        assert.equal(outcome, 'not-run');
      }
      resume(postmaster);
      await client.end();
      await pool.query('select 1');
    });
  });
});
