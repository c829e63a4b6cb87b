'use strict';

// transaction() of a pool and of a client: retries after conflicts, lost connections, and who may use
// the connection meanwhile.

const assert = require('node:assert/strict');
const {
  Client,
  ConnectionError,
  OptionError,
  ParameterError,
  StatementRefusedError,
  TransactionError,
} = require('../..');
const { connectionOf } = require('../../lib/client/client');
const { newClient, options } = require('../support/connect');
const { errorOf } = require('../support/outcomes');
const { seen, until } = require('../support/outside');
const { LOCK, PID, newPool, pidOf, poolError } = require('../support/pools');
const { Proxy, errorMessage } = require('../support/proxy');
const { assertEnded, insert, latch, useTransactions } = require('../support/transactions');

describe('transaction()', function () {
  // A statement in the wrong place waits for ever.
  this.timeout(20000);

  const test = useTransactions();
  const { numbers, observer, table } = test;
  /** @type {any} */
  let pool;

  beforeEach(() => ({ pool } = test));

  describe('with retry', () => {
    const serializable = (n) => ({
      isolationLevel: 'serializable',
      retry: n === undefined ? undefined : { serialization: n },
    });

    /** Each reads what the other one writes, and both have read before either writes. */
    const conflict = async (how, swallow = false) => {
      await table('pair');
      await observer.ask('insert into conduit_test.pair values (1), (2)');
      const attempts = [0, 0];
      let waiting = 0;
      const all = latch();
      const outcomes = await Promise.allSettled(
        [0, 1].map((n) =>
          pool.transaction(async (tx) => {
            ++attempts[n];
            await tx.query('select sum(i) from pair');
            if (++waiting === 2) all.open();
            await all.opened;
            const written = tx.query('insert into pair values ($1)', [10 + n]);
            await (swallow ? written.catch(() => {}) : written);
            return n;
          }, how),
        ),
      );
      return { attempts: attempts[0] + attempts[1], outcomes };
    };

    it('runs its function again after a serialization failure', async () => {
      for (const swallow of [false, true]) {
        const { attempts, outcomes } = await conflict(serializable(5), swallow);
        assert.deepEqual(
          outcomes.map(({ value }) => value),
          [0, 1],
        );
        assert.ok(attempts > 2, String(attempts));
        assert.deepEqual(await numbers('pair'), [1, 2, 10, 11]);
      }
    });

    it('does not run its function again without the option', async () => {
      for (const how of [serializable(), serializable(0)]) {
        const { attempts, outcomes } = await conflict(how);
        assert.equal(attempts, 2);
        const [{ reason }] = outcomes.filter(({ status }) => status === 'rejected');
        assert.equal(reason.code, '40001');
        assert.equal(reason.outcome, 'not-run');
      }
    });

    it('runs its function again after a deadlock', async () => {
      await observer.ask('insert into conduit_test.t values (1), (2)');
      let attempts = 0;
      let waiting = 0;
      const all = latch();
      const lock = (tx, i) => tx.query('select from t where i = $1 for update', [i]);
      await Promise.all(
        [
          [1, 2],
          [2, 1],
        ].map(([first, second]) =>
          pool.transaction(
            async (tx) => {
              ++attempts;
              await tx.query("set local deadlock_timeout = '10ms'");
              await lock(tx, first);
              if (++waiting === 2) all.open();
              await all.opened;
              await lock(tx, second);
              await insert(tx, 10 * first);
            },
            { retry: { serialization: 5 } },
          ),
        ),
      );
      assert.ok(attempts > 2, String(attempts));
      assert.deepEqual(await numbers('t'), [1, 2, 10, 20]);
    });

    const raise = `do $$ begin raise exception 'again' using errcode = '40001'; end $$`;

    it('rejects with the last error after the given number of attempts', async () => {
      let attempts = 0;
      const error = await errorOf(
        pool.transaction(
          (tx) => {
            ++attempts;
            return tx.query(raise);
          },
          { retry: { serialization: 3 } },
        ),
      );
      assert.equal(attempts, 4);
      assert.equal(error.code, '40001');
      assert.equal(error.outcome, 'not-run');
    });

    it('finds the conflict in the cause of what its function throws', async () => {
      let attempts = 0;
      await pool.transaction(
        async (tx) => {
          ++attempts;
          await insert(tx, attempts);
          if (attempts > 1) return;
          await tx.query(raise).catch((cause) => {
            throw new Error('could not', { cause });
          });
        },
        { retry: { serialization: 1 } },
      );
      assert.deepEqual(await numbers('t'), [2]);
    });

    it('does not run its function again after other errors', async () => {
      let attempts = 0;
      const error = await errorOf(
        pool.transaction(
          (tx) => {
            ++attempts;
            return tx.query('select 1 / 0');
          },
          { retry: { serialization: 3 } },
        ),
      );
      assert.equal(attempts, 1);
      assert.equal(error.code, '22012');
    });
  });

  describe('when the connection is lost', () => {
    it('before COMMIT was sent, is not-run', async () => {
      for (const notice of [true, false]) {
        const error = await errorOf(
          pool.transaction(async (tx) => {
            await insert(tx, 1);
            const pid = pidOf(await tx.query(PID));
            const sleeping = notice ? tx.query('select pg_sleep(60)') : undefined;
            await observer.terminate(pid);
            await sleeping;
            if (!notice) {
              await until('it is lost', () =>
                pool.stats().connections.every(({ processID }) => processID !== pid),
              );
            }
          }),
        );
        assert.ok(error instanceof ConnectionError, String(error));
        assert.equal(error.outcome, 'not-run');
      }
      assert.deepEqual(await numbers('t'), []);
      assert.deepEqual((await pool.query('select i from t')).rows, []);
    });

    it('during COMMIT, has an unknown outcome', async () => {
      // A deferred trigger has COMMIT wait for a lock.
      await table('slow');
      await observer.ask(`create or replace function conduit_test.wait() returns trigger
        language plpgsql as $$ begin perform pg_advisory_xact_lock(${LOCK}); return null; end $$`);
      await observer.ask(`create constraint trigger wait after insert on conduit_test.slow
        deferrable initially deferred for each row execute function conduit_test.wait()`);
      await observer.lock(LOCK);
      let pid;
      const lost = errorOf(
        pool.transaction(async (tx) => {
          pid = pidOf(await tx.query(PID));
          await tx.query('insert into slow values (1)');
        }),
      );
      await observer.untilWaitedFor(LOCK);
      await observer.terminate(pid);
      const error = await lost;
      assert.ok(error instanceof ConnectionError, String(error));
      assert.equal(error.outcome, 'unknown');
      assert.deepEqual(await numbers('slow'), []);
    });

    it('during COMMIT, is not-run if a statement is known to have failed', async () => {
      const proxy = await Proxy.open();
      try {
        const behind = newPool(proxy.options({ connectionString: undefined, max: 1 }));
        await behind.query('select 1');
        proxy.change = (type, bytes, close) => {
          if (type === 'C' && bytes.includes('ROLLBACK')) {
            close();
            return Buffer.alloc(0);
          }
          return bytes;
        };
        const error = await errorOf(
          behind.transaction((tx) => {
            tx.query('select 1 / 0').catch(() => {});
          }),
        );
        assert.ok(error instanceof ConnectionError, String(error));
        assert.equal(error.outcome, 'not-run');
      } finally {
        await proxy.close();
      }
    });

    it('after a BEGIN that has failed, may have run without a transaction', async () => {
      const proxy = await Proxy.open();
      try {
        const behind = newPool(proxy.options({ connectionString: undefined, max: 1 }));
        await behind.query('select 1');
        proxy.change = (type, bytes) =>
          type === 'C' && bytes.includes('BEGIN')
            ? errorMessage({ S: 'ERROR', V: 'ERROR', C: '57014', M: 'canceled' })
            : bytes;
        for (const body of [
          (tx) => insert(tx, 1),
          (tx) => {
            insert(tx, 1);
          },
        ]) {
          const error = await errorOf(behind.transaction(body));
          assert.ok(error instanceof TransactionError, String(error));
          assert.equal(error.outcome, 'unknown');
          assert.equal(error.cause.code, '57014');
          assert.match(error.message, /could not begin: canceled/);
        }
      } finally {
        await proxy.close();
      }
    });
  });

  describe('of a pool', () => {
    it('has a connection to itself, which then serves the waiting queries', async () => {
      const one = newPool({ max: 1 });
      const order = [];
      /** @type {Promise<any> | undefined} */
      let query;
      const pid = await one.transaction(async (tx) => {
        query = one.query(PID).finally(() => order.push('query'));
        for (let i = 0; i < 5; ++i) await insert(tx, i).then(() => order.push(i));
        assert.equal(one.waitingCount, 1);
        return pidOf(await tx.query(PID));
      });
      assert.equal(pidOf(await query), pid);
      assert.deepEqual(order, [0, 1, 2, 3, 4, 'query']);
    });

    it('does not mix 200 transactions with each other and with the queries of other callers', async () => {
      const five = newPool({ max: 5 });
      await table('account', ', owner int');
      await observer.ask(
        'insert into conduit_test.account select 100, n from generate_series(0, 19) n',
      );
      const transactions = Array.from({ length: 200 }, (_, n) =>
        five.transaction(async (tx) => {
          const { rows } = await tx.query('select txid_current()::text as id, $1::int as n', [n]);
          assert.equal(rows[0].n, n);
          const [from, to] = n % 2 === 0 ? [n % 20, (n + 1) % 20] : [(n + 1) % 20, n % 20];
          const move = 'update account set i = i + $1 where owner = $2 returning owner';
          const [first, second] = [from, to].sort((a, b) => a - b);
          const moved = await Promise.all([
            tx.query(move, [first === from ? -1 : 1, first]),
            tx.query(move, [second === from ? -1 : 1, second]),
          ]);
          assert.deepEqual(
            moved.map(({ rows: [row] }) => row.owner),
            [first, second],
          );
          const again = await tx.query('select txid_current()::text as id');
          assert.equal(again.rows[0].id, rows[0].id);
          if (n % 5 === 0) throw new Error(`undo ${n}`);
          return n;
        }),
      );
      const queries = Array.from({ length: 400 }, (_, n) =>
        five.query('select $1::int as n, (select sum(i) from account)::int as total', [n]),
      );
      const outcomes = await Promise.allSettled(transactions);
      for (const [n, { value, reason }] of outcomes.entries()) {
        if (n % 5 === 0) assert.equal(reason?.message, `undo ${n}`);
        else assert.equal(value, n, String(reason));
      }
      for (const [n, { rows }] of (await Promise.all(queries)).entries()) {
        assert.deepEqual(rows, [{ n, total: 2000 }]);
      }
      assert.ok(five.totalCount <= 5);
      const expected = Array(20).fill(100);
      for (let n = 0; n < 200; ++n) {
        if (n % 5 === 0) continue;
        const [from, to] = n % 2 === 0 ? [n % 20, (n + 1) % 20] : [(n + 1) % 20, n % 20];
        --expected[from];
        ++expected[to];
      }
      const rows = await observer.ask('select i from conduit_test.account order by owner');
      assert.deepEqual(
        rows.map(({ i }) => i),
        expected,
      );
    });

    it('waits for a connection no longer than connectionTimeoutMillis', async () => {
      // On a busy machine it takes a while to connect.
      const one = newPool({ max: 1, connectionTimeoutMillis: 1000 });
      const client = await one.connect();
      let ran = false;
      const run = () =>
        one.transaction(() => {
          ran = true;
        });
      assert.ok(poolError('ERR_PG_CONDUIT_POOL_TIMEOUT')(await errorOf(run())));
      assert.equal(ran, false);
      client.release();
      await run();
      assert.equal(ran, true);
    });

    it('is finished before the pool ends, and refused after end()', async () => {
      const go = latch();
      const running = pool.transaction(async (tx) => {
        await insert(tx, 1);
        await go.opened;
        await insert(tx, 2);
      });
      await until('it runs', () => pool.stats().queries > 0);
      const ended = pool.end();
      const late = errorOf(pool.transaction((tx) => insert(tx, 3)));
      assert.ok(poolError('ERR_PG_CONDUIT_POOL_ENDED')(await late));
      go.open();
      await running;
      await ended;
      assert.deepEqual(await numbers('t'), [1, 2]);
    });

    it('returns a clean connection to the pool, however it ended', async () => {
      const one = newPool({ max: 1 });
      const pid = pidOf(await one.query(PID));
      const bodies = [
        (tx) => tx.query("set work_mem = '123kB'"),
        (tx) => tx.query('create temp table mine (i int)'),
        async (tx) => {
          await tx.query('select 1 / 0').catch(() => {});
        },
        async (tx) => {
          await insert(tx, 1);
          throw new Error('mine');
        },
      ];
      for (const body of bodies) await one.transaction(body).catch(() => {});
      const { rows } = await one.query(
        "select pg_backend_pid() as pid, current_setting('work_mem') <> '123kB' as reset, " +
          "to_regclass('pg_temp.mine') as mine",
      );
      assert.deepEqual(rows, [{ pid, reset: true, mine: null }]);
      await one.query('vacuum t');
    });

    it('rejects when the options of the pool are wrong', async () => {
      const wrong = newPool({ max: -1 });
      assert.ok((await errorOf(wrong.transaction(() => {}))) instanceof OptionError);
    });
  });

  describe('of a client', () => {
    it('refuses other queries of the client, and a second transaction, while it is open', async () => {
      const client = await newClient();
      await client.transaction(async (tx) => {
        await insert(tx, 1);
        for (const refused of [
          client.query('commit'),
          client.query('select 1'),
          client.batch(['select 1']),
          client.transaction(() => {}),
        ]) {
          const error = await errorOf(refused);
          assert.ok(error instanceof StatementRefusedError, String(error));
          assert.match(error.message, /a transaction is open on this client/);
        }
        await insert(tx, 2);
      });
      assert.deepEqual(await numbers('t'), [1, 2]);
      await client.query('insert into t values (3)');
      assert.deepEqual(await numbers('t'), [1, 2, 3]);
    });

    it('is refused while a transaction begun by a statement is open', async () => {
      const client = await newClient();
      await client.query('begin');
      const error = await errorOf(client.transaction((tx) => insert(tx, 1)));
      assert.ok(error instanceof StatementRefusedError);
      assert.match(error.message, /begun by a statement/);
      await client.query('commit');
      await client.transaction((tx) => insert(tx, 2));
      assert.deepEqual(await numbers('t'), [2]);
    });

    it('uses the parsers and the named statements of the client', async () => {
      const client = await newClient();
      client.setTypeParser(23, (text) => `<${text}>`);
      await client.query({ name: 'one', text: 'select 1 as one' });
      await client.transaction(async (tx) => {
        const { rows } = await tx.query({ name: 'one', text: 'select 1 as one' });
        assert.deepEqual(rows, [{ one: '<1>' }]);
      });
      const error = await errorOf(
        client.transaction((tx) => tx.query({ name: 'one', text: 'select 2 as two' })),
      );
      assert.ok(error instanceof ParameterError);
      assert.match(error.message, /must be unique/);
    });

    it('may be called before the client is connected', async () => {
      const client = new Client(options());
      const connected = client.connect();
      await client.transaction((tx) => insert(tx, 1));
      await connected;
      await client.end();
      assert.deepEqual(await numbers('t'), [1]);
    });

    it('is not-run when the client is ended during it, or before it was connected', async () => {
      const client = await newClient();
      const ended = await errorOf(
        client.transaction(async (tx) => {
          await insert(tx, 1);
          await client.end();
        }),
      );
      const unused = new Client();
      const waiting = errorOf(unused.transaction((tx) => tx.query('select 1')));
      await unused.end();
      const never = await waiting;
      for (const error of [ended, never]) {
        assert.ok(error instanceof ConnectionError, String(error));
        assert.equal(error.outcome, 'not-run');
      }
      assert.deepEqual(await numbers('t'), []);
    });

    it('is rejected for the lost connection, not for the transaction that was open on it', async () => {
      const client = await newClient();
      const lost = seen(client, 'end');
      await client.query('begin');
      await observer.terminate(client.processID);
      await lost;
      const error = await errorOf(client.transaction((tx) => tx.query('select 1')));
      assert.ok(error instanceof ConnectionError, String(error));
      assert.equal(error.outcome, 'not-run');
    });

    it('is rolled back when the client is released during it, and sends nothing more', async () => {
      const one = newPool({ max: 1 });
      const client = await one.connect();
      const released = latch();
      const go = latch();
      const left = errorOf(
        client.transaction(async (tx) => {
          await insert(tx, 1);
          client.release();
          released.open();
          await go.opened;
          await tx.query('insert into t values (2)').catch(() => {});
        }),
      );
      await released.opened;
      // The next caller checks out the same client, and has a transaction of their own.
      const next = await one.connect();
      assert.equal(next, client);
      await next.transaction(async (tx) => {
        await insert(tx, 3);
        go.open();
        const error = await left;
        assertEnded(error);
        assert.match(error.message, /client was released/);
        await insert(tx, 4);
      });
      next.release();
      assert.deepEqual(await numbers('t'), [3, 4]);
    });

    it('is rolled back when the client is released after one of its statements failed', async () => {
      const one = newPool({ max: 1 });
      const client = await one.connect();
      const error = await errorOf(
        client.transaction(async (tx) => {
          await insert(tx, 1);
          await tx.query('select 1 / 0').catch(() => {});
          client.release();
        }),
      );
      assertEnded(error);
      const { rows } = await one.query('select pg_backend_pid() as pid, count(*)::int as n from t');
      assert.deepEqual(rows, [{ pid: client.processID, n: 0 }]);
    });

    it('is committed when the client is released after COMMIT was sent', async () => {
      const one = newPool({ max: 1 });
      const client = await one.connect();
      const committed = client.transaction((tx) => {
        insert(tx, 1);
      });
      while (connectionOf(client).inFlight < 3) await null;
      client.release();
      await committed;
      assert.deepEqual(await numbers('t'), [1]);
      await assert.rejects(
        client.transaction(() => {}),
        StatementRefusedError,
      );
    });
  });
});
