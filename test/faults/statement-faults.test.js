'use strict';

// Errors that the server answers one statement with, for reasons outside of it: limits, conflicts, a full
// disk, types and tables that are made anew. That statement only is rejected, its neighbours on the same
// pipeline are unhurt, and what is prepared heals.

const assert = require('node:assert/strict');
const { execFileSync } = require('node:child_process');
const fs = require('node:fs');
const { DatabaseError } = require('../..');
const { startDatabase } = require('../../scripts/database');
const { endAll, newClient, newPool, options } = require('../support/connect');
const { EXECUTIONS } = require('../support/like-pg');
const { Observer, observeServer } = require('../support/outside');
const { IS_FULL } = require('../support/property');

const SESSION = '-c search_path=conduit_test,public';
const NEIGHBOURS = 20;

describe('An error of one statement', function () {
  this.timeout(60000);

  const observer = observeServer();
  before(() => observer.makeTable('rows', 'id int primary key, n int'));
  beforeEach(async () => {
    await observer.ask('rollback');
    await observer.ask('truncate conduit_test.rows cascade');
    await observer.ask('insert into conduit_test.rows select i, 0 from generate_series(1, 5) as i');
  });
  afterEach(endAll);

  /**
   * Runs it in the middle of others, all in one tick and on one connection.
   * @param {any} pool
   * @param {string} code that it must end in
   * @param {() => Promise<any>} run
   * @param {() => Promise<any>} [meanwhile]
   */
  async function failsAlone(pool, code, run, meanwhile = async () => {}) {
    const insert = (id) => pool.query('insert into rows values ($1, 0) returning id', [id]);
    await insert(100);
    const { pid } = (await pool.query('select pg_backend_pid() as pid')).rows[0];
    const ids = Array.from({ length: NEIGHBOURS }, (_, i) => 101 + i);
    const before = ids.slice(0, NEIGHBOURS / 2).map(insert);
    const guilty = run().then(
      () => assert.fail('should have been rejected'),
      (error) => error,
    );
    const behind = ids.slice(NEIGHBOURS / 2).map(insert);
    await meanwhile(pid);
    const error = await guilty;
    assert.ok(error instanceof DatabaseError, String(error));
    assert.equal(error.code, code);
    assert.equal(error.outcome, 'not-run');
    const answers = await Promise.all([...before, ...behind]);
    assert.deepEqual(
      answers.map(({ rows }) => rows[0].id),
      ids,
    );
    const there = await observer.ask('select id from conduit_test.rows where id > 100 order by id');
    assert.deepEqual(
      there.map(({ id }) => id),
      ids,
    );
    assert.equal((await pool.query('select pg_backend_pid() as pid')).rows[0].pid, pid);
  }

  const newPoolOf = (session) => newPool(options({ max: 1, options: `${SESSION} ${session}` }));

  it('57014: statement_timeout', async () => {
    const pool = newPool({ max: 1, statement_timeout: 100 });
    await failsAlone(pool, '57014', () =>
      pool.query('insert into rows select 1000 from pg_sleep(60)'),
    );
  });

  it('40P01: a deadlock', async () => {
    const pool = newPoolOf('-c deadlock_timeout=50ms');
    await observer.ask("set deadlock_timeout to '60s'");
    const update = (id) => `update conduit_test.rows set n = n + 1 where id = ${id}`;
    await observer.ask('begin');
    await observer.ask(update(2));
    // The pool is to be the last to wait, since each side looks for a deadlock once.
    const gate = await Observer.open();
    await gate.lock(1);
    let other;
    await failsAlone(
      pool,
      '40P01',
      () => pool.batch([update(1), 'select pg_advisory_xact_lock(1)', update(2)]),
      async () => {
        await gate.untilWaitedFor(1);
        other = observer.ask(update(1));
        await untilWaiting(observer.client.processID);
        await gate.unlock(1);
      },
    );
    await other;
    await gate.close();
    await observer.ask('commit');
    assert.deepEqual(await observer.ask('select n from conduit_test.rows where id < 3'), [
      { n: 1 },
      { n: 1 },
    ]);
  });

  it('40001: a serialization failure', async () => {
    const pool = newPoolOf('-c default_transaction_isolation=repeatable\\ read');
    const update = 'update conduit_test.rows set n = n + 1 where id = 1';
    await observer.ask('begin');
    await observer.ask(update);
    await failsAlone(
      pool,
      '40001',
      () => pool.query(update),
      async (pid) => {
        await untilWaiting(pid);
        await observer.ask('commit');
      },
    );
    assert.deepEqual(await observer.ask('select n from conduit_test.rows where id = 1'), [
      { n: 1 },
    ]);
  });

  it('23503: a deferred constraint, at the commit', async () => {
    await observer.makeTable(
      'deferred',
      'id int references conduit_test.rows deferrable initially deferred',
    );
    const pool = newPool({ max: 1 });
    await failsAlone(pool, '23503', () => pool.query('insert into deferred values (-1)'));
    assert.deepEqual(await observer.rowsOf('deferred'), []);
  });

  /** @param {number} pid of a backend that comes to wait for a lock, seen by nobody's transaction */
  async function untilWaiting(pid) {
    const watcher = await Observer.open();
    try {
      for (;;) {
        const rows = await watcher.ask(
          "select 1 from pg_stat_activity where pid = $1 and wait_event_type = 'Lock'",
          [pid],
        );
        if (rows.length > 0) return;
      }
    } finally {
      await watcher.close();
    }
  }

  // A limit of the size of files makes a write fall short in the middle of a block, as a full disk does.
  // Elsewhere there is no such limit for a process that runs: there the space for temporary files ends.
  if (process.platform === 'linux') {
    it('a full disk, here by a limit of the size of its backend’s files (prlimit)', async () => {
      const database = await startDatabase({ own: true, settings: { max_wal_size: '64MB' } });
      const own = await Observer.open(database.config);
      try {
        await own.ask('create table filled (t text)');
        await own.ask('alter table filled alter t set storage plain');
        const pool = newPool({ ...database.config, connectionString: undefined, max: 1 });
        const fill = "insert into filled select repeat('x', 2000) from generate_series(1, 30000)";
        const { pid } = (await pool.query('select pg_backend_pid() as pid')).rows[0];
        // More than a file of the WAL has, and half a block more. As the owner of the process: to
        // lower its own limits everybody may.
        const { uid, gid } = fs.statSync(`/proc/${pid}`);
        const fileSize = (20 << 20) + 4096;
        execFileSync('prlimit', [`--pid=${pid}`, `--fsize=${fileSize}:`], { uid, gid });
        const settled = await Promise.allSettled([
          ...Array.from({ length: 10 }, (_, i) => pool.query('select $1::int as i', [i])),
          pool.query(fill),
          ...Array.from({ length: 10 }, (_, i) => pool.query('select $1::int as i', [10 + i])),
        ]);
        const [{ reason }] = settled.splice(10, 1);
        assert.ok(reason instanceof DatabaseError, String(reason));
        assert.match(reason.message, /could not extend file/);
        assert.equal(reason.outcome, 'not-run');
        for (const [i, { value }] of settled.entries()) assert.deepEqual(value.rows, [{ i }]);
        assert.deepEqual(await own.ask('select 1 from filled limit 1'), []);
        assert.equal((await pool.query('select pg_backend_pid() as pid')).rows[0].pid, pid);
        await pool.end();
      } finally {
        await own.close();
        await database.stop();
      }
    });
  }

  it('53400: no more space for temporary files (temp_file_limit)', async () => {
    const pool = newPoolOf('-c temp_file_limit=1MB -c work_mem=64kB');
    await failsAlone(pool, '53400', () =>
      pool.query('insert into rows select i, 1 from generate_series(1000, 999999) i order by -i'),
    );
  });

  describe('of a prepared statement', () => {
    for (const kind of ['client', 'pool']) {
      const open = () => (kind === 'pool' ? newPool({ max: 1 }) : newClient());

      /** @returns {Promise<any[]>} errors of so many uses */
      async function use(one, text, values, check) {
        const errors = [];
        for (let i = 0; i < EXECUTIONS; ++i) {
          await one.query(text, values).then(check, (error) => errors.push(error));
        }
        return errors;
      }

      it(`comes at most once for a type that was dropped and created again, on a ${kind}`, async () => {
        const one = await open();
        await observer.ask('drop type if exists conduit_test.mood');
        await observer.ask("create type conduit_test.mood as enum ('sad', 'ok')");
        const texts = [
          ['select $1::conduit_test.mood as m', ['ok']],
          ["select 'ok'::conduit_test.mood as m, $1::int as n", [1]],
        ];
        const check = ({ rows }) => assert.equal(rows[0].m, 'ok');
        for (const [text, values] of texts) {
          assert.deepEqual(await use(one, text, values, check), []);
        }
        for (let round = 0; round < 3; ++round) {
          await observer.ask('drop type conduit_test.mood');
          await observer.ask("create type conduit_test.mood as enum ('ok', 'sad', 'new')");
          for (const [text, values] of texts) {
            const errors = await use(one, text, values, check);
            assert.ok(errors.length <= 1, `${text}: ${errors.length} errors, ${errors[0]}`);
            for (const { outcome } of errors) assert.equal(outcome, 'not-run');
          }
        }
      });
    }

    it('does not come when search_path changes in the session', async () => {
      const client = await newClient();
      for (const [schema, columns] of [
        ['one', '1 as a'],
        ['two', "'x'::text as a, 2 as b"],
      ]) {
        await observer.ask(`drop schema if exists conduit_test_${schema} cascade`);
        await observer.ask(`create schema conduit_test_${schema}`);
        await observer.ask(`create table conduit_test_${schema}.same as select ${columns}`);
      }
      try {
        for (let round = 0; round < 3; ++round) {
          for (const [schema, row] of [
            ['one', { a: 1 }],
            ['two', { a: 'x', b: 2 }],
          ]) {
            await client.query(`set search_path to conduit_test_${schema}`);
            for (let i = 0; i < EXECUTIONS; ++i) {
              assert.deepEqual((await client.query('select * from same')).rows, [row]);
            }
          }
        }
        // Behind the back of who reads tags.
        for (const [schema, row] of [
          ['one', { a: 1 }],
          ['two', { a: 'x', b: 2 }],
        ]) {
          await client.query(`select set_config('search_path', 'conduit_test_${schema}', false)`);
          for (let i = 0; i < EXECUTIONS; ++i) {
            assert.deepEqual((await client.query('select * from same')).rows, [row]);
          }
        }
      } finally {
        await observer.ask('drop schema conduit_test_one, conduit_test_two cascade');
      }
    });

    it('does not come under load while columns are added and dropped', async () => {
      const pool = newPool({ max: 3 });
      let running = true;
      let answered = 0;
      const load = Array.from({ length: 20 }, async () => {
        while (running) {
          const { rows, fields } = await pool.query('select * from rows where id = $1', [1]);
          assert.deepEqual(
            fields.map(({ name }) => name),
            Object.keys(rows[0]),
          );
          assert.equal(rows[0].id, 1);
          ++answered;
        }
      });
      const loaded = Promise.all(load);
      for (let round = 0; round < (IS_FULL ? 200 : 20); ++round) {
        const type = ['int', 'text', 'numeric'][round % 3];
        await observer.ask(`alter table conduit_test.rows add column extra ${type} default 1`);
        const before = answered;
        while (answered < before + 20) await observer.ask('select 1');
        await observer.ask('alter table conduit_test.rows drop column extra');
      }
      running = false;
      await loaded;
    });
  });
});
