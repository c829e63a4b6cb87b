'use strict';

// batch(): statements behind one Sync, all of which last, or none.

const assert = require('node:assert/strict');
const { ConnectionError, ParameterError, StatementRefusedError } = require('../..');
const { newClient } = require('../support/connect');
const { errorOf } = require('../support/outcomes');
const { until } = require('../support/outside');
const { LOCK, newPool, usePools } = require('../support/pools');

const numbers = (count) => Array.from({ length: count }, (_, n) => n);

describe('batch()', function () {
  this.timeout(30000);

  const observer = usePools();
  const rowsOf = (table) => observer.rowsOf(table);
  const makeTable = (name, columns) => observer.makeTable(name, columns);

  for (const [face, open] of [
    ['of a pool', async (given) => newPool({ max: 1, ...given })],
    ['of a client', (given) => newClient(given)],
    ['of a client that a pool has lent', (given) => newPool({ max: 1, ...given }).connect()],
  ]) {
    describe(face, () => {
      it('returns the results in the order of the statements, which may be strings or objects', async () => {
        const db = await open();
        await makeTable('in_order', 'n int, t text');
        const results = await db.batch([
          { text: 'insert into in_order values ($1, $2), (2, $3)', values: [1, 'é', null] },
          'select n from in_order order by n',
          { text: 'select n, t from in_order order by n', rowMode: 'array' },
          { text: 'update in_order set t = $1 where n = 3', values: ['x'] },
          '',
        ]);
        assert.deepEqual(
          results.map(({ command, rowCount, rows }) => [command, rowCount, rows]),
          [
            ['INSERT', 2, []],
            ['SELECT', 2, [{ n: 1 }, { n: 2 }]],
            [
              'SELECT',
              2,
              [
                [1, 'é'],
                [2, null],
              ],
            ],
            ['UPDATE', 0, []],
            [null, null, []],
          ],
        );
      });

      it('is one transaction', async () => {
        const db = await open();
        const results = await db.batch(
          numbers(3).map(() => 'select pg_current_xact_id()::text as id, now() as now'),
        );
        assert.deepEqual(results[1].rows, results[0].rows);
        assert.deepEqual(results[2].rows, results[0].rows);
        const [{ rows }] = await db.batch(['select pg_current_xact_id()::text as id']);
        assert.notEqual(rows[0].id, results[0].rows[0].id);
      });

      it('commits nothing when one statement fails, and the error has the index of that statement', async () => {
        const db = await open();
        await makeTable('atomic', 'n int primary key');
        for (let execution = 1; execution <= 4; ++execution) {
          const error = await errorOf(
            db.batch([
              'insert into atomic values (1)',
              'insert into atomic values (2)',
              'insert into atomic values (1)',
              'insert into atomic values (3)',
            ]),
          );
          assert.equal(error.code, '23505');
          assert.equal(error.index, 2);
          assert.equal(error.outcome, 'not-run');
          assert.deepEqual(await rowsOf('atomic'), []);
        }
        await db.batch(['insert into atomic values (1)', 'insert into atomic values (2)']);
        assert.deepEqual(await rowsOf('atomic'), [{ n: 1 }, { n: 2 }]);
      });

      it('gives the index of a statement with a syntax error, too', async () => {
        const db = await open();
        await makeTable('unparsed', 'n int');
        for (const prepare of [true, false]) {
          const error = await errorOf(
            db.batch([
              'insert into unparsed values (1)',
              { text: 'selekt 1', name: prepare ? 'wrong' : undefined, prepare },
              'insert into unparsed values (2)',
            ]),
          );
          assert.deepEqual([error.code, error.index, error.outcome], ['42601', 1, 'not-run']);
          assert.deepEqual(await rowsOf('unparsed'), []);
        }
      });

      it('commits nothing when a deferred constraint fails at the commit', async () => {
        const db = await open();
        await makeTable('deferred', 'n int unique deferrable initially deferred');
        const error = await errorOf(
          db.batch([
            'insert into deferred values (1)',
            'insert into deferred values (1)',
            'select 1 as one',
          ]),
        );
        assert.equal(error.code, '23505');
        assert.equal(error.index, undefined);
        assert.equal(error.outcome, 'not-run');
        assert.deepEqual(await rowsOf('deferred'), []);
        assert.deepEqual((await db.query('select 1 as one')).rows, [{ one: 1 }]);
      });

      for (const [what, bad, type] of [
        [
          'a NUL character in a value',
          { text: 'select $1::text', values: ['a\0b'] },
          ParameterError,
        ],
        ['a NUL character in a text', 'select 1 \0', ParameterError],
        ['a function as a value', { text: 'select $1', values: [() => 1] }, ParameterError],
        ['a text that is none', 42, ParameterError],
        ['nothing at all', undefined, ParameterError],
        [
          'more values than there may be',
          { text: 'select 1', values: new Array(65536).fill(1) },
          ParameterError,
        ],
        ['a signal of its own', { text: 'select 1', signal: AbortSignal.abort() }, ParameterError],
        ['a time limit of its own', { text: 'select 1', timeoutMillis: 10 }, ParameterError],
        ['BEGIN', 'begin', StatementRefusedError],
        ['COMMIT', '/* now */ commit', StatementRefusedError],
        ['ROLLBACK', 'Rollback', StatementRefusedError],
        ['SAVEPOINT', 'savepoint a', StatementRefusedError],
        ['COPY', 'copy never_made from stdin', StatementRefusedError],
      ]) {
        it(`sends nothing with ${what} in the middle`, async () => {
          const db = await open();
          await makeTable('unsent', 'n int');
          const error = await errorOf(
            db.batch(['insert into unsent values (1)', bad, 'insert into unsent values (2)']),
          );
          assert.ok(error instanceof type, String(error));
          assert.deepEqual([error.index, error.outcome], [1, 'not-run']);
          assert.deepEqual(await rowsOf('unsent'), []);
          assert.deepEqual((await db.query('select 1 as one')).rows, [{ one: 1 }]);
        });
      }

      it('without statements resolves to no results, and sends nothing', async () => {
        const db = await open();
        assert.deepEqual(await db.batch([]), []);
      });

      it('is refused when its argument is not an array, or has holes', async () => {
        const db = await open();
        for (const wrong of [undefined, null, 'select 1', { text: 'select 1' }, new Set()]) {
          const error = await errorOf(db.batch(wrong));
          assert.ok(error instanceof ParameterError, String(error));
        }
        // eslint-disable-next-line no-sparse-arrays
        const error = await errorOf(db.batch(['select 1', , 'select 2']));
        assert.ok(error instanceof ParameterError, String(error));
        assert.equal(error.index, 1);
      });

      it('says what to write in place of arrays, promises and other invalid statements', async () => {
        const db = await open();
        await makeTable('mistaken', 'n int');
        const begun = db.query('select 1 as one');
        for (const [wrong, message] of [
          [
            ['select $1::int', [1]],
            /is an array: write \{ text, values \} in place of \[text, values\]$/,
          ],
          [[1], /is an array: write \{ text, values \}/],
          [begun, /is a promise, and a query that has one is sent already: write the text, or \{/],
          [{ then() {} }, /is a promise/],
          [() => 'select 1', /must be an SQL text or \{ text, values \}, not a function$/],
          [null, /must be an SQL text or \{ text, values \}, not null$/],
          [undefined, /must be an SQL text or \{ text, values \}, not undefined$/],
          [42, /must be an SQL text or \{ text, values \}, not a number$/],
          [
            { sql: 'select 1' },
            /must be an SQL text or \{ text, values \}, not an object without text$/,
          ],
          [{ text: 42 }, /must be an SQL text or \{ text, values \}, not an object without text$/],
        ]) {
          const error = await errorOf(db.batch(['insert into mistaken values (1)', wrong]));
          assert.ok(error instanceof ParameterError, String(error));
          assert.match(error.message, /^statement 1 of batch\(\) /);
          assert.match(error.message, message);
          assert.deepEqual([error.index, error.outcome], [1, 'not-run']);
        }
        assert.deepEqual((await begun).rows, [{ one: 1 }]);
        // Of a list of pairs the first is named, and of a single one its values.
        const pairs = await errorOf(db.batch([['select $1::int', [1]], ['select 2']]));
        assert.match(pairs.message, /^statement 0 of batch\(\) is an array/);
        const single = await errorOf(db.batch(['select $1::int', [1]]));
        assert.match(single.message, /^statement 1 of batch\(\) is an array/);
        const list = await errorOf(db.batch(Promise.resolve(['select 1'])));
        assert.match(list.message, /not a promise$/);
        const one = await errorOf(db.batch('select 1'));
        assert.match(one.message, /needs an array of SQL texts.*, not one alone$/);
        assert.deepEqual(await rowsOf('mistaken'), []);
      });

      it('accepts 5,000 statements', async () => {
        const db = await open();
        await makeTable('many', 'n int');
        const results = await db.batch(
          numbers(5000).map((n) => ({
            text: 'insert into many values ($1) returning n',
            values: [n],
          })),
        );
        assert.deepEqual(
          results.map(({ rows }) => rows[0].n),
          numbers(5000),
        );
        assert.equal((await rowsOf('many')).length, 5000);
      });

      it('runs again when its prepared statements are older than a change of their table', async () => {
        const db = await open({ prepareThreshold: 1 });
        await makeTable('healed', 'n int');
        const batch = () =>
          db.batch([
            'insert into healed (n) values (1)',
            'select * from healed',
            'select 2 as two',
          ]);
        await batch();
        await batch();
        await observer.ask("alter table conduit_test.healed add t text default 'x'");
        const [, { rows }] = await batch();
        assert.deepEqual(rows, new Array(3).fill({ n: 1, t: 'x' }));
        assert.equal((await rowsOf('healed')).length, 3);
      });

      it('rejects with the error of a parser that throws, although it is committed', async () => {
        const db = await open();
        await makeTable('unreadable', 'n int');
        const types = {
          getTypeParser: () => () => {
            throw new Error('cannot read that');
          },
        };
        const error = await errorOf(
          db.batch(['insert into unreadable values (1)', { text: 'select 1', types }]),
        );
        assert.deepEqual(
          [error.message, error.cause.code, error.index, error.outcome],
          ['cannot read that', 'ERR_PG_CONDUIT_RESULT', 1, 'unknown'],
        );
        assert.deepEqual(await rowsOf('unreadable'), [{ n: 1 }]);
      });

      it('rejects when the connection is lost before its Sync, without the index of a statement', async () => {
        const db = await open();
        await makeTable('lost', 'n int');
        await observer.lock(LOCK);
        const failed = errorOf(
          db.batch(['insert into lost values (1)', `select pg_advisory_xact_lock(${LOCK})`]),
        );
        await observer.untilWaitedFor(LOCK);
        const [{ pid }] = await observer.ask(
          "select pid from pg_locks where locktype = 'advisory' and not granted",
        );
        await observer.terminate(pid);
        const error = await failed;
        assert.ok(error instanceof ConnectionError, String(error));
        assert.equal(error.code, 'ECONNRESET');
        // What the server said before its end may have come through, or not.
        assert.ok(['unknown', 'not-run'].includes(error.outcome));
        assert.equal(error.index, undefined);
        assert.deepEqual(await rowsOf('lost'), []);
      });
    });
  }

  describe('on a pool', () => {
    it('with statements that change the session is refused, while a client accepts it', async () => {
      const pool = newPool({ max: 1 });
      for (const text of ['set work_mem = 100', 'listen channel', 'create temp table t (n int)']) {
        const error = await errorOf(pool.batch(['select 1', text]));
        assert.ok(error instanceof StatementRefusedError, text);
        assert.deepEqual([error.index, error.outcome], [1, 'not-run']);
      }
      const client = await newClient();
      await client.batch(['create temp table t (n int)', "set work_mem = '1MB'"]);
      assert.deepEqual((await client.query('show work_mem')).rows, [{ work_mem: '1MB' }]);
    });

    it('does not affect other queries on its connection, whether it succeeds or fails', async () => {
      const pool = newPool({ max: 1 });
      await makeTable('beside', 'n int primary key');
      const outcomes = await Promise.allSettled(
        numbers(120).map((n) =>
          n % 3 === 0
            ? pool.batch([
                { text: 'insert into beside values ($1)', values: [n] },
                { text: 'select 1 / $1::int as q', values: [n % 2] },
              ])
            : pool.query('select $1::int as n', [n]),
        ),
      );
      for (const [n, { value, reason }] of outcomes.entries()) {
        if (n % 3 !== 0) assert.deepEqual(value.rows, [{ n }]);
        else if (n % 2 === 0) assert.deepEqual([reason.code, reason.index], ['22012', 1]);
        else assert.deepEqual(value[1].rows, [{ q: 1 }]);
      }
      const expected = numbers(120).filter((n) => n % 3 === 0 && n % 2 === 1);
      assert.deepEqual(
        (await rowsOf('beside')).map(({ n }) => n),
        expected,
      );
    });

    it('with DDL has a connection to itself', async () => {
      const pool = newPool({ max: 1 });
      await pool.query('select 1');
      await observer.lock(LOCK);
      const ddl = pool.batch([
        'create table without_neighbours (n int)',
        `select pg_advisory_xact_lock(${LOCK}), pg_backend_pid() as pid`,
      ]);
      await observer.untilWaitedFor(LOCK);
      const query = pool.query('select pg_backend_pid() as pid');
      assert.equal(pool.waitingCount, 1);
      await observer.unlock(LOCK);
      const [, { rows }] = await ddl;
      assert.deepEqual((await query).rows, [{ pid: rows[0].pid }]);
    });

    it('makes a bank transfer with a single flush and a single Sync', async () => {
      const pool = newPool({ max: 1 });
      await makeTable('account', 'id int primary key, balance int');
      await pool.query('insert into account values (1, 100), (2, 0)');
      const transfer = () =>
        pool.batch([
          { text: 'update account set balance = balance - $1 where id = 1', values: [5] },
          { text: 'update account set balance = balance + $1 where id = 2', values: [5] },
          'select sum(balance)::int as sum from account',
        ]);
      for (let use = 0; use < 3; ++use) await transfer();
      const before = pool.stats();
      const results = await transfer();
      const after = pool.stats();
      assert.deepEqual(results[2].rows, [{ sum: 100 }]);
      assert.equal(after.queries - before.queries, 3);
      assert.equal(after.syncs - before.syncs, 1);
      assert.equal(after.flushes - before.flushes, 1);
    });

    it('that has ended refuses it', async () => {
      const pool = newPool();
      await pool.end();
      const error = await errorOf(pool.batch(['select 1']));
      assert.equal(error.code, 'ERR_PG_CONDUIT_POOL_ENDED');
    });

    it('makes an unhandled rejection if it fails and nobody handles that', async () => {
      const pool = newPool();
      const listeners = process.listeners('unhandledRejection');
      process.removeAllListeners('unhandledRejection');
      const seen = [];
      process.on('unhandledRejection', (error) => seen.push(error.code));
      try {
        pool.batch(['select 1 / 0']);
        pool.batch(['create table (']);
        await until('both are seen', () => seen.length === 2);
      } finally {
        process.removeAllListeners('unhandledRejection');
        for (const listener of listeners) process.on('unhandledRejection', listener);
      }
      assert.deepEqual(seen.sort(), ['22012', '42601']);
    });
  });

  describe('in a transaction of a client', () => {
    it('is a part of the transaction', async () => {
      const client = await newClient();
      await makeTable('part', 'n int');
      await client.query('begin');
      await client.batch(['insert into part values (1)', 'insert into part values (2)']);
      assert.deepEqual(await rowsOf('part'), []);
      await client.query('commit');
      assert.deepEqual(await rowsOf('part'), [{ n: 1 }, { n: 2 }]);
    });

    it('makes the transaction fail when it fails', async () => {
      const client = await newClient();
      await makeTable('ruined', 'n int');
      await client.query('begin');
      await client.query('insert into ruined values (0)');
      const error = await errorOf(client.batch(['insert into ruined values (1)', 'select 1 / 0']));
      assert.deepEqual([error.code, error.index], ['22012', 1]);
      await assert.rejects(client.query('select 1'), { code: '25P02' });
      await client.query('rollback');
      assert.deepEqual(await rowsOf('ruined'), []);
    });

    it('keeps its place among the queries before and after it', async () => {
      const client = await newClient();
      await makeTable('placed', 'n int');
      const count = 'select count(*)::int as n from placed';
      const insert = 'insert into placed values (1)';
      const results = await Promise.all([
        client.query(count),
        client.batch([insert, count]),
        client.query(count),
        client.batch([insert, insert, count]),
        client.query(count),
      ]);
      assert.deepEqual(
        results.map((result) => (Array.isArray(result) ? result.at(-1) : result).rows[0].n),
        [0, 1, 1, 3, 3],
      );
    });
  });
});
