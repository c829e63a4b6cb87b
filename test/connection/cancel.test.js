'use strict';

// Giving up: by an AbortSignal, by a time limit, and client.cancel(). Whoever gives up is told at
// once; nobody else is hit by it.

const assert = require('node:assert/strict');
const fc = require('fast-check');
const { setImmediate: turn, setTimeout: delay } = require('node:timers/promises');
const { ConnectionError, OptionError, ParameterError, Pool, QueryAbortedError } = require('../..');
const { connectionString, newClient } = require('../support/connect');
const { Gate } = require('../support/gate');
const { errorOf } = require('../support/outcomes');
const { applicationName, until } = require('../support/outside');
const { LOCK, PID, newPool, pidOf, poolError, usePools } = require('../support/pools');
const { holds } = require('../support/property');
const { Proxy } = require('../support/proxy');

/** Runs until it is cancelled, or the test lets go of the lock. */
const BLOCKED = `select pg_advisory_xact_lock(${LOCK}), pg_backend_pid() as pid`;

function assertAborted(error, outcome, cause) {
  assert.ok(error instanceof QueryAbortedError, String(error));
  assert.deepEqual([error.name, error.code], ['AbortError', 'ABORT_ERR']);
  assert.equal(error.outcome, outcome);
  if (cause !== undefined) assert.equal(error.cause, cause);
}

function assertTimedOut(error, outcome) {
  assert.ok(error instanceof QueryAbortedError, String(error));
  assert.equal(error.code, 'ERR_PG_CONDUIT_QUERY_TIMEOUT');
  assert.match(error.message, /^Query read timeout/);
  assert.equal(error.outcome, outcome);
}

describe('Aborting a query', () => {
  const observer = usePools();
  /** @type {Gate | undefined} */
  let gate;
  afterEach(async () => {
    await gate?.close();
    gate = undefined;
  });

  const faces = [
    ['of a pool', async (given) => newPool({ max: 1, ...given })],
    ['of a client', (given) => newClient(given)],
  ];

  for (const [face, open] of faces) {
    describe(`${face} by a signal`, () => {
      it('that was aborted before the call sends nothing', async () => {
        const db = await open();
        const reason = new Error('mine');
        const signal = AbortSignal.abort(reason);
        const text = 'create table conduit_test.never_made (n int)';
        assertAborted(await errorOf(db.query({ text, signal })), 'not-run', reason);
        const [{ made }] = await observer.ask(
          "select to_regclass('conduit_test.never_made') as made",
        );
        assert.equal(made, null);
        assert.deepEqual((await db.query('select 1 as one')).rows, [{ one: 1 }]);
      });

      it('still reports an error in its arguments first', async () => {
        const db = await open();
        for (const signal of [{}, 'now', 1]) {
          const error = await errorOf(db.query({ text: 'select 1', signal }));
          assert.ok(error instanceof ParameterError, String(error));
        }
        const { rows } = await db.query({ text: 'select 1 as one', signal: null });
        assert.deepEqual(rows, [{ one: 1 }]);
      });

      it('that is aborted in the same tick leaves nothing committed', async () => {
        const db = await open();
        await db.query('select 1');
        await observer.lock(LOCK);
        const controller = new AbortController();
        const query = db.query({ text: BLOCKED, signal: controller.signal });
        controller.abort();
        assertAborted(await errorOf(query), 'not-run');
        assert.deepEqual((await db.query('select 1 as one')).rows, [{ one: 1 }]);
      });

      it('while the query runs cancels it at the server', async () => {
        const db = await open();
        await observer.lock(LOCK);
        const controller = new AbortController();
        const query = errorOf(db.query({ text: BLOCKED, signal: controller.signal }));
        await observer.untilWaitedFor(LOCK);
        controller.abort(new Error('mine'));
        const error = await query;
        assertAborted(error, 'not-run');
        assert.equal(error.cause.message, 'mine');
        const waiting = await observer.ask(
          "select 1 from pg_locks where locktype = 'advisory' and not granted",
        );
        assert.deepEqual(waiting, []);
        assert.deepEqual((await db.query('select 1 as one')).rows, [{ one: 1 }]);
      });

      it('keeps the connection', async () => {
        const db = await open();
        const pid = pidOf(await db.query(PID));
        await observer.lock(LOCK);
        for (let round = 0; round < 3; ++round) {
          const controller = new AbortController();
          const query = errorOf(db.query({ text: BLOCKED, signal: controller.signal }));
          await observer.untilWaitedFor(LOCK);
          controller.abort();
          assertAborted(await query, 'not-run');
          assert.equal(pidOf(await db.query(PID)), pid);
        }
      });

      it('after the query is done changes nothing, and no listener is left on the signal', async () => {
        const db = await open();
        const controller = new AbortController();
        const { signal } = controller;
        let listeners = 0;
        const { addEventListener, removeEventListener } = signal;
        signal.addEventListener = (...args) => {
          ++listeners;
          return addEventListener.apply(signal, args);
        };
        signal.removeEventListener = (...args) => {
          --listeners;
          return removeEventListener.apply(signal, args);
        };
        const { rows } = await db.query({ text: 'select 1 as one', signal });
        await assert.rejects(db.query({ text: 'select 1 / 0', signal }), { code: '22012' });
        assert.equal(listeners, 0);
        controller.abort();
        assert.deepEqual(rows, [{ one: 1 }]);
        assert.deepEqual((await db.query('select 2 as two')).rows, [{ two: 2 }]);
      });

      it('may abort many queries at once', async () => {
        const db = await open();
        await observer.lock(LOCK);
        const warnings = [];
        const listener = ({ name }) => warnings.push(name);
        process.on('warning', listener);
        const controller = new AbortController();
        const { signal } = controller;
        const first = await db.query({ text: 'select 1 as one', signal });
        const errors = Array.from({ length: 50 }, () =>
          errorOf(db.query({ text: BLOCKED, signal })),
        );
        await observer.untilWaitedFor(LOCK);
        controller.abort();
        for (const error of await Promise.all(errors)) assertAborted(error, 'not-run');
        assert.deepEqual(first.rows, [{ one: 1 }]);
        assert.deepEqual((await db.query('select 1 as one')).rows, [{ one: 1 }]);
        process.off('warning', listener);
        assert.deepEqual(warnings, []);
      });

      it('has the outcome unknown for DO, CALL and several statements with COMMIT', async () => {
        const db = await open();
        await observer.lock(LOCK);
        await observer.ask(
          `create or replace procedure conduit_test.blocked() language plpgsql as
           $$ begin perform pg_advisory_xact_lock(${LOCK}); end $$`,
        );
        for (const text of [
          `do $$ begin perform pg_advisory_xact_lock(${LOCK}); end $$`,
          'call blocked()',
          `select 1; commit; ${BLOCKED}`,
        ]) {
          const controller = new AbortController();
          const query = errorOf(db.query({ text, signal: controller.signal }));
          await observer.untilWaitedFor(LOCK);
          controller.abort();
          assertAborted(await query, 'unknown');
        }
      });

      it('calls back', async () => {
        const db = await open();
        await observer.lock(LOCK);
        const controller = new AbortController();
        const called = new Promise((resolve) => {
          db.query({ text: BLOCKED, signal: controller.signal }, (...args) => resolve(args));
        });
        await observer.untilWaitedFor(LOCK);
        controller.abort();
        const [error, result] = await called;
        assertAborted(error, 'not-run');
        assert.equal(result, undefined);
      });

      it('makes an unhandled rejection if nobody handles it, as other errors of a query with a signal do', async () => {
        const db = await open();
        const listeners = process.listeners('unhandledRejection');
        process.removeAllListeners('unhandledRejection');
        const seen = [];
        process.on('unhandledRejection', (error) => seen.push(error.code));
        try {
          const { signal } = new AbortController();
          db.query({ text: 'select 1 / 0', signal });
          db.query({ text: 'select 1; select 1 / 0', signal });
          db.query({ text: 'selekt', timeoutMillis: 5000 });
          db.query({ text: 'select pg_sleep(10)', signal: AbortSignal.timeout(20) });
          db.query({ text: 'select pg_sleep(0.5)', timeoutMillis: 20 });
          await until('all are seen', () => seen.length === 5);
        } finally {
          process.removeAllListeners('unhandledRejection');
          for (const listener of listeners) process.on('unhandledRejection', listener);
        }
        assert.deepEqual(seen.sort(), [
          '22012',
          '22012',
          '42601',
          'ABORT_ERR',
          'ERR_PG_CONDUIT_QUERY_TIMEOUT',
        ]);
      });

      it('does not keep a stale prepared statement from being replaced', async () => {
        const db = await open({ prepareThreshold: 1 });
        const { signal } = new AbortController();
        await observer.ask('drop table if exists conduit_test.stale');
        await observer.ask('create table conduit_test.stale as select 1 as a');
        const query = { text: 'select * from stale', signal };
        await db.query(query);
        await db.query(query);
        await observer.ask('alter table conduit_test.stale add b int');
        assert.deepEqual((await db.query(query)).rows, [{ a: 1, b: null }]);
        assert.deepEqual((await db.query('select 1 as one')).rows, [{ one: 1 }]);
      });

      it('has the outcome unknown, and the connection is closed, when no cancel request gets through', async () => {
        gate = await Gate.open();
        const db = await open(gate.options());
        await observer.lock(LOCK);
        for (const state of ['closed', 'silent']) {
          gate.state = 'open';
          const one = face === 'of a pool' ? db : await newClient(gate.options());
          const controller = new AbortController();
          const query = errorOf(one.query({ text: BLOCKED, signal: controller.signal }));
          await observer.untilWaitedFor(LOCK);
          gate.state = state;
          controller.abort();
          const seen = gate.count;
          await until('it is asked', () => gate.count > seen);
          assertAborted(await query, 'unknown');
          gate.state = 'open';
          if (one === db) assert.deepEqual((await db.query('select 1 as n')).rows, [{ n: 1 }]);
          else await assert.rejects(one.query('select 1'), { outcome: 'not-run' });
          const pids = await observer.ask(
            "select pid from pg_locks where locktype = 'advisory' and not granted",
          );
          for (const { pid } of pids) await observer.terminate(pid);
        }
      });
    });

    describe(`${face} by a time limit`, () => {
      it('of the query, under both of its names, or of the options', async () => {
        const db = await open();
        const strict = await open({ query_timeout: 30 });
        await observer.lock(LOCK);
        const errors = await Promise.all([
          errorOf(db.query({ text: BLOCKED, timeoutMillis: 30 })),
          errorOf(db.query({ text: BLOCKED, query_timeout: 30 })),
          errorOf(strict.query(BLOCKED)),
        ]);
        for (const error of errors) assertTimedOut(error, error.outcome);
      });

      it('of 0 means no limit, whatever the options say', async () => {
        const strict = await open({ query_timeout: 30 });
        const { rows } = await strict.query({
          text: "select 1 as one, pg_sleep(0.1)::text || 'x' as t",
          timeoutMillis: 0,
        });
        assert.equal(rows[0].one, 1);
      });

      it('that is not a number of milliseconds is refused', async () => {
        const db = await open();
        for (const timeoutMillis of [-1, 1.5, '10', NaN, Infinity]) {
          const error = await errorOf(db.query({ text: 'select 1', timeoutMillis }));
          assert.ok(error instanceof ParameterError, String(timeoutMillis));
        }
        const pool = new Pool({ connectionString: connectionString(), query_timeout: -1 });
        assert.ok((await errorOf(pool.query('select 1'))) instanceof OptionError);
        await pool.end();
      });

      it('that is longer than a timer can be never expires', async () => {
        const db = await open();
        const query = { text: 'select 1 as one, pg_sleep(0.02)', timeoutMillis: 2 ** 40 };
        assert.equal((await db.query(query)).rows[0].one, 1);
      });
    });
  }

  describe('on a pool', () => {
    it('while it waits for a connection removes it from the line', async () => {
      const pool = newPool({ max: 1 });
      const client = await pool.connect();
      const controller = new AbortController();
      const { signal } = controller;
      const waiting = [
        errorOf(pool.query({ text: 'select 1', signal })),
        errorOf(pool.query({ text: 'select 1', timeoutMillis: 50 })),
        errorOf(pool.query({ text: 'select 1; select 2', signal })),
        errorOf(pool.stream({ text: 'select 1', signal }).toArray()),
        pool.query('select 5 as five'),
      ];
      assert.equal(pool.waitingCount, 5);
      controller.abort();
      assert.equal(pool.waitingCount, 2);
      assertAborted(await waiting[0], 'not-run');
      assertTimedOut(await waiting[1], 'not-run');
      assertAborted(await waiting[2], 'not-run');
      assert.equal((await waiting[3]).code, 'ABORT_ERR');
      assert.equal(pool.waitingCount, 1);
      client.release();
      assert.deepEqual((await waiting[4]).rows, [{ five: 5 }]);
      assert.equal(pool.waitingCount, 0);
    });

    it('works while its connection is being opened', async () => {
      gate = await Gate.open();
      gate.state = 'silent';
      const pool = newPool({ ...gate.options(), max: 1, connectionTimeoutMillis: 2000 });
      const controller = new AbortController();
      const query = errorOf(pool.query({ text: 'select 1', signal: controller.signal }));
      const timed = errorOf(pool.query({ text: 'select 1', timeoutMillis: 50 }));
      await until('it connects', () => gate.count > 0);
      controller.abort();
      assertAborted(await query, 'not-run');
      assertTimedOut(await timed, 'not-run');
      assert.equal(pool.waitingCount, 0);
    });

    it('makes room for the next query in a full line', async () => {
      const pool = newPool({ max: 1, maxWaiting: 1 });
      const client = await pool.connect();
      const controller = new AbortController();
      const query = errorOf(pool.query({ text: 'select 1', signal: controller.signal }));
      await assert.rejects(pool.query('select 2'), poolError('ERR_PG_CONDUIT_POOL_FULL'));
      controller.abort();
      await query;
      const next = pool.query('select 3 as three');
      client.release();
      assert.deepEqual((await next).rows, [{ three: 3 }]);
    });

    it('by a time limit does not affect other queries on its connection', async () => {
      const pool = newPool({ max: 1 });
      await pool.query(BLOCKED);
      await pool.query('select $1::int as n', [0]);
      await observer.lock(LOCK);
      const slow = errorOf(pool.query({ text: BLOCKED, timeoutMillis: 50 }));
      const neighbours = Array.from({ length: 20 }, (_, n) =>
        pool.query('select $1::int as n', [n]),
      );
      assertTimedOut(await slow, 'unknown');
      await observer.untilWaitedFor(LOCK);
      await observer.unlock(LOCK);
      assert.deepEqual(
        (await Promise.all(neighbours)).map(({ rows }) => rows[0].n),
        Array.from(neighbours, (_, n) => n),
      );
      assert.deepEqual((await pool.query('select 1 as one')).rows, [{ one: 1 }]);
    });

    it('by a time limit cancels it if everything in flight was aborted, and the next query goes elsewhere', async () => {
      const pool = newPool({ max: 1 });
      const pid = pidOf(await pool.query(PID));
      const sleep = { text: 'select pg_sleep(60)', timeoutMillis: 500 };
      assertTimedOut(await errorOf(pool.query(sleep)), 'unknown');
      assert.notEqual(pidOf(await pool.query(PID)), pid);
      assert.equal(pool.totalCount, 1);
      const isRunning = 'select 1 from pg_stat_activity where pid = $1';
      await until(
        'its backend is gone',
        async () => !(await observer.ask(isRunning, [pid])).length,
      );
    });

    it('by a time limit closes the connection if everything in flight was aborted and the server is silent', async () => {
      const proxy = await Proxy.open();
      const pool = newPool(proxy.options({ max: 1 }));
      try {
        const pid = pidOf(await pool.query(PID));
        proxy.hold();
        const text = 'select 1';
        assertTimedOut(await errorOf(pool.query({ text, timeoutMillis: 20 })), 'unknown');
        await until('it is closed', () => pool.totalCount === 0);
        proxy.release();
        assert.notEqual(pidOf(await pool.query(PID)), pid);
      } finally {
        await proxy.close();
      }
    });

    it('by a time limit does the same for members of a Sync group', async () => {
      const pool = newPool({ max: 1 });
      const text = 'select $1::int as n';
      for (let n = 0; n < 8; ++n) await pool.query(text, [n]);
      const outcomes = await Promise.allSettled(
        Array.from({ length: 2000 }, (_, n) =>
          pool.query({ text, values: [n], timeoutMillis: n % 2 === 0 ? 1 : 0 }),
        ),
      );
      for (const [n, { value, reason }] of outcomes.entries()) {
        if (reason === undefined) assert.deepEqual(value.rows, [{ n }]);
        else assert.ok(n % 2 === 0 && reason instanceof QueryAbortedError, String(reason));
      }
      assert.deepEqual((await pool.query(text, [7])).rows, [{ n: 7 }]);
    });

    it('is exact for a query with a signal, which has a connection to itself', async () => {
      const pool = newPool({ max: 2 });
      await observer.lock(LOCK);
      const controller = new AbortController();
      const query = errorOf(pool.query({ text: BLOCKED, signal: controller.signal }));
      await observer.untilWaitedFor(LOCK);
      const [{ pid }] = await observer.ask(
        "select pid from pg_locks where locktype = 'advisory' and not granted",
      );
      for (let n = 0; n < 50; ++n) assert.notEqual(pidOf(await pool.query(PID)), pid);
      controller.abort();
      await query;
    });

    it('by a time limit is preceded by a shorter statement_timeout of the server, which is an ordinary error', async () => {
      const pool = newPool({ max: 1, statement_timeout: 50, query_timeout: 20000 });
      const error = await errorOf(pool.query('select pg_sleep(20)'));
      assert.deepEqual([error.code, error.outcome], ['57014', 'not-run']);
    });
  });

  describe('on a client', () => {
    it('behind another one does not affect the others', async () => {
      const client = await newClient();
      await observer.lock(LOCK);
      const first = client.query(BLOCKED);
      const controller = new AbortController();
      const second = errorOf(client.query({ text: 'select 2', signal: controller.signal }));
      const timed = errorOf(client.query({ text: 'select 3 as three', timeoutMillis: 30 }));
      const last = client.query('select 4 as four');
      controller.abort();
      assertAborted(await second, 'not-run');
      assert.ok((await timed) instanceof QueryAbortedError);
      await observer.unlock(LOCK);
      assert.equal((await first).rows.length, 1);
      assert.deepEqual((await last).rows, [{ four: 4 }]);
    });

    it('in a transaction makes the transaction fail, as any error does', async () => {
      const client = await newClient();
      await client.query('begin');
      await observer.lock(LOCK);
      const controller = new AbortController();
      const query = errorOf(client.query({ text: BLOCKED, signal: controller.signal }));
      await observer.untilWaitedFor(LOCK);
      controller.abort();
      assertAborted(await query, 'not-run');
      await assert.rejects(client.query('select 1'), { code: '25P02' });
      await client.query('rollback');
      assert.deepEqual((await client.query('select 1 as one')).rows, [{ one: 1 }]);
    });

    it('works before connect() has resolved', async () => {
      gate = await Gate.open();
      const { Client } = require('../..');
      const client = new Client(gate.options());
      const connected = client.connect();
      const controller = new AbortController();
      const query = errorOf(client.query({ text: 'select 1', signal: controller.signal }));
      controller.abort();
      assertAborted(await query, 'not-run');
      await connected;
      assert.deepEqual((await client.query('select 1 as one')).rows, [{ one: 1 }]);
      await client.end();
    });

    it('that is being ended still cancels it', async () => {
      const client = await newClient({ pipeline: true });
      await observer.lock(LOCK);
      const controller = new AbortController();
      const query = errorOf(client.query({ text: BLOCKED, signal: controller.signal }));
      await observer.untilWaitedFor(LOCK);
      const ended = client.end();
      controller.abort();
      assertAborted(await query, 'not-run');
      await ended;
    });

    it('whose connection is lost meanwhile rejects with the reason', async () => {
      const client = await newClient();
      await observer.lock(LOCK);
      const controller = new AbortController();
      const query = errorOf(client.query({ text: BLOCKED, signal: controller.signal }));
      await observer.untilWaitedFor(LOCK);
      const killed = observer.terminate(client.processID);
      controller.abort();
      const error = await query;
      assert.ok(error instanceof ConnectionError || error instanceof QueryAbortedError);
      await killed;
    });
  });

  describe('cancel()', () => {
    it('rejects the running query with 57014, and none of those behind it', async () => {
      const client = await newClient();
      await observer.lock(LOCK);
      const running = errorOf(client.query(BLOCKED));
      const next = client.query('select 2 as two');
      await observer.untilWaitedFor(LOCK);
      await client.cancel();
      const error = await running;
      assert.deepEqual([error.code, error.outcome], ['57014', 'not-run']);
      assert.deepEqual((await next).rows, [{ two: 2 }]);
    });

    it('does nothing when no query runs, before connect() and after end() too', async () => {
      const { Client } = require('../..');
      const client = new Client(connectionString());
      await client.cancel();
      await client.connect();
      await client.cancel();
      assert.deepEqual((await client.query('select 1 as one')).rows, [{ one: 1 }]);
      await client.cancel();
      await client.end();
      await client.cancel();
    });

    it('never hits a query that is sent after it', async () => {
      const client = await newClient();
      for (let n = 0; n < 200; ++n) {
        const running = client.query('select pg_sleep(0)').catch(({ code }) => {
          assert.equal(code, '57014');
        });
        const cancelled = client.cancel();
        const after = client.query('select $1::int as n', [n]);
        await running;
        assert.deepEqual((await after).rows, [{ n }]);
        await cancelled;
      }
    });

    it('hits a query that was sent just before it, even if the cancel request arrives first', async () => {
      const clients = await Promise.all(Array.from({ length: 4 }, () => newClient()));
      await Promise.all(
        clients.map(async (client) => {
          for (let n = 0; n < 25; ++n) {
            const running = errorOf(client.query('select pg_sleep(60)'));
            await client.cancel();
            assert.equal((await running).code, '57014');
          }
        }),
      );
    });

    it("hits a query that still waits for an answer to the driver's own question", async () => {
      const proxy = await Proxy.open();
      try {
        const client = await newClient(proxy.options());
        await client.query({ name: 'prepared', text: 'select $1::int', values: [1] });
        // Whether statements stay in the session is being asked now (statement-keeping.js).
        await turn();
        proxy.hold();
        const running = errorOf(client.query('select pg_sleep(60)'));
        const cancelled = client.cancel();
        await turn();
        proxy.release();
        await cancelled;
        assert.equal((await running).code, '57014');
      } finally {
        await proxy.close();
      }
    });

    it('hits the running query while others of its pipeline continue', async () => {
      const client = await newClient();
      const running = errorOf(client.query('select pg_sleep(60)'));
      // PostgreSQL signals a backend twice, by its id and by that of its group (signal_child() in
      // postmaster.c), and the second may come when the next one runs already.
      // Also outside of what it catches: at its first statement, for instance.
      const between = client
        .query('do $$ begin perform pg_sleep(0.3); exception when query_canceled then null; end $$')
        .catch(({ code }) => assert.equal(code, '57014'));
      const behind = client.query('select pg_sleep(2.5)');
      await observer.untilAsleep(client.processID);
      await client.cancel();
      assert.equal((await running).code, '57014');
      await between;
      assert.equal((await behind).rowCount, 1);
    });

    it('called twice at once sends one cancel request', async () => {
      const client = await newClient();
      await observer.lock(LOCK);
      const running = errorOf(client.query(BLOCKED));
      await observer.untilWaitedFor(LOCK);
      await Promise.all([client.cancel(), client.cancel()]);
      assert.equal((await running).code, '57014');
      await client.cancel();
      assert.deepEqual((await client.query('select 1 as one')).rows, [{ one: 1 }]);
    });

    it('called with an abort of the same query rejects it with the abort', async () => {
      const client = await newClient();
      await observer.lock(LOCK);
      const controller = new AbortController();
      const running = errorOf(client.query({ text: BLOCKED, signal: controller.signal }));
      await observer.untilWaitedFor(LOCK);
      const cancelled = client.cancel();
      controller.abort();
      assertAborted(await running, 'not-run');
      await cancelled;
      assert.deepEqual((await client.query('select 1 as one')).rows, [{ one: 1 }]);
    });

    for (const state of ['closed', 'silent']) {
      it(`rejects when no cancel request gets through (${state}), and other queries continue`, async () => {
        gate = await Gate.open();
        const client = await newClient(gate.options());
        await observer.lock(LOCK);
        const running = client.query(BLOCKED);
        await observer.untilWaitedFor(LOCK);
        gate.state = state;
        async function theCaller() {
          await client.cancel();
        }
        const error = await errorOf(theCaller());
        assert.ok(error instanceof ConnectionError, String(error));
        assert.match(error.message, /could not be asked to cancel/);
        assert.match(error.stack, /theCaller/);
        const next = client.query('select 2 as two');
        await observer.unlock(LOCK);
        assert.equal((await running).rows.length, 1);
        assert.deepEqual((await next).rows, [{ two: 2 }]);
      });
    }
  });

  it('whose cancel request may still arrive keeps the connection from other callers', async () => {
    gate = await Gate.open();
    const pool = newPool({ max: 1, ...gate.options() });
    const client = await pool.connect();
    const { pid } = (await client.query('select pg_backend_pid() as pid')).rows[0];
    await observer.lock(LOCK);
    const running = client.query(BLOCKED);
    await observer.untilWaitedFor(LOCK);
    gate.state = 'silent';
    await assert.rejects(client.cancel(), ConnectionError);
    gate.state = 'open';
    await observer.unlock(LOCK);
    await running;
    client.release();
    assert.notEqual((await pool.query('select pg_backend_pid() as pid')).rows[0].pid, pid);
  });

  // FAST_CHECK_RUNS=50 makes it some 100,000.
  it('thousands of times, in all ways, hits no other query and leaves nothing running', async function () {
    this.timeout(3_600_000);
    const kinds = {
      neighbour: (db, n) => [db.query('select $1::int as n', [n])],
      several: (db, n, signal) => [
        db.query({ text: `select 1; select pg_sleep(0.001), ${n} as n`, signal }),
      ],
      abort: (db, n, signal) => [
        db.query({ text: 'select $1::int as n, pg_sleep(0.001)', values: [n], signal }),
      ],
      quick: (db, n, signal) => [db.query({ text: 'select $1::int as n', values: [n], signal })],
      timeout: (db, n, signal, wait) => [
        db.query({
          text: 'select $1::int as n, pg_sleep(0.001)',
          values: [n],
          timeoutMillis: 1 + wait,
        }),
      ],
      stream: (db, n, signal) => [
        db
          .stream({
            text: 'select $1::int as n from generate_series(1, 3000)',
            values: [n],
            signal,
          })
          .toArray()
          .then((rows) => ({ rows })),
      ],
    };
    const action = fc.record({
      kind: fc.constantFrom(
        ...['neighbour', 'neighbour', 'several', 'abort', 'abort', 'abort', 'quick', 'quick'],
        ...['timeout', 'timeout', 'stream'],
      ),
      // -1: before; 0: in the same tick; 1: in the next turn; more: milliseconds
      wait: fc.integer({ min: -1, max: 4 }),
      onClient: fc.boolean(),
    });
    const round = fc.record({
      max: fc.integer({ min: 1, max: 4 }),
      atOnce: fc.constantFrom(3, 8, 30, 250),
      actions: fc.array(action, { minLength: 150, maxLength: 250, size: 'max' }),
    });
    let aborts = 0;
    const property = fc.asyncProperty(round, async ({ max, atOnce, actions }) => {
      const name = applicationName();
      const pool = newPool({ max, application_name: name });
      const client = await newClient({ application_name: name });
      const run = async ({ kind, wait, onClient }, n) => {
        const controller = new AbortController();
        if (wait === -1) controller.abort();
        if (kind !== 'neighbour') ++aborts;
        const [answer] = kinds[kind](onClient ? client : pool, n, controller.signal, wait);
        if (wait === 0) controller.abort();
        else if (wait === 1) setImmediate(() => controller.abort());
        else if (wait > 1) setTimeout(() => controller.abort(), wait - 1);
        try {
          const value = await answer;
          const rows = Array.isArray(value) ? value[1].rows : value.rows;
          assert.ok(rows.length > 0 && rows.every((row) => row.n === n), `${kind} ${n}`);
        } catch (error) {
          const isWanted =
            kind !== 'neighbour' &&
            ['ABORT_ERR', 'ERR_PG_CONDUIT_QUERY_TIMEOUT'].includes(error.code);
          if (!isWanted) throw error;
        }
      };
      // Few at a time run, all at once mostly wait.
      const entries = actions.entries();
      await Promise.all(
        Array.from({ length: atOnce }, async () => {
          for (const [n, one] of entries) await run(one, n);
        }),
      );
      assert.equal(pool.waitingCount, 0);
      for (const db of [pool, client]) {
        assert.deepEqual((await db.query('select 1 as one')).rows, [{ one: 1 }]);
      }
      await until('nothing runs', async () => {
        const running = await observer.ask(
          "select query from pg_stat_activity where application_name = $1 and state <> 'idle'",
          [name],
        );
        return running.length === 0;
      });
      await client.end();
      await pool.end();
      await turn();
      await delay(0);
    });
    await holds(property, 12);
    assert.ok(aborts > 500);
  });
});
