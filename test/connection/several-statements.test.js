'use strict';

// Texts of several statements, which go by the simple protocol: what comes back is as with `pg`,
// and on a pool nothing of them reaches other callers.

const assert = require('node:assert/strict');
const { ConnectionError, ParameterError, StatementRefusedError } = require('../..');
const { newClient } = require('../support/connect');
const { describeResult, withPg } = require('../support/like-pg');
const { errorOf } = require('../support/outcomes');
const { LOCK, newPool, pidsOf, PID, usePools } = require('../support/pools');

const FUNCTION = `create function two_steps(a int) returns int language sql
  begin atomic
    select case when a > 1 then case when a > 2 then 3 else 2 end else 1 end;
    select a + 1;
  end`;

/** Texts of which we say what `pg` says. */
const TEXTS = [
  'select 1 as one; select 2 as two',
  'select 1 as one;',
  'select 1 as one;;;',
  ';;select 1 as one',
  'select 1 as one; -- ; select 2',
  'select 1 as one; /* ; /* ; */ ; */',
  '',
  ';',
  ' ; ; ',
  '-- nothing',
  'select 1 as one; ; select 2 as two; ;',
  "select ';' as a, E'\\';' as b; select $$;$$ as c, $a$ $b$;$b$ $a$ as d",
  'select 1 as ";"; select 2 as "a"";"',
  "select 'it''s; ' as a; select U&'\\0041;' as b, B'1' as c, N';' as d",
  "select 'a;'\n'b;' as e; select 1 as one",
  'create temp table t (n int, v numeric); insert into t values (1, 1.5), (2, null); ' +
    'select * from t order by n; update t set n = n + 1; delete from t where n > 2; drop table t',
  "select 1::int8 as a, 'x'::text as b, true as c, null as d, array[1, 2] as e, '{}'::jsonb as f, " +
    "'\\x00ff'::bytea as g, date '2024-02-29' as h, 1.5::float8 as i; select 2::int2 as j",
  'begin; select 1 as one; commit',
  'begin; select 1 as one; rollback',
  'set application_name = $$a;b$$; show application_name; reset application_name',
  'select n from generate_series(1, 3) as n; select n from generate_series(1, 0) as n',
  'select 1 as a, 2 as a; select',
  'values (1, 2), (3, 4); table pg_language limit 0',
  "do $$ begin raise notice 'hello;'; end $$; select 1 as one",
  `${FUNCTION}; select two_steps(5) as six; drop function two_steps(int)`,
  'create temp table ruled (n int); create rule also as on insert to ruled do also ' +
    '(select 1; select 2); drop table ruled',
  'explain (costs off) select 1; select 1 as one',
  'select $1$;$1$ as a',
  'select 1 as one; selekt 2',
  'select 1 as one; select 1 / 0; select 3',
  "select 'unclosed; select 2",
  'select 1; select $1::int',
];

describe('A text of several statements', () => {
  const observer = usePools();
  const rowsOf = (table) => observer.rowsOf(table);
  const makeTable = (name, columns) => observer.makeTable(name, columns);

  describe('on a client returns the same as pg for', () => {
    const describeOne = (result) => {
      const described = describeResult(result);
      // Each has temporary tables of its own.
      for (const field of described.fields) field.tableID = field.tableID > 0;
      return described;
    };
    const describeAll = (value) =>
      Array.isArray(value) ? value.map(describeOne) : describeOne(value);
    const ask = (db, query) =>
      db.query(query).then(describeAll, ({ code, message }) => ({ code, message }));

    for (const text of TEXTS) {
      it(JSON.stringify(text), async () => {
        const client = await newClient();
        await withPg(async (like) => {
          for (const query of [text, { text, rowMode: 'array' }, { text, values: [] }]) {
            const expected = await ask(like, query);
            assert.deepStrictEqual(await ask(client, query), expected);
            // It leaves both in the same state.
            assert.deepStrictEqual(
              await ask(client, 'select 1 as one'),
              await ask(like, 'select 1 as one'),
            );
          }
        });
      });
    }

    it('a callback', async () => {
      const client = await newClient();
      const results = await new Promise((resolve, reject) => {
        client.query('select 1 as one; select 2 as two', (error, value) =>
          error ? reject(error) : resolve(value),
        );
      });
      assert.deepEqual(
        results.map(({ rows }) => rows),
        [[{ one: 1 }], [{ two: 2 }]],
      );
    });
  });

  describe('on a client', () => {
    it('is refused by the server when it has values', async () => {
      const client = await newClient();
      await assert.rejects(client.query('select $1::int; select 2', [1]), { code: '42601' });
      assert.deepEqual((await client.query('select 1 as one')).rows, [{ one: 1 }]);
    });

    it('keeps its place among the queries before and after it', async () => {
      const client = await newClient();
      await makeTable('placed', 'n int');
      const count = 'select count(*)::int as n from placed';
      const several = `insert into placed values (1); ${count}`;
      const results = await Promise.all(
        Array.from({ length: 60 }, (_, n) => client.query(n % 3 === 2 ? several : count)),
      );
      assert.deepEqual(
        results.map((result) => (Array.isArray(result) ? result[1] : result).rows[0].n),
        Array.from({ length: 60 }, (_, n) => Math.floor((n + 1) / 3)),
      );
    });

    it('keeps prepared statements, and those that it has dropped are replaced', async () => {
      const client = await newClient({ prepareThreshold: 1 });
      const text = 'select $1::int as n';
      for (const several of [
        'select 1; select 2',
        'select 1; deallocate all',
        'deallocate all; select 1',
      ]) {
        await client.query(text, [1]);
        await client.query(several);
        assert.deepEqual((await client.query(text, [2])).rows, [{ n: 2 }], several);
      }
    });

    it('is undone as a whole by an error in it', async () => {
      const client = await newClient();
      await makeTable('undone', 'n int');
      const error = await errorOf(client.query('insert into undone values (1); select 1 / 0'));
      assert.deepEqual([error.code, error.outcome], ['22012', 'not-run']);
      assert.deepEqual(await rowsOf('undone'), []);
    });

    it('has the outcome unknown when an error follows a COMMIT in it', async () => {
      const client = await newClient();
      await makeTable('halfway', 'n int');
      const error = await errorOf(
        client.query('insert into halfway values (1); commit; select 1 / 0'),
      );
      assert.deepEqual([error.code, error.outcome], ['22012', 'unknown']);
      assert.deepEqual(await rowsOf('halfway'), [{ n: 1 }]);
    });

    it('may leave a transaction open', async () => {
      const client = await newClient();
      await makeTable('left_open', 'n int');
      await client.query('begin; insert into left_open values (1)');
      await client.query('select 1');
      await client.query('insert into left_open values (2); commit');
      assert.deepEqual(await rowsOf('left_open'), [{ n: 1 }, { n: 2 }]);
    });

    it('with a NUL character is not sent', async () => {
      const client = await newClient();
      const error = await errorOf(client.query('select 1; select \0 2'));
      assert.ok(error instanceof ParameterError);
      assert.deepEqual((await client.query('select 1 as one')).rows, [{ one: 1 }]);
    });

    it('emits its notices', async () => {
      const client = await newClient();
      const notices = [];
      client.on('notice', ({ message }) => notices.push(message));
      await client.query(
        "do $$ begin raise notice 'one'; end $$; select 1; do $$ begin raise notice 'two'; end $$",
      );
      assert.deepEqual(notices, ['one', 'two']);
    });

    it('has the outcome unknown when the connection is lost in the middle', async () => {
      const client = await newClient();
      await makeTable('lost', 'n int');
      await observer.lock(LOCK);
      const failed = errorOf(
        client.query(`insert into lost values (1); commit; select pg_advisory_xact_lock(${LOCK})`),
      );
      const later = errorOf(client.query('select 1; select 2'));
      await observer.untilWaitedFor(LOCK);
      await observer.terminate(client.processID);
      const error = await failed;
      assert.ok(error instanceof ConnectionError);
      assert.equal(error.outcome, 'unknown');
      assert.equal((await later).outcome, 'not-run');
      assert.deepEqual(await rowsOf('lost'), [{ n: 1 }]);
    });

    for (const text of [
      'select 1; copy never_made to stdout',
      'copy never_made from stdin; select 1',
      'insert into beside_copy values (1); copy beside_copy to stdout',
      'insert into beside_copy values (1); copy beside_copy from stdin',
      'copy beside_copy from stdin',
      'copy beside_copy to stdout',
    ]) {
      it(`is refused with a COPY from or to the client: ${text}`, async () => {
        await makeTable('beside_copy', 'n int');
        for (const db of [await newClient(), newPool({ max: 1 })]) {
          const error = await errorOf(db.query(text));
          assert.ok(error instanceof StatementRefusedError, String(error));
          assert.equal(error.outcome, 'not-run');
          assert.match(error.message, /copyFrom\(\)/);
          assert.deepEqual(await rowsOf('beside_copy'), []);
          assert.deepEqual((await db.query('select 1 as one')).rows, [{ one: 1 }]);
        }
      });
    }

    it('may have 10 MB', async () => {
      const client = await newClient();
      const long = 'x;'.repeat(5 << 20);
      const results = await client.query(`select length('${long}') as n; select 2 as two`);
      assert.deepEqual(
        results.map(({ rows }) => rows),
        [[{ n: long.length }], [{ two: 2 }]],
      );
    });

    it('may have 20,000 statements, with as many results', async () => {
      const client = await newClient();
      const texts = Array.from({ length: 20000 }, (_, n) => `select ${n} as n`);
      const results = await client.query(texts.join(';'));
      assert.deepEqual(
        results.map(({ rows }) => rows[0].n),
        Array.from(texts, (_, n) => n),
      );
    });
  });

  describe('on a pool', () => {
    it('returns the results of all statements, or of the only one', async () => {
      const pool = newPool({ max: 1 });
      const both = await pool.query('select 1 as one; select 2 as two');
      assert.deepEqual(
        both.map(({ rows }) => rows),
        [[{ one: 1 }], [{ two: 2 }]],
      );
      assert.deepEqual((await pool.query('select 1 as one;')).rows, [{ one: 1 }]);
    });

    it('may contain a whole transaction', async () => {
      const pool = newPool({ max: 1 });
      await makeTable('whole', 'n int');
      const results = await pool.query(
        'begin; insert into whole values (1); insert into whole values (2); commit',
      );
      assert.deepEqual(
        results.map(({ command }) => command),
        ['BEGIN', 'INSERT', 'INSERT', 'COMMIT'],
      );
      assert.deepEqual(await rowsOf('whole'), [{ n: 1 }, { n: 2 }]);
    });

    it('that leaves a transaction open is rejected, and the transaction is rolled back', async () => {
      const pool = newPool({ max: 1 });
      await makeTable('not_open', 'n int');
      const waiting = pool.query(PID);
      const error = await errorOf(pool.query('begin; insert into not_open values (1)'));
      assert.match(error.message, /opened a transaction and not ended it/);
      assert.equal(error.outcome, 'not-run');
      await waiting;
      const { rows } = await pool.query('select count(*)::int as n from not_open');
      assert.deepEqual(rows, [{ n: 0 }]);
      const [backend] = await observer.ask(
        "select count(*)::int as n from pg_stat_activity where state like 'idle in transaction%'",
      );
      assert.equal(backend.n, 0);
    });

    it('that leaves a second transaction open has the outcome unknown: the first one is committed', async () => {
      const pool = newPool({ max: 1 });
      await makeTable('second_open', 'n int');
      const error = await errorOf(
        pool.query(
          'begin; insert into second_open values (1); commit; begin; insert into second_open values (2)',
        ),
      );
      assert.equal(error.outcome, 'unknown');
      assert.deepEqual(await rowsOf('second_open'), [{ n: 1 }]);
    });

    it('that fails in its transaction is rolled back', async () => {
      const pool = newPool({ max: 1 });
      await makeTable('failed_open', 'n int');
      await assert.rejects(pool.query('begin; insert into failed_open values (1); select 1 / 0'), {
        code: '22012',
      });
      assert.deepEqual((await pool.query('select count(*)::int as n from failed_open')).rows, [
        { n: 0 },
      ]);
    });

    for (const [what, text, look, seen] of [
      ['a setting', "set work_mem = '1MB'; select 1", 'show work_mem', { work_mem: '4MB' }],
      [
        'a channel',
        'listen several; select 1',
        'select count(*)::int as n from pg_listening_channels()',
        { n: 0 },
      ],
      [
        'a temporary table',
        'create temp table leaks (n int); insert into leaks values (1)',
        "select to_regclass('pg_temp.leaks') as n",
        { n: null },
      ],
      [
        'an advisory lock',
        'select 1; select pg_advisory_lock(7309)',
        "select count(*)::int as n from pg_locks where locktype = 'advisory' and objid = 7309",
        { n: 0 },
      ],
    ]) {
      it(`does not leave ${what} to other callers`, async () => {
        const pool = newPool({
          max: 1,
          options: '-c search_path=conduit_test,public -c work_mem=4MB',
        });
        const [, after] = await Promise.all([pool.query(text), pool.query(look)]);
        assert.deepEqual(after.rows, [seen]);
        assert.deepEqual((await pool.query(look)).rows, [seen]);
      });
    }

    it('never runs among the queries of other callers', async () => {
      const pool = newPool({ max: 2 });
      await makeTable('others', 'n int');
      const [several, ...results] = await Promise.all([
        pool.query(
          `begin; insert into others values (1); select pg_sleep(0.05), ${PID.slice(7)}; commit`,
        ),
        ...Array.from({ length: 1000 }, (_, n) => pool.query('select $1::int as n', [n])),
      ]);
      assert.deepEqual(
        results.map(({ rows }) => rows[0].n),
        Array.from(results, (_, n) => n),
      );
      assert.equal(several.length, 4);
    });

    it('has the connection to itself while it runs', async () => {
      const pool = newPool({ max: 2 });
      await observer.lock(LOCK);
      const several = pool.query(
        `select 1; select pg_advisory_xact_lock(${LOCK}), ${PID.slice(7)}`,
      );
      await observer.untilWaitedFor(LOCK);
      const pids = await pidsOf(Array.from({ length: 100 }, () => pool.query(PID)));
      await observer.unlock(LOCK);
      const [, { rows }] = await several;
      assert.ok(!pids.includes(rows[0].pid));
    });
  });
});
