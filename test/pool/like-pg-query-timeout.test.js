'use strict';

// What a query costs its pool when its time limit has passed: with `pg` its connection, and nobody waits for that.
// Both drivers side by side; then what only this one has, neighbours on the same connection.

const assert = require('node:assert/strict');
const pg = require('pg');
const ours = require('../..');
const { newPool, options } = require('../support/connect');
const { errorOf, outcomeOf } = require('../support/outcomes');
const { Observer, applicationName, until } = require('../support/outside');
const { PID, pidOf, usePools } = require('../support/pools');
const { Proxy } = require('../support/proxy');

/** More than a read, which would be asked again on another connection. */
const PATIENT = "select pg_backend_pid() as pid, set_config('conduit.patient', $1, true)";
const TIMEOUT = 'ERR_PG_CONDUIT_QUERY_TIMEOUT';
/** Far more than the next query takes, and less than what a pool would wait for the server to stop. */
const AT_ONCE_MILLIS = 1500;

class CountingProxy extends Proxy {
  /** Connections that were made. */
  count = 0;

  /** @override @param {import('node:net').Socket} socket */
  receive(socket) {
    ++this.count;
    super.receive(socket);
  }
}

describe('A query of a pool whose query_timeout has passed', function () {
  this.timeout(30_000);

  usePools();
  /** @type {Observer} */
  let observer;
  before(async () => {
    observer = await Observer.open(options());
  });
  after(() => observer.close());

  for (const [name, driver] of /** @type {[string, any][]} */ ([
    ['pg', pg],
    ['pg-conduit', ours],
  ])) {
    describe(`with ${name}`, () => {
      /** @type {any} */
      let pool;
      afterEach(() => pool.end());

      for (const [what, text] of [
        ['a statement', 'select pg_sleep(3)'],
        ['several statements', 'select 1; select pg_sleep(3)'],
      ]) {
        it(`leaves the only place to the next query: ${what}`, async () => {
          pool = new driver.Pool(options({ max: 1, query_timeout: 200 }));
          const pid = pidOf(await pool.query(PID));
          const removed = new Promise((resolve) => {
            pool.once('remove', resolve);
          });
          assert.equal((await errorOf(pool.query(text))).message, 'Query read timeout');
          const began = performance.now();
          assert.notEqual(pidOf(await pool.query(PID)), pid);
          assert.ok(performance.now() - began < AT_ONCE_MILLIS);
          assert.equal(pool.totalCount, 1);
          await removed;
        });
      }

      it('leaves its place though the network has fallen silent', async () => {
        const proxy = await CountingProxy.open();
        pool = new driver.Pool(
          proxy.options({ max: 1, query_timeout: 200, connectionTimeoutMillis: 5000 }),
        );
        try {
          await pool.query('select 1');
          proxy.hold();
          const before = proxy.count;
          const began = performance.now();
          assert.equal((await errorOf(pool.query(PID))).message, 'Query read timeout');
          const next = outcomeOf(pool.query({ text: PID, query_timeout: 5000 }));
          await until('another connection is being opened', () => proxy.count > before);
          assert.ok(performance.now() - began < AT_ONCE_MILLIS);
          proxy.release();
          assert.equal((await next).error, undefined);
        } finally {
          await proxy.close();
        }
      });
    });
  }

  /** @param {Record<string, any>} [given] */
  async function sharedPool(given) {
    const name = applicationName();
    const pool = newPool({ max: 1, application_name: name, ...given });
    const pid = pidOf(await pool.query(PID));
    return { name, pool, pid };
  }

  it('is stopped at the server, too, and its connection closed', async () => {
    const { name, pool, pid } = await sharedPool();
    const error = await errorOf(pool.query({ text: 'select pg_sleep(60)', query_timeout: 200 }));
    assert.deepEqual([error.code, error.outcome], [TIMEOUT, 'unknown']);
    await until('its backend is gone', async () => !(await observer.backends(name)).includes(pid));
  });

  it('takes no neighbour along: those are answered where they are, and others elsewhere at once', async () => {
    const { name, pool, pid } = await sharedPool();
    const impatient = errorOf(pool.query({ text: 'select pg_sleep(1)', query_timeout: 100 }));
    const patient = pool.query(PATIENT, ['1']);
    assert.equal((await impatient).code, TIMEOUT);
    const began = performance.now();
    assert.notEqual(pidOf(await pool.query(PID)), pid);
    assert.ok(performance.now() - began < 800, 'it has not waited for the first one');
    assert.equal(pool.totalCount, 1);
    assert.equal(pidOf(await patient), pid);
    await until('the first connection is closed', async () => {
      const pids = await observer.backends(name);
      return !pids.includes(pid);
    });
  });

  it('leaves neighbours until their own limits, and what is sent behind them is never cancelled', async () => {
    const { pool } = await sharedPool();
    const first = errorOf(pool.query({ text: 'select pg_sleep(60)', query_timeout: 100 }));
    const second = errorOf(pool.query({ text: PATIENT, values: ['1'], query_timeout: 600 }));
    await first;
    const began = performance.now();
    assert.equal((await second).code, TIMEOUT);
    assert.ok(performance.now() - began > 300, 'it had its time');
    await pool.end();
  });

  it('costs no more than max connections beside those of the pool', async () => {
    const { name, pool } = await sharedPool({ max: 2 });
    const patient = [];
    for (let round = 0; round < 5; ++round) {
      const both = [1, 2].map(() => {
        const text = `select pg_sleep(1.5) /* ${round} */`;
        const late = errorOf(pool.query({ text, query_timeout: 50 }));
        patient.push(pool.query(PATIENT, [String(round)]));
        return late;
      });
      await Promise.all(both);
      const { length } = await observer.backends(name);
      assert.ok(length <= 4, `${length} connections`);
      assert.ok(pool.totalCount <= 2);
    }
    await Promise.all(patient);
  });

  it('does not keep its connection while its neighbours, all late, wait for one lock after the other', async () => {
    const { pool } = await sharedPool({ max: 1, query_timeout: 300 });
    await pool.query('create table if not exists of_late (id int primary key, n int)');
    await pool.query('insert into of_late values (1, 0) on conflict do nothing');
    const update = () => pool.query('update of_late set n = n + 1 where id = $1', [1]);
    for (let i = 0; i < 5; ++i) await update();
    await observer.ask('begin');
    await observer.ask('select from of_late where id = 1 for update');
    try {
      const outcomes = await Promise.allSettled(Array.from({ length: 5 }, update));
      for (const { reason } of outcomes) assert.equal(reason?.code, TIMEOUT);
      // While the lock lasts.
      await pool.end();
      assert.equal(pool.totalCount, 0);
    } finally {
      await observer.ask('rollback');
      await observer.ask('drop table of_late');
    }
  });

  it('leaves a borrowed client the connection that it has', async () => {
    const { pool } = await sharedPool({ max: 2 });
    await pool.query('select 1');
    const client = await pool.connect();
    try {
      await client.query("set stress.mark = 'kept'");
      const error = await errorOf(
        client.query({ text: 'select pg_sleep(60)', query_timeout: 100 }),
      );
      assert.deepEqual([error.code, error.outcome], [TIMEOUT, 'not-run']);
      const { rows } = await client.query("select current_setting('stress.mark') as mark");
      assert.deepEqual(rows, [{ mark: 'kept' }]);
    } finally {
      client.release();
    }
  });

  it('leaves a borrowed client that only reads another connection', async () => {
    const { pool, pid } = await sharedPool({ max: 2 });
    const client = await pool.connect();
    try {
      const error = await errorOf(
        client.query({ text: 'select pg_sleep(60)', query_timeout: 100 }),
      );
      assert.equal(error.code, TIMEOUT);
      await client.query('select 1');
      assert.ok(pool.totalCount <= 2);
      assert.ok(pid > 0);
    } finally {
      client.release();
    }
  });

  it('is waited for by the end of the pool', async () => {
    const { name, pool } = await sharedPool();
    const late = errorOf(pool.query({ text: 'select pg_sleep(60)', query_timeout: 100 }));
    // It may be rejected before the one who terminates the backend has an answer.
    const patient = errorOf(pool.query(PID));
    await late;
    await observer.terminate((await observer.backends(name))[0]);
    await patient;
    await pool.end();
    assert.equal(pool.totalCount, 0);
  });
});
