'use strict';

// Tables, types and functions that change under prepared statements: by another session, beside traffic, and
// through the pool itself. The oracle is `pg`, which prepares nothing unless it is told to. What an error proves of a
// statement is in healing.test.js, what a text does to the schema in schema-change.test.js.

const assert = require('node:assert/strict');
const { setTimeout: delay } = require('node:timers/promises');
const {
  countPrepared,
  endAll,
  newClient,
  newPool,
  options,
  resetSchema,
} = require('../support/connect');
const { EXECUTIONS, closeReference, openReference } = require('../support/like-pg');
const { errorOf } = require('../support/outcomes');

const CONNECTIONS = 4;

describe('Migrations', function () {
  this.timeout(30000);

  /** Another session, which has nothing to do with the pool. @type {import('pg').Client} */
  let other;
  before(async () => {
    await resetSchema();
    other = await openReference();
  });
  afterEach(endAll);
  after(closeReference);

  const all = async (texts) => {
    for (const text of texts) await other.query(text);
  };
  const timesOf = (count, run) => Promise.all(Array.from({ length: count }, (_, i) => run(i)));

  /** Every way to run a text that sends it again unasked. */
  const WAYS = {
    'a client': async () => {
      const client = await newClient();
      return (text, values) => client.query(text, values);
    },
    'a pool': async () => {
      const pool = newPool({ max: 1 });
      return (text, values) => pool.query(text, values);
    },
    'a named query': async () => {
      const pool = newPool({ max: 1 });
      return (text, values) => pool.query({ name: 'named', text, values });
    },
    'a Sync group': async () => {
      const pool = newPool({ max: 1, syncGroup: 'all' });
      return async (text, values) => {
        const neighbours = timesOf(5, (i) => pool.query('select $1::int as i', [i]));
        const result = await pool.query(text, values);
        assert.deepEqual(
          (await neighbours).map(({ rows }) => rows[0].i),
          [0, 1, 2, 3, 4],
        );
        return result;
      };
    },
    'a batch': async () => {
      const pool = newPool({ max: 1 });
      return async (text, values) => {
        const [, result] = await pool.batch(['select 1', { text, values }, 'select 2']);
        return result;
      };
    },
  };

  // Each ends in an error for ever in a statement that was prepared before it.
  const LOUD = [
    {
      title: 'int becomes bigint, and larger values come',
      setup: ['create table moved (id int)'],
      text: 'insert into moved values ($1) returning id::text',
      before: [1],
      ddl: ['alter table moved alter id type bigint'],
      after: [3000000000],
    },
    {
      title: 'int becomes text, in a condition',
      setup: ['create table moved (id int, v int)', 'insert into moved values (7, 1)'],
      text: 'select v from moved where id = $1',
      before: [7],
      ddl: ['alter table moved alter id type text'],
      after: [7],
    },
    {
      title: 'text becomes int',
      setup: ['create table moved (v text)'],
      text: 'insert into moved (v) values ($1) returning v',
      before: ['1'],
      ddl: ['alter table moved alter v type int using v::int'],
      after: ['2'],
    },
    {
      title: 'a column is dropped and made anew as jsonb',
      setup: ['create table moved (id int, v int)'],
      text: 'insert into moved (v) values ($1) returning v',
      before: [1],
      ddl: ['alter table moved drop v', 'alter table moved add v jsonb'],
      after: [{ a: 1 }],
    },
    {
      title: 'a table is dropped and made anew',
      setup: ['create table moved (id int)'],
      text: 'insert into moved (id) values ($1) returning id',
      before: [1],
      ddl: ['drop table moved', 'create table moved (id uuid)'],
      after: ['a0eebc99-9c0b-4ef8-bb6d-6bb9bd380a11'],
    },
    {
      title: 'a table takes the place of another by its name',
      setup: ['create table moved (id int)', 'create table next_moved (id date)'],
      text: 'insert into moved values ($1) returning id::text',
      before: [1],
      ddl: ['alter table moved rename to old_moved', 'alter table next_moved rename to moved'],
      after: ['2024-02-29'],
    },
    {
      title: 'an enum is dropped and made anew, as a parameter',
      setup: ["create type moved_mood as enum ('sad')", 'create table moved (m moved_mood)'],
      text: 'insert into moved values ($1) returning m',
      before: ['sad'],
      ddl: [
        'alter table moved drop m',
        'drop type moved_mood',
        "create type moved_mood as enum ('ok')",
        'alter table moved add m moved_mood',
      ],
      after: ['ok'],
    },
    {
      title: 'an int column becomes an enum',
      setup: ["create type moved_mood as enum ('sad')", 'create table moved (m int)'],
      text: 'insert into moved (m) values ($1) returning m',
      before: [1],
      ddl: ['alter table moved drop m', 'alter table moved add m moved_mood'],
      after: ['sad'],
    },
    {
      title: 'a domain with a check becomes its base type',
      setup: ['create domain moved_d as int check (value < 10)', 'create table moved (d moved_d)'],
      text: 'insert into moved values ($1) returning d',
      before: [1],
      ddl: ['alter table moved alter d type int'],
      after: [20],
    },
    {
      title: 'a function takes text instead of int',
      setup: ['create function moved_f(int) returns int language sql as $$ select 1 $$'],
      text: 'select moved_f($1) as f',
      before: [1],
      ddl: [
        'drop function moved_f(int)',
        'create function moved_f(text) returns int language sql as $$ select 2 $$',
      ],
      after: ['a'],
    },
    {
      title: 'a view is made anew over another column',
      setup: [
        'create table moved (id int)',
        'insert into moved values (7)',
        'create view moved_v as select id from moved',
      ],
      text: 'select id from moved_v where id = $1',
      before: [7],
      ddl: ['drop view moved_v', 'create view moved_v as select id::text from moved'],
      after: [7],
    },
    {
      title: 'a column is added for select *',
      setup: ['create table moved (id int)', 'insert into moved values (7)'],
      text: 'select * from moved where id = $1',
      before: [7],
      ddl: ['alter table moved add column v int default 3'],
      after: [7],
    },
    {
      title: 'a column changes its type in the result',
      setup: ['create table moved (id int)', 'insert into moved values (7)'],
      text: 'select id from moved',
      before: [],
      ddl: ['alter table moved alter id type text'],
      after: [],
    },
  ];

  const CLEAN = [
    'drop view if exists moved_v',
    'drop table if exists moved, old_moved, next_moved',
    'drop type if exists moved_mood, moved_d',
    'drop function if exists moved_f(int), moved_f(text)',
  ];

  describe('by another session cause no error', () => {
    for (const { title, setup, text, before: old, ddl, after: values } of LOUD) {
      for (const [way, open] of Object.entries(WAYS)) {
        it(`when ${title}, on ${way}`, async () => {
          await all([...CLEAN, ...setup]);
          const run = await open();
          for (let i = 0; i < EXECUTIONS; ++i) await run(text, old);
          await all(ddl);
          const expected = (await other.query(text, values)).rows;
          for (let i = 0; i < EXECUTIONS; ++i) {
            assert.deepEqual((await run(text, values)).rows, expected, `execution ${i}`);
          }
        });
      }

      it(`when ${title}, for queries that are in flight together`, async () => {
        await all([...CLEAN, ...setup]);
        const pool = newPool({ max: CONNECTIONS });
        for (let i = 0; i < EXECUTIONS; ++i) await timesOf(40, () => pool.query(text, old));
        await all(ddl);
        const expected = (await other.query(text, values)).rows;
        for (const { rows } of await timesOf(40, () => pool.query(text, values))) {
          assert.deepEqual(rows, expected);
        }
      });

      it(`when ${title}, or one error for the text, for pipelines of a client`, async () => {
        await all([...CLEAN, ...setup]);
        const client = await newClient();
        for (let i = 0; i < EXECUTIONS; ++i) await client.query(text, old);
        await all(ddl);
        const expected = (await other.query(text, values)).rows;
        // The order of what is behind it counts, so that nothing is sent again.
        const first = [client.query(text, values), client.query('select 1')];
        await Promise.allSettled(first);
        for (let i = 0; i < EXECUTIONS; ++i) {
          const [{ rows }] = await Promise.all([
            client.query(text, values),
            client.query('select 1'),
          ]);
          assert.deepEqual(rows, expected);
        }
      });
    }

    it('when errors have the values of parameters in their context', async () => {
      const session = '-c search_path=conduit_test,public -c log_parameter_max_length_on_error=-1';
      for (const { setup, text, before: old, ddl, after: values } of LOUD) {
        await all([...CLEAN, ...setup]);
        const pool = newPool(options({ max: 1, options: session }));
        for (let i = 0; i < EXECUTIONS; ++i) await pool.query(text, old);
        await all(ddl);
        const expected = (await other.query(text, values)).rows;
        for (let i = 0; i < EXECUTIONS; ++i) {
          assert.deepEqual((await pool.query(text, values)).rows, expected, text);
        }
      }
    });

    it('under a load of other texts, which get their own answers', async () => {
      await all([...CLEAN, 'create table moved (id int)', 'insert into moved values (1)']);
      const pool = newPool({ max: CONNECTIONS });
      let isRunning = true;
      const traffic = timesOf(20, async (i) => {
        while (isRunning) {
          assert.deepEqual((await pool.query('select $1::int as i', [i])).rows, [{ i }]);
          const { rows } = await pool.query('select * from moved where id = $1', [1]);
          assert.equal(String(rows[0].id), '1');
        }
      });
      for (const type of ['bigint', 'text', 'int', 'numeric', 'text', 'int']) {
        await delay(30);
        await other.query(`alter table moved alter id type ${type} using id::text::${type}`);
      }
      isRunning = false;
      await traffic;
    });
  });

  describe('that the server does not report', () => {
    // What was prepared before stores another value than `pg` does, without an error.
    const SILENT = [
      ['timestamp', 'timestamptz', '2024-07-01T12:00:00+05:00'],
      ['date', 'timestamptz', '2024-07-01T12:00:00Z'],
      ['real', 'float8', '0.1'],
      ['char(10)', 'text', 'ab   '],
    ];
    const INSERT = 'insert into silent values ($1)';

    async function stored(run, value) {
      await other.query('truncate silent');
      await run(value);
      const { rows } = await other.query("select v::text || '|' as v from silent");
      return rows[0].v;
    }

    async function migrate(from, to) {
      await all(['drop table if exists silent', `create table silent (v ${from})`]);
      return `alter table silent alter v type ${to}`;
    }

    for (const [from, to, value] of SILENT) {
      it(`take effect after statementMaxAgeSeconds: ${from} to ${to}`, async () => {
        const ddl = await migrate(from, to);
        const pool = newPool({ max: 1, statementMaxAgeSeconds: 1 });
        for (let i = 0; i < EXECUTIONS; ++i) await pool.query(INSERT, [value]);
        await other.query(ddl);
        await delay(1050);
        const expected = await stored((v) => other.query(INSERT, [v]), value);
        for (let i = 0; i < EXECUTIONS; ++i) {
          assert.equal(await stored((v) => pool.query(INSERT, [v]), value), expected);
        }
      });

      it(`take effect at once with prepare: false: ${from} to ${to}`, async () => {
        const ddl = await migrate(from, to);
        const pool = newPool({ max: 1, prepare: false });
        for (let i = 0; i < EXECUTIONS; ++i) await pool.query(INSERT, [value]);
        await other.query(ddl);
        const expected = await stored((v) => other.query(INSERT, [v]), value);
        assert.equal(await stored((v) => pool.query(INSERT, [v]), value), expected);
      });

      const THROUGH = {
        'a query': (pool, ddl) => pool.query(ddl),
        'a client': async (pool, ddl) => {
          const client = await pool.connect();
          await client.query(ddl);
          client.release();
        },
        'a transaction': (pool, ddl) => pool.transaction((tx) => tx.query(ddl)),
        'a batch': (pool, ddl) => pool.batch([ddl, 'select 1']),
        'a text of several statements': (pool, ddl) => pool.query(`${ddl}; select 1`),
        'a DO block': (pool, ddl) => pool.query(`do $$ begin ${ddl}; end $$`),
      };
      for (const [way, run] of Object.entries(THROUGH)) {
        it(`take effect at once on each connection when they came through ${way}: ${from} to ${to}`, async () => {
          const ddl = await migrate(from, to);
          const pool = newPool({ max: CONNECTIONS, prepareThreshold: 1 });
          const clients = await timesOf(CONNECTIONS, () => pool.connect());
          try {
            for (const client of clients) await client.query(INSERT, [value]);
            clients.pop().release();
            await run(pool, ddl);
            const expected = await stored((v) => other.query(INSERT, [v]), value);
            for (const one of [...clients, pool]) {
              assert.equal(await stored((v) => one.query(INSERT, [v]), value), expected);
            }
          } finally {
            for (const client of clients) client.release();
          }
        });
      }
    }
  });

  describe('statementMaxAgeSeconds', () => {
    const MADE = `select name, prepare_time::text as time from pg_prepared_statements
      where statement = 'select $1::int as aged'`;
    const madeAt = async (pool) => (await pool.query({ text: MADE, prepare: false })).rows;

    it('prepares a statement again, and closes the old one', async () => {
      const pool = newPool({ max: 1, statementMaxAgeSeconds: 1 });
      for (let i = 0; i < EXECUTIONS; ++i) await pool.query('select $1::int as aged', [i]);
      const [first] = await madeAt(pool);
      await delay(1050);
      for (let i = 0; i < EXECUTIONS; ++i) {
        assert.deepEqual((await pool.query('select $1::int as aged', [i])).rows, [{ aged: i }]);
      }
      const renewed = await madeAt(pool);
      assert.equal(renewed.length, 1);
      assert.notEqual(renewed[0].name, first.name);
    });

    for (const never of [0, Infinity]) {
      it(`means no limit when it is ${never}`, async () => {
        const pool = newPool({ max: 1, statementMaxAgeSeconds: never });
        for (let i = 0; i < EXECUTIONS; ++i) await pool.query('select $1::int as aged', [i]);
        const made = await madeAt(pool);
        await delay(1050);
        await pool.query('select $1::int as aged', [1]);
        assert.deepEqual(await madeAt(pool), made);
      });
    }

    it('prepares statements again under load without an error or a wrong result', async () => {
      const pool = newPool({ max: 2, statementMaxAgeSeconds: 1 });
      const end = performance.now() + 2500;
      await timesOf(20, async (i) => {
        while (performance.now() < end) {
          assert.deepEqual((await pool.query('select $1::int as aged', [i])).rows, [{ aged: i }]);
        }
      });
      const clients = await timesOf(2, () => pool.connect());
      for (const client of clients) {
        assert.ok((await countPrepared(client)) <= 1);
        client.release();
      }
    });
  });

  describe('and transactions:', () => {
    const transactions = async (pool, texts, values, count = 40) => {
      const settled = await Promise.allSettled(
        Array.from({ length: count }, () =>
          pool.transaction(async (tx) => {
            for (const text of texts) await tx.query(text, values);
          }),
        ),
      );
      return settled.filter(({ status }) => status === 'rejected').map(({ reason }) => reason);
    };
    const several = (text) => Array.from({ length: 3 }, (_, i) => `${text} /* ${i} */`);

    async function warm(texts, values) {
      await all([
        ...CLEAN,
        'create table moved (id int, v int)',
        'insert into moved values (1, 1)',
      ]);
      const pool = newPool({ max: CONNECTIONS });
      for (let i = 0; i < EXECUTIONS; ++i) {
        assert.deepEqual(await transactions(pool, texts, values), []);
      }
      return pool;
    }

    for (const text of [
      'select * from moved where id = $1',
      'select m.*, 1 as one from moved m where id = $1',
      'update moved set v = 1 where id = $1 returning *',
      'with w as (table moved) select * from w where id = $1',
    ]) {
      it(`no transaction fails when a column is added: ${text}`, async () => {
        const texts = several(text);
        const pool = await warm(texts, [1]);
        for (const column of ['a', 'b', 'c']) {
          await other.query(`alter table moved add ${column} int`);
          assert.deepEqual(await transactions(pool, texts, [1]), []);
        }
      });
    }

    it('at most one fails when a column changes its type, whatever else they run', async () => {
      const texts = several('select v from moved where id = $1');
      const pool = await warm(texts, [1]);
      for (const type of ['bigint', 'text', 'numeric']) {
        await other.query(`alter table moved alter v type ${type} using v::text::${type}`);
        let failures = 0;
        for (let i = 0; i < 3 * CONNECTIONS; ++i) {
          failures += (await transactions(pool, texts, [1], 1)).length;
        }
        assert.ok(failures <= 1, `${failures} failures`);
        // Those that were sent together all fail together; behind them nobody does.
        assert.deepEqual(await transactions(pool, texts, [1]), []);
      }
    });

    it('none fails that follows a query of the pool', async () => {
      const texts = several('select v from moved where id = $1');
      const pool = await warm(texts, [1]);
      for (let i = 0; i < EXECUTIONS; ++i) await pool.query(texts[0], [1]);
      for (const type of ['bigint', 'text', 'numeric']) {
        await other.query(`alter table moved alter v type ${type} using v::text::${type}`);
        // On whichever connection: it is sent again, and all know.
        await timesOf(20, () => pool.query(texts[0], [1]));
        assert.deepEqual(await transactions(pool, texts, [1]), []);
      }
    });

    it('none fails when the texts were not used for a second', async () => {
      const texts = several('select v from moved where id = $1');
      const pool = await warm(texts, [1]);
      for (const type of ['bigint', 'text']) {
        await delay(1100);
        await other.query(`alter table moved alter v type ${type}`);
        assert.deepEqual(await transactions(pool, texts, [1]), []);
      }
    });

    it('none fails when the migration came through the pool', async () => {
      const texts = several('select v from moved where id = $1');
      const pool = await warm(texts, [1]);
      for (const type of ['bigint', 'text', 'numeric']) {
        const ddl = `alter table moved alter v type ${type} using v::text::${type}`;
        if (type === 'text') await pool.transaction((tx) => tx.query(ddl));
        else await pool.query(ddl);
        assert.deepEqual(await transactions(pool, texts, [1]), []);
      }
    });

    it('at most one error comes for a text whose parameter has changed its type', async () => {
      const text = 'insert into moved (id, v) values (2, $1)';
      const pool = await warm([text], [1]);
      await other.query('alter table moved alter v type bigint');
      let failures = 0;
      for (let i = 0; i < 3 * CONNECTIONS; ++i) {
        failures += (await transactions(pool, [text], [3000000000], 1)).length;
      }
      assert.ok(failures <= 1, `${failures} failures`);
    });

    it('a named query stays prepared, as in pg', async () => {
      await all([...CLEAN, 'create table moved (id int)']);
      const client = await newClient();
      await client.query('begin');
      await client.query({ name: 'kept', text: 'select * from moved' });
      await client.query({ name: 'kept', text: 'select * from moved' });
      assert.equal(await countPrepared(client), 1);
      await client.query('rollback');
    });
  });

  describe('a statement that is itself wrong', () => {
    it('gets one error for each call, and nothing is prepared again', async () => {
      const pool = newPool({ max: 1 });
      const text = 'select $1::int as n';
      for (let i = 0; i < EXECUTIONS; ++i) await pool.query(text, [i]);
      const made = 'select name from pg_prepared_statements order by name';
      const names = (await pool.query({ text: made, prepare: false })).rows;
      for (const value of ['abc', '99999999999', 'abc', '', 'abc']) {
        const error = await errorOf(pool.query(text, [value]));
        assert.match(error.code, /^22P02$|^22003$/);
        assert.equal(error.outcome, 'not-run');
        assert.deepEqual((await pool.query(text, [5])).rows, [{ n: 5 }]);
      }
      assert.deepEqual((await pool.query({ text: made, prepare: false })).rows, names);
    });

    it('gets one error when a column is gone, and works when the column is back', async () => {
      await all([...CLEAN, 'create table moved (id int, v int)']);
      const pool = newPool({ max: 1 });
      for (let i = 0; i < EXECUTIONS; ++i) await pool.query('select v from moved');
      await other.query('alter table moved drop v');
      for (let i = 0; i < EXECUTIONS; ++i) {
        assert.equal((await errorOf(pool.query('select v from moved'))).code, '42703');
      }
      await other.query('alter table moved add v text');
      for (let i = 0; i < EXECUTIONS; ++i) {
        assert.deepEqual((await pool.query('select v from moved')).rows, []);
      }
    });

    it('never runs twice when it fails in the middle', async () => {
      await all([
        'drop sequence if exists counted',
        'create sequence counted',
        `create or replace function fails_at_a_place(a int) returns int language plpgsql as $$
          begin perform nextval('counted'); execute 'select nowhere'; return 1; end $$`,
        `create or replace function fails_to_read(a int) returns int language plpgsql as $$
          begin perform nextval('counted'); return 'abc'::text::int; end $$`,
        `create or replace function fails_as_told(a int) returns int language plpgsql as $$
          begin perform nextval('counted');
            raise exception 'unnamed portal parameter $1' using errcode = '22P02'; end $$`,
        `create or replace procedure fails_later(a int) language plpgsql as $$
          begin perform nextval('counted'); commit; execute 'select nowhere'; end $$`,
      ]);
      const session = (more) => ({ max: 1, options: `-c search_path=conduit_test,public ${more}` });
      for (const more of ['', '-c log_parameter_max_length_on_error=-1']) {
        const pool = newPool(options(session(more)));
        for (const text of [
          "select nextval('counted'), 1 / ($1::int - 5 + (random() * 0)::int)",
          'select fails_at_a_place($1)',
          'select fails_to_read($1)',
          'select fails_as_told($1)',
          'call fails_later($1)',
          "select nextval('counted'), ($1::text || random()::text)::int",
        ]) {
          await other.query("select setval('counted', 1, false)");
          for (let use = 1; use <= 2 * EXECUTIONS; ++use) {
            await errorOf(pool.query(text, [5]));
            const { rows } = await other.query("select nextval('counted')::int as n");
            assert.equal(rows[0].n, 2 * use, `${text}, use ${use}`);
          }
        }
      }
    });
  });
});
