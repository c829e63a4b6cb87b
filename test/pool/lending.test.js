'use strict';

// A caller has a connection to itself from connect() to release(), in fair turns with queries,
// and the next caller gets it clean.

const assert = require('node:assert/strict');
const { mock } = require('node:test');
const { OptionError } = require('../..');
const { errorOf } = require('../support/outcomes');
const { until } = require('../support/outside');
const {
  PID,
  newPool,
  pidOf,
  pidsOf,
  poolError,
  teach,
  usePools,
  warm,
} = require('../support/pools');

describe('Pool', function () {
  // A query in the wrong place waits for ever.
  this.timeout(15000);

  const observer = usePools();

  describe('connect() checks out a connection for one caller alone', () => {
    it('and no pool.query() runs on it', async () => {
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

    it('and queries wait for it when there is no other', async () => {
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

    it('in the order of the calls', async () => {
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

    it('and is not starved by a steady load of queries', async () => {
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

    it('and queries are not starved by a steady load of checkouts', async () => {
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

  describe('reserves no connection for a call that has stopped waiting', () => {
    /** A call that waits for the only connection, and is rejected before that is free. */
    const WAYS = {
      'because of its signal': async (pool) => {
        const controller = new AbortController();
        const waiting = pool.query({ text: 'select 2', signal: controller.signal });
        controller.abort();
        await assert.rejects(waiting, { name: 'AbortError' });
      },
      'because of its time limit': (pool) =>
        assert.rejects(pool.query({ text: 'vacuum', timeoutMillis: 20 }), {
          code: 'ERR_PG_CONDUIT_QUERY_TIMEOUT',
        }),
      'because of connectionTimeoutMillis': (pool) =>
        assert.rejects(pool.connect(), poolError('ERR_PG_CONDUIT_POOL_TIMEOUT')),
      'because of maxWaiting': async (pool) => {
        const first = pool.connect();
        await assert.rejects(pool.connect(), poolError('ERR_PG_CONDUIT_POOL_FULL'));
        await assert.rejects(first, poolError('ERR_PG_CONDUIT_POOL_TIMEOUT'));
      },
    };
    for (const [why, abort] of Object.entries(WAYS)) {
      it(why, async () => {
        const pool = newPool({ max: 1, maxWaiting: 1, connectionTimeoutMillis: 100 });
        await warm(pool, 1);
        const busy = pool.query('select pg_sleep(0.3)');
        await abort(pool);
        await busy;
        assert.deepEqual((await pool.query('select 3 as three')).rows, [{ three: 3 }]);
        await pool.end();
      });
    }
  });

  describe('cleans a released connection for the next caller:', () => {
    /** What the next user of the only connection sees. */
    const ask = async (pool, text) => (await pool.query(text)).rows[0];

    for (const [state, ruin] of [
      ['an open', async () => {}],
      ['a failed', (client) => assert.rejects(client.query('select 1 / 0'), { code: '22012' })],
    ]) {
      it(`${state} transaction is rolled back before the connection is used again`, async () => {
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

    it('a transaction whose queries were not awaited is rolled back', async () => {
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

    it('queries that were not awaited still settle', async () => {
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

    it('a COMMIT that was not awaited still commits', async () => {
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
      it(`${what} is reset`, async () => {
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

    it('prepared statements of the driver still work', async () => {
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

    it('a connection that was ended by its caller is replaced', async () => {
      const pool = newPool({ max: 1 });
      const client = await pool.connect();
      await client.end();
      client.release();
      assert.notEqual(pidOf(await pool.query(PID)), client.processID);
    });
  });

  describe('resets a changed session with the option resetQuery', () => {
    const look =
      "select current_setting('work_mem') as work_mem, pg_backend_pid() as pid, " +
      "to_regclass('pg_temp.mine') is null as gone";

    const soil = async (pool) => {
      const client = await pool.connect();
      await client.query("set work_mem = '123kB'");
      await client.query('create temp table mine (i int)');
      client.release();
      return client.processID;
    };

    it('instead of DISCARD ALL', async () => {
      const pool = newPool({ max: 1, resetQuery: "set work_mem = '234kB'" });
      const pid = await soil(pool);
      assert.deepEqual((await pool.query(look)).rows, [{ work_mem: '234kB', pid, gone: false }]);
    });

    it('which may be several statements', async () => {
      const pool = newPool({ max: 1, resetQuery: 'reset all; discard temp' });
      const { rows: before } = await pool.query(look);
      const pid = await soil(pool);
      assert.deepEqual((await pool.query(look)).rows, before);
      assert.equal(before[0].pid, pid);
    });

    it('which may be empty, for no reset', async () => {
      const pool = newPool({ max: 1, resetQuery: '' });
      const pid = await soil(pool);
      assert.deepEqual((await pool.query(look)).rows, [{ work_mem: '123kB', pid, gone: false }]);
      const client = await pool.connect();
      await client.query('begin');
      client.release();
      await pool.query('vacuum pg_catalog.pg_am');
    });

    it("also if a 'connect' listener has configured the session", async () => {
      const pool = newPool({ max: 1, resetQuery: "set work_mem = '234kB'" });
      pool.on('connect', (client) => client.query("set work_mem = '234kB'"));
      const pid = await soil(pool);
      assert.deepEqual((await pool.query(look)).rows, [{ work_mem: '234kB', pid, gone: false }]);
    });

    it('and replaces the connection if that fails or leaves a transaction open', async () => {
      for (const resetQuery of ['select 1 / 0', 'begin']) {
        const pool = newPool({ max: 1, resetQuery });
        const pid = await soil(pool);
        assert.notEqual(pidOf(await pool.query(PID)), pid);
      }
    });

    it('and only if it was changed', async () => {
      const pool = newPool({ max: 1, resetQuery: 'select 1 / 0' });
      const client = await pool.connect();
      await client.query('select 1');
      client.release();
      assert.equal(pidOf(await pool.query(PID)), client.processID);
      await pool.transaction((tx) => tx.query('select 1'));
      assert.equal(pidOf(await pool.query(PID)), client.processID);
    });

    it('which must be a string', async () => {
      for (const resetQuery of [1, true, 'discard\0all']) {
        const error = await errorOf(newPool({ resetQuery }).query('select 1'));
        assert.ok(error instanceof OptionError);
        assert.match(error.message, /option "resetQuery"/);
      }
    });
  });

  describe('with leakWarningMillis', () => {
    /** Warnings while it runs. */
    const collect = async (run) => {
      const warnings = [];
      const note = (warning) => {
        if (warning.name === 'PoolLeakWarning') warnings.push(warning);
      };
      // Node's own listener prints them.
      const others = process.listeners('warning');
      process.removeAllListeners('warning').on('warning', note);
      try {
        await run(warnings);
      } finally {
        process.off('warning', note);
        for (const listener of others) process.on('warning', listener);
      }
      return warnings;
    };

    async function borrowAndForget(pool) {
      return pool.connect();
    }

    it('warns once of a client that is not released, with the stack trace of connect()', async () => {
      const pool = newPool({ max: 2, leakWarningMillis: 10 });
      const warnings = await collect(async (seen) => {
        // This one comes back.
        (await pool.connect()).release();
        const leaked = await borrowAndForget(pool);
        await until('it warns', () => seen.length > 0);
        leaked.release();
        const other = await borrowAndForget(pool);
        await until('it warns again', () => seen.length > 1);
        other.release();
      });
      assert.equal(warnings.length, 2);
      for (const { message, code, stack, detail } of warnings) {
        assert.match(message, /not given back within 10 ms \(leakWarningMillis\)/);
        assert.equal(code, 'PG_CONDUIT_POOL_LEAK');
        assert.match(stack, /borrowAndForget/);
        assert.match(detail, /borrowed here:[^]*borrowAndForget/);
      }
    });

    it('warns of a transaction whose function does not end', async () => {
      const pool = newPool({ max: 1, leakWarningMillis: 10 });
      async function dawdle(seen) {
        await pool.transaction(async (tx) => {
          await tx.query('select 1');
          await until('it warns', () => seen.length > 0);
        });
      }
      const [{ stack }] = await collect(dawdle);
      assert.match(stack, /dawdle/);
    });

    it('warns of an end() that waits, with what it waits for and its stack trace', async () => {
      const pool = newPool({ max: 2, leakWarningMillis: 40 });
      async function endsLate() {
        await pool.end();
      }
      const client = await pool.connect();
      const warnings = await collect(async (seen) => {
        await until('it warns of the client', () => seen.length > 0);
        const query = pool.query('select pg_sleep(0.3)');
        const ended = endsLate();
        await until('it warns of the end', () => seen.length > 1);
        client.release();
        await Promise.all([query, ended]);
      });
      assert.equal(warnings.length, 2);
      const [, { message, code, stack, detail }] = warnings;
      assert.match(
        message,
        /^pool\.end\(\) has waited for 40 ms, for borrowed connections \(1\), queries in flight \(1\) .*release\(\)/,
      );
      assert.equal(code, 'PG_CONDUIT_POOL_LEAK');
      assert.ok(stack.startsWith(`PoolLeakWarning: ${message}\n    at `), stack);
      assert.match(stack, /endsLate/);
      assert.match(detail, /^It was called here:\n[^]*endsLate/);
    });

    it('warns of an end() that waits for 10 s even if it is not set', async () => {
      const pool = newPool({ max: 1 });
      const client = await pool.connect();
      mock.timers.enable({ apis: ['setTimeout'] });
      try {
        const warnings = await collect(async () => {
          const ended = pool.end();
          mock.timers.tick(9999);
          await new Promise(setImmediate);
          client.release();
          await ended;
          const other = newPool({ max: 1 });
          const lent = await other.connect();
          const late = other.end();
          mock.timers.tick(10_000);
          lent.release();
          await late;
          await new Promise(setImmediate);
        });
        assert.equal(warnings.length, 1);
        assert.match(
          warnings[0].message,
          /has waited for 10000 ms, for borrowed connections \(1\)/,
        );
      } finally {
        mock.timers.reset();
      }
    });

    it('does not count the wait for a connection', async () => {
      const pool = newPool({ max: 1, leakWarningMillis: 10 });
      const warnings = await collect(async () => {
        const query = pool.query('select pg_sleep(0.05)');
        (await pool.connect()).release();
        await query;
      });
      assert.deepEqual(warnings, []);
    });

    it('is off by default', async () => {
      const pool = newPool({ max: 1 });
      const warnings = await collect(async () => {
        const client = await pool.connect();
        await client.query('select pg_sleep(0.05)');
        client.release();
      });
      assert.deepEqual(warnings, []);
    });
  });
});
