'use strict';

// transaction(): what travels together, what is committed and what is rolled back, savepoints, and
// what is refused. Retries and lost connections are in connections.test.js.

const assert = require('node:assert/strict');
const { setTimeout: delay } = require('node:timers/promises');
const {
  DatabaseError,
  OptionError,
  ParameterError,
  ResultError,
  StatementRefusedError,
} = require('../..');
const { connectionOf } = require('../../lib/client/client');
const { newClient } = require('../support/connect');
const { called, errorOf } = require('../support/outcomes');
const { newPool } = require('../support/pools');
const { assertAborted, assertEnded, insert, useTransactions } = require('../support/transactions');

describe('transaction()', function () {
  // A statement in the wrong place waits for ever.
  this.timeout(20000);

  const test = useTransactions();
  const { numbers, table } = test;
  /** @type {any} */
  let pool;

  beforeEach(() => ({ pool } = test));

  describe('commits', () => {
    it('what its function has done, and resolves to what it returns', async () => {
      const value = await pool.transaction(async (tx) => {
        await insert(tx, 1);
        const { rows } = await tx.query('select count(*)::int as n from t');
        return rows[0].n;
      });
      assert.equal(value, 1);
      assert.deepEqual(await numbers('t'), [1]);
      assert.equal(await pool.transaction(() => 'no promise'), 'no promise');
    });

    it('nothing before its function is done', async () => {
      await pool.transaction(async (tx) => {
        await insert(tx, 1);
        assert.deepEqual(await numbers('t'), []);
        assert.deepEqual((await pool.query('select i from t')).rows, []);
      });
      assert.deepEqual(await numbers('t'), [1]);
    });

    it('statements that were not awaited', async () => {
      await pool.transaction((tx) => {
        insert(tx, 1);
        tx.query('select pg_sleep(0.02)');
        insert(tx, 2);
      });
      assert.deepEqual(await numbers('t'), [1, 2]);
    });

    it('a batch in it with SET LOCAL or LOCK, but not with a statement that ends it', async () => {
      const lines = await pool.transaction(async (tx) => {
        const [, , { rows }] = await tx.batch([
          "set local work_mem = '1234kB'",
          'lock table t',
          'show work_mem',
        ]);
        return rows;
      });
      assert.deepEqual(lines, [{ work_mem: '1234kB' }]);
      for (const text of ['commit', 'savepoint a', 'prepare transaction $$x$$']) {
        const error = await errorOf(pool.transaction((tx) => tx.batch(['select 1', text])));
        assert.ok(error instanceof StatementRefusedError, String(error));
      }
      await assert.rejects(pool.batch(['set local work_mem = 100']), StatementRefusedError);
    });

    it('a batch in it, and statements with callbacks', async () => {
      await pool.transaction(async (tx) => {
        const results = await tx.batch([
          { text: 'insert into t values ($1) returning i', values: [1] },
          'insert into t values (2) returning i',
        ]);
        assert.deepEqual(
          results.map(({ rows }) => rows[0].i),
          [1, 2],
        );
        const [error, result] = await called((callback) =>
          tx.query('insert into t values ($1)', [3], callback),
        );
        assert.equal(error, null);
        assert.equal(result.rowCount, 1);
      });
      assert.deepEqual(await numbers('t'), [1, 2, 3]);
    });

    it('several statements in one text', async () => {
      await pool.transaction(async (tx) => {
        await tx.query('insert into t values (1); insert into t values (2)');
        assert.deepEqual(await numbers('t'), []);
      });
      assert.deepEqual(await numbers('t'), [1, 2]);
    });
  });

  describe('on the wire', () => {
    const measure = async (client, run) => {
      const before = connectionOf(client).counters();
      await run();
      const after = connectionOf(client).counters();
      return { flushes: after.flushes - before.flushes, queries: after.queries - before.queries };
    };

    it('sends BEGIN in the flush of its first statement, and COMMIT in a flush of its own', async () => {
      const client = await newClient();
      const one = await measure(client, () =>
        client.transaction((tx) => tx.query('insert into t values (1)')),
      );
      assert.deepEqual(one, { flushes: 2, queries: 3 });
      const transfer = await measure(client, () =>
        client.transaction(async (tx) => {
          await tx.query('update t set i = i - 1');
          await tx.query('update t set i = i + 1');
        }),
      );
      assert.deepEqual(transfer, { flushes: 3, queries: 4 });
    });

    it('needs one flush for statements sent together, and one for COMMIT if they are awaited', async () => {
      // Where statements are prepared, the server is asked once whether a pooler is between.
      const client = await newClient({ prepare: false });
      const awaited = await measure(client, () =>
        client.transaction((tx) => Promise.all([insert(tx, 1), insert(tx, 2), insert(tx, 3)])),
      );
      assert.deepEqual(awaited, { flushes: 2, queries: 5 });
      const unawaited = await measure(client, () =>
        client.transaction((tx) => {
          for (let i = 0; i < 3; ++i) insert(tx, i);
        }),
      );
      assert.deepEqual(unawaited, { flushes: 1, queries: 5 });
    });

    it('sends SAVEPOINT with the first statement after it, and RELEASE with the next one', async () => {
      const client = await newClient();
      const counts = await measure(client, () =>
        client.transaction(async (tx) => {
          await tx.transaction((inner) => insert(inner, 1));
          await insert(tx, 2);
        }),
      );
      // BEGIN SAVEPOINT INSERT | RELEASE INSERT | COMMIT
      assert.deepEqual(counts, { flushes: 3, queries: 6 });
    });

    it('sends nothing when there is no statement', async () => {
      const client = await newClient();
      const counts = await measure(client, async () => {
        await client.transaction((tx) => tx.transaction(() => {}));
        await assert.rejects(
          client.transaction(async () => {
            throw new Error('mine');
          }),
          { message: 'mine' },
        );
      });
      assert.deepEqual(counts, { flushes: 0, queries: 0 });
    });
  });

  describe('rolls back', () => {
    /** It cannot run in a transaction. */
    const assertClean = (client) => client.query('vacuum t');

    it('when its function throws, and rejects with that error', async () => {
      const mine = new Error('mine');
      const client = await newClient();
      for (const one of [pool, client]) {
        const error = await errorOf(
          one.transaction(async (tx) => {
            await insert(tx, 1);
            throw mine;
          }),
        );
        assert.equal(error, mine);
        await assertClean(one);
      }
      assert.deepEqual(await numbers('t'), []);
    });

    it('after the statements in flight when its function throws', async () => {
      const client = await newClient();
      const order = [];
      const error = await errorOf(
        client.transaction(async (tx) => {
          insert(tx, 1).then(() => order.push('insert'));
          tx.query('select pg_sleep(0.02)').then(() => order.push('sleep'));
          throw new Error('mine');
        }),
      );
      assert.equal(error.message, 'mine');
      assert.deepEqual(order, ['insert', 'sleep']);
      await assertClean(client);
      assert.deepEqual(await numbers('t'), []);
    });

    it('when a statement fails, and rejects with its error', async () => {
      const error = await errorOf(
        pool.transaction(async (tx) => {
          await insert(tx, 1);
          await tx.query('select 1 / 0');
        }),
      );
      assert.ok(error instanceof DatabaseError);
      assert.equal(error.code, '22012');
      assert.equal(error.outcome, 'not-run');
      assert.deepEqual(await numbers('t'), []);
    });

    it('when one of several statements in one flush fails, with the first error as the cause', async () => {
      const outcomes = await pool
        .transaction(async (tx) => {
          const all = await Promise.allSettled([
            insert(tx, 1),
            tx.query('select 1 / 0'),
            insert(tx, 2),
          ]);
          assert.deepEqual(
            all.map(({ status }) => status),
            ['fulfilled', 'rejected', 'rejected'],
          );
          assert.equal(all[2].reason.code, '25P02');
          assert.equal(all[2].reason.cause, all[1].reason);
          throw all[2].reason;
        })
        .catch((error) => error);
      assert.equal(outcomes.cause.code, '22012');
      assert.deepEqual(await numbers('t'), []);
    });

    it('when the error of a statement was swallowed, and says so', async () => {
      const error = await errorOf(
        pool.transaction(async (tx) => {
          await insert(tx, 1);
          await tx.query('select 1 / 0').catch(() => {});
          return 'fine';
        }),
      );
      assertAborted(error);
      assert.equal(error.cause.code, '22012');
      assert.deepEqual(await numbers('t'), []);
    });

    it('when the server answers COMMIT with ROLLBACK, and says so', async () => {
      const client = await newClient();
      const counters = () => connectionOf(client).counters().flushes;
      const before = counters();
      const error = await errorOf(
        client.transaction((tx) => {
          insert(tx, 1);
          tx.query('select 1 / 0').catch(() => {});
        }),
      );
      assert.equal(counters() - before, 1, 'COMMIT was sent');
      assertAborted(error);
      assert.equal(error.cause.code, '22012');
      await assertClean(client);
      assert.deepEqual(await numbers('t'), []);
    });

    it('when a statement that was not awaited fails, without an unhandled rejection', async () => {
      const unhandled = [];
      const note = (reason) => unhandled.push(reason);
      process.on('unhandledRejection', note);
      try {
        const error = await errorOf(
          pool.transaction((tx) => {
            tx.query('select 1 / 0');
            insert(tx, 1);
            tx.batch(['select 1', 'select 2']);
          }),
        );
        assertAborted(error);
        assert.equal(error.cause.code, '22012');
        await delay(5);
        assert.deepEqual(unhandled, []);
      } finally {
        process.off('unhandledRejection', note);
      }
    });

    for (const [what, text, values] of [
      ['an invalid value', 'insert into t values ($1)', [() => {}]],
      ['a NUL character', 'insert into t values ($1)', ['\0']],
      ['an invalid text', undefined, []],
    ]) {
      it(`when a statement cannot be sent because of ${what}, even if it was not awaited`, async () => {
        const error = await errorOf(
          pool.transaction((tx) => {
            insert(tx, 1);
            tx.query(text, values);
            insert(tx, 2);
          }),
        );
        assertAborted(error);
        assert.ok(error.cause instanceof ParameterError);
        assert.deepEqual(await numbers('t'), []);
      });
    }

    it('when a batch in it fails, or cannot be sent', async () => {
      for (const list of [['insert into t values (1)', 'select 1 / 0'], ['select 1', 2], 'none']) {
        const error = await errorOf(
          pool.transaction((tx) => {
            insert(tx, 1);
            tx.batch(list).catch(() => {});
          }),
        );
        assertAborted(error);
        assert.ok(error.cause instanceof Error);
      }
      assert.deepEqual(await numbers('t'), []);
    });

    it('but not because of a result that cannot be parsed', async () => {
      const narrow = newPool({ max: 1, int8: 'number' });
      await narrow.transaction(async (tx) => {
        await insert(tx, 1);
        const error = await errorOf(tx.query('select 9007199254740993 as big'));
        assert.ok(error instanceof ResultError);
      });
      assert.deepEqual(await numbers('t'), [1]);
    });

    it('when a deferred constraint fails at COMMIT, and rejects with its error', async () => {
      await table('once', 'unique deferrable initially deferred');
      const client = await newClient();
      for (const one of [pool, client]) {
        const error = await errorOf(
          one.transaction(async (tx) => {
            await tx.query('insert into once values (1)');
            await tx.query('insert into once values (1)');
          }),
        );
        assert.ok(error instanceof DatabaseError);
        assert.equal(error.code, '23505');
        assert.equal(error.outcome, 'not-run');
        await assertClean(one);
      }
      assert.deepEqual(await numbers('once'), []);
    });

    it('when a statement in it is aborted, and the connection serves other queries', async () => {
      const one = newPool({ max: 1 });
      const signal = AbortSignal.timeout(20);
      const error = await errorOf(
        one.transaction(async (tx) => {
          await insert(tx, 1);
          await tx.query({ text: 'select pg_sleep(60)', signal });
        }),
      );
      assert.equal(error.code, 'ABORT_ERR');
      assert.equal(error.outcome, 'not-run');
      assert.deepEqual((await one.query('select i from t')).rows, []);
    });
  });

  describe('inside another transaction() is a savepoint', () => {
    it('whose work is committed with the rest', async () => {
      const value = await pool.transaction(async (tx) => {
        await insert(tx, 1);
        const inside = await tx.transaction(async (inner) => {
          await insert(inner, 2);
          await inner.transaction((innermost) => insert(innermost, 3));
          return 'inside';
        });
        await insert(tx, 4);
        return inside;
      });
      assert.equal(value, 'inside');
      assert.deepEqual(await numbers('t'), [1, 2, 3, 4]);
    });

    it('which alone is rolled back when it fails', async () => {
      await pool.transaction(async (tx) => {
        await insert(tx, 1);
        const mine = new Error('mine');
        const thrown = tx.transaction(async (inner) => {
          await insert(inner, 2);
          throw mine;
        });
        assert.equal(await errorOf(thrown), mine);
        await insert(tx, 3);
        const failed = tx.transaction((inner) => inner.query('select 1 / 0'));
        assert.equal((await errorOf(failed)).code, '22012');
        await insert(tx, 4);
        await tx.transaction(async (inner) => {
          await insert(inner, 5);
          await errorOf(inner.transaction((innermost) => innermost.query('select 1 / 0')));
          await insert(inner, 6);
        });
      });
      assert.deepEqual(await numbers('t'), [1, 3, 4, 5, 6]);
    });

    it('which is rolled back when an error in it was swallowed or not awaited', async () => {
      await pool.transaction(async (tx) => {
        await insert(tx, 1);
        const swallowed = await errorOf(
          tx.transaction(async (inner) => {
            await insert(inner, 2);
            await errorOf(inner.query('select 1 / 0'));
          }),
        );
        const unawaited = await errorOf(
          tx.transaction((inner) => {
            insert(inner, 3);
            inner.query('select 1 / 0');
          }),
        );
        for (const error of [swallowed, unawaited]) {
          assertAborted(error);
          assert.equal(error.cause.code, '22012');
        }
        // Neither is a failure of the outer one.
        await tx.transaction((inner) => {
          insert(inner, 4);
        });
        await insert(tx, 5);
      });
      assert.deepEqual(await numbers('t'), [1, 4, 5]);
    });

    it('with a name of its own', async () => {
      await pool.transaction(async (tx) => {
        for (let i = 0; i < 20; ++i) {
          await tx
            .transaction(async (inner) => {
              await insert(inner, i);
              if (i % 2 === 1) await inner.query('select 1 / 0');
            })
            .catch(() => {});
        }
      });
      assert.deepEqual(
        await numbers('t'),
        Array.from({ length: 10 }, (_, i) => 2 * i),
      );
    });

    it('and the outer one refuses statements while it is open', async () => {
      for (const disturb of [
        (tx) => tx.query('select 1'),
        (tx) => tx.batch(['select 1']),
        (tx) => tx.transaction(() => {}),
      ]) {
        const error = await errorOf(
          pool.transaction((tx) =>
            tx.transaction(async (inner) => {
              await insert(inner, 1);
              const refused = await errorOf(disturb(tx));
              assert.ok(refused instanceof StatementRefusedError);
              assert.match(refused.message, /inside this one is open/);
            }),
          ),
        );
        assertAborted(error);
        assert.ok(error.cause instanceof StatementRefusedError);
      }
      assert.deepEqual(await numbers('t'), []);
    });

    it('and two of them at the same time are refused', async () => {
      const error = await errorOf(
        pool.transaction((tx) =>
          Promise.all([
            tx.transaction(async (inner) => {
              await insert(inner, 1);
              await insert(inner, 2);
            }),
            tx.transaction((inner) => insert(inner, 3)),
          ]),
        ),
      );
      assert.ok(error instanceof StatementRefusedError);
      assert.deepEqual(await numbers('t'), []);
      assert.deepEqual((await pool.query('select i from t')).rows, []);
    });

    it('and if it is not awaited, everything is rolled back', async () => {
      let inside;
      const error = await errorOf(
        pool.transaction(async (tx) => {
          await insert(tx, 1);
          inside = tx.transaction(async (inner) => {
            await insert(inner, 2);
            await delay(5);
            await insert(inner, 3);
          });
        }),
      );
      assertEnded(error);
      assert.match(error.message, /inside it was still open/);
      assertEnded(await errorOf(inside));
      assert.deepEqual(await numbers('t'), []);
    });

    it('which takes no options', async () => {
      await pool.transaction(async (tx) => {
        const error = await errorOf(tx.transaction(() => {}, { readOnly: true }));
        assert.ok(error instanceof OptionError);
        assert.ok((await errorOf(tx.transaction())) instanceof ParameterError);
      });
    });
  });

  describe('refuses', () => {
    it('statements that would end or split it', async () => {
      for (const text of [
        'begin',
        'START TRANSACTION',
        '/* now */ commit',
        'end',
        'rollback',
        'abort',
        'savepoint a',
        'release a',
        'rollback to savepoint a',
        "prepare transaction 'a'",
        'insert into t values (7); commit',
      ]) {
        const error = await errorOf(
          pool.transaction(async (tx) => {
            await insert(tx, 1);
            await tx.query(text);
          }),
        );
        assert.ok(error instanceof StatementRefusedError, text);
        assert.match(error.message, /cannot run inside transaction\(\)/);
      }
      assert.deepEqual(await numbers('t'), []);
    });

    it('none of the other statements that need a transaction', async () => {
      await pool.transaction(async (tx) => {
        await tx.query('set transaction isolation level serializable');
        await tx.query("set local work_mem = '123kB'");
        await tx.query('set constraints all immediate');
        await tx.query('lock table t');
        await tx.query('declare c cursor for select 42 as answer');
        assert.deepEqual((await tx.query('fetch c')).rows, [{ answer: 42 }]);
        const { rows } = await tx.query('show work_mem');
        assert.deepEqual(rows, [{ work_mem: '123kB' }]);
      });
    });

    it('everything after its end', async () => {
      let kept;
      await pool.transaction(async (tx) => {
        kept = tx;
        await insert(tx, 1);
      });
      assertEnded(await errorOf(kept.query('insert into t values (2)')));
      assertEnded(await errorOf(kept.batch(['insert into t values (2)'])));
      assertEnded(await errorOf(kept.transaction((tx) => insert(tx, 2))));
      let inside;
      await pool.transaction(async (tx) => {
        await tx.transaction(async (inner) => {
          inside = inner;
        });
        assertEnded(await errorOf(inside.query('select 1')));
        await insert(tx, 3);
      });
      assert.deepEqual(await numbers('t'), [1, 3]);
    });

    it('wrong options, before a connection is asked for', async () => {
      for (const [wrong, message] of [
        [{ isolationLevel: 'snapshot' }, /"isolationLevel" must be one of 'read uncommitted'/],
        [{ isolationLevel: 'SERIALIZABLE' }, /"isolationLevel"/],
        [{ readOnly: 1 }, /"readOnly" must be true or false/],
        [{ deferrable: 'yes' }, /"deferrable" must be true or false/],
        [{ isolation: 'serializable' }, /unknown transaction option "isolation"/],
        [{ retry: 3 }, /"retry" must be an object/],
        [{ retry: { serialization: -1 } }, /"retry.serialization" must be a whole number/],
        [{ retry: { deadlock: 1 } }, /unknown transaction option "retry.deadlock"/],
        ['serializable', /must be an object/],
      ]) {
        const error = await errorOf(pool.transaction(() => {}, wrong));
        assert.ok(error instanceof OptionError, String(error));
        assert.match(error.message, message);
      }
      for (const fn of [undefined, 'select 1', {}]) {
        const error = await errorOf(pool.transaction(fn));
        assert.ok(error instanceof ParameterError);
        assert.match(error.message, /needs a function/);
      }
      assert.equal(pool.totalCount, 0);
    });
  });

  describe('takes options', () => {
    for (const [given, level, readOnly, deferrable] of [
      [undefined, 'read committed', 'off', 'off'],
      [{}, 'read committed', 'off', 'off'],
      [{ isolationLevel: 'read uncommitted' }, 'read uncommitted', 'off', 'off'],
      [{ isolationLevel: 'repeatable read', readOnly: true }, 'repeatable read', 'on', 'off'],
      [
        { isolationLevel: 'serializable', readOnly: true, deferrable: true },
        'serializable',
        'on',
        'on',
      ],
      [{ readOnly: false, deferrable: false, retry: undefined }, 'read committed', 'off', 'off'],
    ]) {
      it(`${JSON.stringify(given)}, and the server applies them`, async () => {
        const seen = await pool.transaction(async (tx) => {
          const { rows } = await tx.query(
            "select current_setting('transaction_isolation') as level, " +
              "current_setting('transaction_read_only') as readonly, " +
              "current_setting('transaction_deferrable') as deferrable",
          );
          return rows[0];
        }, given);
        assert.deepEqual(seen, { level, readonly: readOnly, deferrable });
      });
    }
  });
});
