'use strict';

// When a text is prepared, under which name, how many of them a session keeps, and what becomes
// of the others when the first one to prepare a text fails. Stale ones: healing.test.js.

const assert = require('node:assert/strict');
const { ParameterError } = require('../..');
const { countPrepared, endAll, newClient, newPool, resetSchema } = require('../support/connect');
const { EXECUTIONS, withPg } = require('../support/like-pg');
const { errorOf } = require('../support/outcomes');

describe('Client', () => {
  before(resetSchema);
  afterEach(endAll);

  describe('named queries', () => {
    it('are prepared at once, and answer again and again', async () => {
      const client = await newClient();
      for (let n = 0; n < 5; ++n) {
        const { rows } = await client.query({
          name: 'double',
          text: 'select $1::int * 2 as n',
          values: [n],
        });
        assert.deepEqual(rows, [{ n: n * 2 }]);
        assert.equal(await countPrepared(client), 1);
      }
    });

    it('reject when the name was used for another text, as in pg', async () => {
      const client = await newClient();
      await withPg(async (reference) => {
        for (const one of [client, reference]) {
          await one.query({ name: 'a', text: 'select 1 as n' });
          const error = await errorOf(one.query({ name: 'a', text: 'select 2 as n' }));
          assert.match(error.message, /Prepared statements must be unique - 'a'/);
          assert.deepEqual((await one.query({ name: 'a', text: 'select 1 as n' })).rows, [
            { n: 1 },
          ]);
          assert.deepEqual((await one.query({ name: 'b', text: 'select 2 as n' })).rows, [
            { n: 2 },
          ]);
        }
      });
      const error = await errorOf(client.query({ name: 'a', text: 'select 2 as n' }));
      assert.ok(error instanceof ParameterError);
      assert.equal(error.outcome, 'not-run');
    });

    it('have names that no other connection uses, since a pooler may mix their sessions', async () => {
      const names = [];
      for (let n = 0; n < 20; ++n) {
        const client = await newClient();
        await client.query({ name: 'a', text: 'select 1' });
        const { rows } = await client.query('select name from pg_prepared_statements');
        names.push(...rows.map(({ name }) => name));
      }
      assert.equal(new Set(names).size, 20);
      for (const name of names) assert.match(name, /^pgc_[a-z2-7]{10}_\d+$/);
    });

    it('release the name of a text with a syntax error, as in pg', async () => {
      const client = await newClient();
      await withPg(async (reference) => {
        for (const one of [client, reference]) {
          const error = await errorOf(one.query({ name: 'c', text: 'selec 1' }));
          assert.equal(error.code, '42601');
          const { rows } = await one.query({ name: 'c', text: 'select 1 as n' });
          assert.deepEqual(rows, [{ n: 1 }]);
        }
      });
    });

    /** What each text of a script gives: its rows, or the code of its error. */
    async function play(one, script) {
      const answers = [];
      for (const step of script) {
        const query = typeof step === 'string' ? { text: step } : step;
        answers.push(
          await one.query(query).then(
            ({ rows }) => rows,
            ({ code }) => code,
          ),
        );
      }
      return answers;
    }

    const cursor = (columns) => [
      `declare c cursor for select ${columns} from generate_series(1, 3) as i`,
      ...['fetch 1 from c', 'fetch 1 from c', 'fetch 1 from c', 'fetch 1 from c', 'close c'],
    ];
    const prepared = (text) => [
      `prepare p as ${text}`,
      ...['execute p', 'execute p', 'execute p', 'deallocate p'],
    ];
    const SHAPES = [
      'i',
      "i::text, 'x' as more",
      "'{1,2}'::int[] as list",
      'i::numeric, null::jsonb as nothing',
      "'2020-01-01'::timestamptz as i",
      "i, 2.5::float8 as f, '\\x01'::bytea as b",
      "row(i, 'y') as whole",
      'i',
    ];
    const procedure = (parameters, body) => [
      'drop procedure if exists of_changing_columns',
      `create procedure of_changing_columns(${parameters}) language plpgsql as $$ begin ${body} end $$`,
      ...['call of_changing_columns(null)', 'call of_changing_columns(null)'],
    ];
    for (const [what, script] of [
      ['FETCH', ['begin', ...SHAPES.flatMap(cursor), 'rollback']],
      [
        'EXECUTE',
        SHAPES.flatMap((columns) => prepared(`select ${columns} from generate_series(1, 2) as i`)),
      ],
      [
        'CALL',
        [
          ...procedure('inout a int', 'a := 1;'),
          ...procedure('inout a text', "a := 'x';"),
          ...procedure('inout a numeric', 'a := 1.5;'),
        ],
      ],
      ['SHOW', ['show work_mem', 'set work_mem = 64', 'show work_mem', 'show all', 'show all']],
      [
        'EXPLAIN',
        [
          'explain (costs off) select 1',
          'explain (costs off) select 1',
          'explain (costs off) select 1',
        ],
      ],
    ]) {
      // A named CALL of another procedure fails in pg, and is prepared anew here.
      for (const isNamed of what === 'CALL' ? [false] : [false, true]) {
        it(`return what ${what} has now, as in pg, ${isNamed ? 'with' : 'without'} a name`, async () => {
          const steps = script.map((text) =>
            isNamed && /^(?:fetch|execute|call|show|explain)/.test(text)
              ? { name: `conduit ${text}`, text }
              : text,
          );
          const client = await newClient({ prepareThreshold: 1 });
          await withPg(async (reference) => {
            assert.deepEqual(await play(client, steps), await play(reference, steps));
          });
        });
      }
    }

    it('are not made for utility statements without a name', async () => {
      const client = await newClient({ prepareThreshold: 1 });
      for (let execution = 1; execution <= 3; ++execution) {
        await client.query('show work_mem');
        await client.query('explain select 1');
        await client.query('select 1');
      }
      const { rows } = await client.query({
        text: 'select statement from pg_prepared_statements',
        prepare: false,
      });
      assert.deepEqual(rows, [{ statement: 'select 1' }]);
    });

    it('may have several names for one text, and names with quotes', async () => {
      const client = await newClient();
      for (const name of ['a', 'b', 'é"\'', 'x'.repeat(100), 'x'.repeat(101)]) {
        for (let execution = 1; execution <= 3; ++execution) {
          const { rows } = await client.query({
            name,
            text: 'select $1::text as t',
            values: [name],
          });
          assert.deepEqual(rows, [{ t: name }]);
        }
      }
    });
  });

  describe('prepared statements', () => {
    it('are made at the second use of a text', async () => {
      const client = await newClient();
      const counts = [];
      for (let execution = 1; execution <= 4; ++execution) {
        await client.query('select 1 as one');
        counts.push(await countPrepared(client));
      }
      assert.deepEqual(counts, [0, 1, 1, 1]);
    });

    it('are made at the use that prepareThreshold sets', async () => {
      for (const prepareThreshold of [1, 3]) {
        const client = await newClient({ prepareThreshold });
        const counts = [];
        for (let execution = 1; execution <= 4; ++execution) {
          await client.query('select 1 as one');
          counts.push(await countPrepared(client));
        }
        assert.deepEqual(counts, prepareThreshold === 1 ? [1, 1, 1, 1] : [0, 0, 1, 1]);
      }
    });

    it('are not made for a text that would make them stale', async () => {
      const client = await newClient({ prepareThreshold: 1 });
      for (let n = 0; n < 3; ++n) {
        await client.query('create temp table if not exists of_a_session (a int)');
        await client.query('set search_path to conduit_test');
        assert.equal(await countPrepared(client), 0);
      }
    });

    for (const text of [
      "select timestamptz 'now' = now() as is_current",
      "select ' Today 12:00'::timestamp = current_date + time '12:00' as is_current",
      'select $$tomorrow$$::date = current_date + 1 as is_current',
    ]) {
      it(`are not made for a literal that stands for a time, which they would keep: ${text}`, async () => {
        const client = await newClient();
        for (let i = 0; i < 4; ++i) {
          assert.deepEqual((await client.query(text)).rows, [{ is_current: true }]);
        }
        assert.equal(await countPrepared(client), 0);
      });
    }

    it('are made for texts that only name a column so, or call now()', async () => {
      const client = await newClient();
      for (let i = 0; i < 3; ++i) {
        await client.query("select now() > '2020-01-01' as is_later");
        await client.query('select $1::int as today', [1]);
      }
      assert.equal(await countPrepared(client), 2);
    });

    it('are not executed in a transaction that has failed: its errors are those of pg', async () => {
      const SUM = 'select $1::int + $2::int as s';
      const client = await newClient();
      await withPg(async (reference) => {
        const seen = [];
        for (const one of [client, reference]) {
          for (let n = 0; n < EXECUTIONS; ++n) await one.query(SUM, [n, 1]);
          await one.query('begin');
          const codes = [];
          for (const values of [[1], [1], ['a', 1], [1, 2]]) {
            codes.push((await errorOf(one.query(SUM, values))).code);
          }
          await one.query('rollback');
          codes.push((await one.query(SUM, [1, 2])).rows[0].s);
          seen.push(codes);
        }
        assert.deepEqual(seen[0], ['08P01', '25P02', '25P02', '25P02', 3]);
        assert.deepEqual(seen[0], seen[1]);
      });
    });

    it('are not made with prepare: false, for a client or a query', async () => {
      const client = await newClient({ prepare: false });
      for (let n = 0; n < 5; ++n) {
        await client.query('select 1 as one');
        await client.query({ name: 'named', text: 'select 2 as two' });
      }
      assert.equal(await countPrepared(client), 0);
      await client.query({ text: 'select 1 as one', prepare: true });
      assert.equal(await countPrepared(client), 1);
      const other = await newClient();
      for (let n = 0; n < 5; ++n) await other.query({ text: 'select 1 as one', prepare: false });
      assert.equal(await countPrepared(other), 0);
    });

    it('stay within statementCacheSize, and the least recently used are closed first', async () => {
      const client = await newClient({ statementCacheSize: 4, prepareThreshold: 1 });
      const used = (n) => client.query(`select ${n} as n`);
      for (let n = 0; n < 60; ++n) {
        await used(n);
        await used(1000);
        assert.ok((await countPrepared(client)) <= 4);
      }
      const { rows } = await client.query({
        text: "select array_agg(statement order by prepare_time) as all from pg_prepared_statements where statement like 'select %'",
        prepare: false,
      });
      assert.deepEqual(rows[0].all, [
        'select 1000 as n',
        ...['select 57 as n', 'select 58 as n', 'select 59 as n'],
      ]);
    });

    it('stay within it also when all are in flight at once', async () => {
      const client = await newClient({ statementCacheSize: 4, prepareThreshold: 1 });
      for (let round = 0; round < 5; ++round) {
        const answers = await Promise.all(
          Array.from({ length: 60 }, (_, n) => client.query(`select ${(n * 7 + round) % 20} as n`)),
        );
        for (const [n, { rows }] of answers.entries()) {
          assert.deepEqual(rows, [{ n: (n * 7 + round) % 20 }]);
        }
        assert.ok((await countPrepared(client)) <= 4);
      }
    });

    it('stay within it when other sessions make them stale all the time', async () => {
      const client = await newClient({ statementCacheSize: 4, prepareThreshold: 1 });
      for (let round = 0; round < 20; ++round) {
        await Promise.all([
          client.query('select 1 as one'),
          client.query(`create temp table stale_${round} (n int)`),
          client.query('select 1 as one'),
          client.query('select 2 as two'),
        ]);
      }
      assert.ok((await countPrepared(client)) <= 4);
    });

    it('are not made with statementCacheSize: 0', async () => {
      const client = await newClient({ statementCacheSize: 0, prepareThreshold: 1 });
      for (let n = 0; n < 3; ++n) {
        await client.query('select 1 as one');
        await client.query({ name: 'a', text: 'select 2 as two' });
      }
      assert.equal(await countPrepared(client), 0);
    });

    it('stay within statementCacheBytes', async () => {
      const client = await newClient({ statementCacheBytes: 2000, prepareThreshold: 1 });
      for (let n = 0; n < 20; ++n) await client.query(`select ${n} as n -- ${'x'.repeat(400)}`);
      assert.ok((await countPrepared(client)) <= 4);
      await client.query(`select 1 as n -- ${'x'.repeat(4000)}`);
      assert.ok((await countPrepared(client)) <= 4);
    });
  });

  describe('of a pool, when the first to prepare a text fails', () => {
    it('each later query of the same tick gets an error of its own', async () => {
      const pool = newPool({ max: 1, prepareThreshold: 1 });
      for (const [text, code] of [
        ['select * from not_there_yet where n = $1', '42P01'],
        ['selec $1', '42601'],
        ['select no_such_function($1)', '42883'],
      ]) {
        for (let round = 0; round < 3; ++round) {
          const errors = await Promise.all([
            ...Array.from({ length: 20 }, (_, n) => errorOf(pool.query(text, [n]))),
          ]);
          assert.deepEqual(
            errors.map((error) => error.code),
            new Array(20).fill(code),
          );
          for (const error of errors) assert.equal(error.outcome, 'not-run');
          assert.equal(new Set(errors).size, 20);
          assert.deepEqual((await pool.query('select 1 as one')).rows, [{ one: 1 }]);
        }
      }
    });

    it('other queries get their answers', async () => {
      const pool = newPool({ max: 1, prepareThreshold: 1 });
      const outcomes = await Promise.allSettled(
        Array.from({ length: 90 }, (_, n) =>
          n % 3 === 0
            ? pool.query('select * from nowhere where n = $1', [n])
            : pool.query('select $1::int as n', [n]),
        ),
      );
      for (const [n, { value, reason }] of outcomes.entries()) {
        if (n % 3 === 0) assert.equal(reason.code, '42P01');
        else assert.deepEqual(value.rows, [{ n }]);
      }
    });

    it('they work once the table exists', async () => {
      const pool = newPool({ max: 1, prepareThreshold: 1 });
      const text = 'select n from appears where n = $1';
      const before = await Promise.allSettled([1, 2, 3].map((n) => pool.query(text, [n])));
      assert.ok(before.every(({ reason }) => reason.code === '42P01'));
      const other = await newClient();
      await other.query('create table appears as select generate_series(1, 3) as n');
      for (let round = 0; round < 3; ++round) {
        const after = await Promise.all([1, 2, 3].map((n) => pool.query(text, [n])));
        assert.deepEqual(
          after.map(({ rows }) => rows),
          [[{ n: 1 }], [{ n: 2 }], [{ n: 3 }]],
        );
      }
      assert.ok((await countPrepared(pool)) <= 1);
    });
  });
});
