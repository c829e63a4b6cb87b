'use strict';

// What is not prepared goes by the simple protocol, in the pipeline: one message in the place of five. What comes back is
// what an extended query would bring; nothing of it reaches a neighbour; and a text never runs more than it would there.

const assert = require('node:assert/strict');
const { Pool } = require('../..');
const { binding } = require('../../lib/native');
const { newClient, SCHEMA } = require('../support/connect');
const { EagerServer } = require('../support/eager-server');
const { describeResult, withPg } = require('../support/like-pg');
const { errorOf, outcomeOf } = require('../support/outcomes');
const { until } = require('../support/outside');
const { newPool, usePools } = require('../support/pools');
const { holds, randomFrom, SEED } = require('../support/property');
const fc = require('fast-check');

/** More than it takes for a text to be one of many. */
const MANY = 20;
/** Whether the database is one server need not be asked. */
const LOCAL = { distributed: false };

/** Statements of which we say what `pg` says, which sends them the same way. */
const TEXTS = [
  'select 1 as one',
  'select 1 as one;',
  'select 1 as one ; ;\n',
  'select',
  '',
  ' ',
  ';',
  '-- nothing',
  '/* ; */ select 1 as one',
  "select ';' as a, 'it''s' as b, E'\\n' as c, U&'\\0041' as d, \"n\" from (values (1)) as v (n)",
  "select 1::int2 as a, 2::int4 as b, 3::int8 as c, 1.5::float4 as d, 2.5::float8 as e, 1.10 as f, 'x' as g, true as h",
  "select null::int as a, '{}'::jsonb as b, '\\x00ff'::bytea as c, date '2024-02-29' as d, array[1, null] as e",
  "select timestamptz '2024-01-01 00:00Z' as a, interval '1 day' as b, '(1,2)'::point as c, numeric 'NaN' as d",
  'select 1 as a, 2 as a',
  'select n from generate_series(1, 300) as n',
  'select n from generate_series(1, 0) as n',
  'values (1, 2), (3, 4)',
  'table pg_catalog.pg_language limit 0',
  'show server_version_num',
  'explain (costs off) select 1',
  'selekt 1',
  'select 1 / 0',
  'select no_such_column',
  "select 'unclosed",
  'select * from nobody_has_this',
  "select 'x'::int",
  'create temp table made (n int primary key deferrable initially deferred, t text)',
  "insert into made values (1, 'a'), (2, null)",
  "insert into made values (1, 'again')",
  'insert into made (n) values (3) returning n, t',
  'update made set t = 1 where n < 3',
  'delete from made where n = 1 returning *',
  'select * from made order by n',
  'begin',
  'savepoint a',
  'select 1 / 0',
  'select 1',
  'rollback to a',
  'commit',
  'begin isolation level repeatable read read only',
  'insert into made values (10)',
  'rollback;',
  'rollback',
  'commit',
  'listen somebody',
  'unlisten *',
  'set statement_timeout = 0',
  'reset statement_timeout',
  'vacuum made',
  'truncate made',
  'drop table made',
  "do 'begin end'",
  'discard temp',
];

/** With an installed libpq all of this is sent as extended queries. */
const { pipelinesSimple } = binding;

describe('The simple protocol in the pipeline', () => {
  const observer = usePools();
  /** @param {any} promise */
  async function toldOf(promise) {
    try {
      const result = await promise;
      const told = (Array.isArray(result) ? result : [result]).map(describeResult);
      // Each makes a table of its own.
      for (const { fields } of told) {
        for (const field of fields) field.tableID = Number(field.tableID > 0);
      }
      return told;
    } catch (/** @type {any} */ error) {
      const { code, message, position, detail, severity } = error;
      return { code, message, position, detail, severity };
    }
  }

  it('brings what it brings in `pg`, one by one and all at once', async () => {
    const expected = await withPg(async (reference) => {
      const told = [];
      for (const text of TEXTS) told.push(await toldOf(reference.query(text)));
      return told;
    });
    const one = await newClient({ prepare: false, ...LOCAL });
    for (const [i, text] of TEXTS.entries()) {
      assert.deepEqual(await toldOf(one.query(text)), expected[i], text);
    }
    const all = await newClient({ prepare: false, ...LOCAL });
    const told = await Promise.all(TEXTS.map((text) => toldOf(all.query(text))));
    for (const [i, text] of TEXTS.entries()) assert.deepEqual(told[i], expected[i], text);
  });

  describe('on the wire', () => {
    /** @type {EagerServer} */
    let server;
    /** @type {any[]} */
    let opened = [];
    beforeEach(async () => {
      server = await EagerServer.open();
    });
    afterEach(async () => {
      await Promise.all(opened.map((one) => one.end()));
      opened = [];
      await server.close();
    });
    const poolOf = (given) => {
      const pool = new Pool(server.options({ max: 1, ...LOCAL, ...given }));
      opened.push(pool);
      return pool;
    };
    /** Whether what is sent meanwhile is nothing but Query messages. */
    async function isSimple(use) {
      server.flushes = [];
      await use();
      const sent = server.flushes.flat();
      return sent.length > 0 && !sent.includes('B') && !sent.includes('S');
    }

    it('is used for a text that is not prepared, for BEGIN and for COMMIT', async () => {
      const pool = poolOf();
      await pool.query('select 1');
      assert.equal(await isSimple(() => pool.query('select 5 as first_use')), pipelinesSimple);
      assert.equal(await isSimple(() => pool.query('select 6 as first_use;')), pipelinesSimple);
      const transact = () =>
        pool.transaction(async (tx) => {
          await tx.transaction((inner) => inner.query('select 7 as first_use'));
        });
      assert.equal(await isSimple(transact), pipelinesSimple);
      const texts = server.flushes.flat();
      assert.ok(texts.includes('BEGIN') && texts.includes('COMMIT'), String(texts));
    });

    for (const [what, use] of Object.entries({
      'a parameter': (pool) => pool.query('select $1::int', [1]),
      'a parameter without a value': (pool) => pool.query('select $1::int'),
      'a name': (pool) => pool.query({ text: 'select 1', name: 'a name' }),
      "queryMode: 'extended'": (pool) => pool.query({ text: 'select 1', queryMode: 'extended' }),
      'a batch': (pool) => pool.batch(['select 1', 'select 2']),
      'a stream': (pool) => pool.stream('select 1').toArray(),
    })) {
      it(`is not used for ${what}`, async () => {
        const pool = poolOf();
        await pool.query('select 1');
        assert.equal(await isSimple(() => outcomeOf(use(pool))), false);
      });
    }

    it('is used in a transaction that is open for sure, whatever the database is', async () => {
      const pool = poolOf({ distributed: undefined });
      await pool.query('select 1');
      const transact = () =>
        pool.transaction(async (tx) => {
          await tx.query('select 1 as n');
          assert.equal(await isSimple(() => tx.query('select 2 as n')), pipelinesSimple);
        });
      await transact();
      assert.equal(await isSimple(() => pool.query('select 3 as n')), false);
    });

    it('waits for the answer whether the database is one server, which many texts of one kind ask for', async () => {
      const pool = poolOf({ distributed: undefined });
      assert.equal(await isSimple(() => pool.query('select 0 as n')), false);
      for (let i = 1; i < MANY; ++i) await pool.query(`select ${i} as n`);
      const askOneMore = () => isSimple(() => pool.query(`select ${Math.random()} as n`));
      if (pipelinesSimple) await until('it is known', askOneMore);
      assert.equal(await askOneMore(), pipelinesSimple);
      const texts = server.flushes.flat();
      assert.ok(!texts.some((text) => text.includes('pg_extension')), 'once');
    });
  });

  it('brings nothing of what rules add, as extended queries, however often a text was used', async () => {
    const client = await newClient(LOCAL);
    await client.query(`create temp table ruled (n int);
      create rule a1 as on insert to ruled do also select 'a' as p, 'b' as q;
      create rule a2 as on insert to ruled do also select 1 as one from generate_series(1, 300);
      create rule a3 as on insert to ruled do also select 'c' as p, 'd' as q;
      create rule i1 as on update to ruled do instead select 7 as instead`);
    await client.query('prepare p1 as insert into ruled values (1)');
    for (const rowMode of [undefined, 'array', 'columns']) {
      for (const text of [
        'insert into ruled values (1)',
        "insert into ruled select length('returning')",
        'update ruled set n = 5',
        'execute p1',
      ]) {
        const told = [];
        for (let use = 0; use < 4; ++use) {
          const [result, neighbour] = await Promise.all([
            client.query({ text, rowMode }),
            client.query(`select 'of another' as other, ${use} as n`),
          ]);
          told.push([result.command, result.rowCount, result.fields, result.rows, result.columns]);
          assert.deepEqual(neighbour.rows, [{ other: 'of another', n: use }]);
        }
        for (const each of told) assert.deepEqual(each, told[3], text);
        assert.deepEqual(told[3][2], []);
      }
    }
  });

  it('tells of an error at the commit that nothing was kept, and nothing was', async () => {
    await observer.makeTable('late', 'n int primary key deferrable initially deferred');
    const pool = newPool({ max: 1, ...LOCAL });
    await pool.query(`insert into ${SCHEMA}.late values (1)`);
    const told = await Promise.allSettled(
      [2, 1, 3].map((n) => pool.query(`insert into ${SCHEMA}.late values (${n})`)),
    );
    assert.deepEqual(
      told.map(({ status }) => status),
      ['fulfilled', 'rejected', 'fulfilled'],
    );
    assert.equal(told[1].reason.code, '23505');
    assert.equal(told[1].reason.outcome, 'not-run');
    assert.deepEqual(
      (await observer.rowsOf('late')).map(({ n }) => n),
      [1, 2, 3],
    );
  });

  it('takes texts of any length, and of any letters', async () => {
    const client = await newClient({ prepare: false, ...LOCAL });
    for (const length of [1000, 70_000, 3_000_000]) {
      const value = 'é😀x'.repeat(length / 4);
      const ask = () => client.query(`select '${value}' as v, ${length} as n`);
      for (const { rows } of await Promise.all([ask(), ask(), ask()])) {
        assert.deepEqual(rows, [{ v: value, n: length }]);
      }
    }
  });

  it('passes notices and notifications on to their client', async () => {
    const client = await newClient({ ...LOCAL });
    /** @type {string[]} */
    const heard = [];
    client.on('notice', ({ message }) => heard.push(message));
    client.on('notification', ({ channel, payload }) => heard.push(`${channel} ${payload}`));
    await client.query('listen simple_channel');
    await Promise.all([
      client.query("do $$ begin raise notice 'one'; end $$"),
      client.query("do 'begin raise notice ''two''; end'"),
      client.query("notify simple_channel, 'three'"),
    ]);
    await until('all are heard', () => heard.length === 3);
    assert.deepEqual(heard, ['one', 'two', 'simple_channel three']);
  });

  it('gives each of thousands its own answer, among prepared ones, batches and errors', async () => {
    const random = randomFrom();
    const below = (n) => Math.floor(random() * n);
    const pool = newPool({ max: 2, statementCacheSize: 6, ...LOCAL });
    /** @type {((i: number) => Promise<void>)[]} */
    const kinds = [
      async (i) => assert.deepEqual((await pool.query(`select ${i} as i`)).rows, [{ i }]),
      async (i) =>
        assert.deepEqual((await pool.query(`select '${i}' as t, ${i} as i`)).rows[0].t, `${i}`),
      async (i) => assert.deepEqual((await pool.query('select $1::int as i', [i])).rows, [{ i }]),
      async (i) =>
        assert.deepEqual((await pool.query(`select $1::int as i${i % 9}`, [i])).rows, [
          { [`i${i % 9}`]: i },
        ]),
      async (i) =>
        assert.match(
          (await errorOf(pool.query(`select 'no ${i}'::int`))).message,
          RegExp(`no ${i}"`),
        ),
      async (i) => assert.equal((await errorOf(pool.query(`select ${i} / 0`))).code, '22012'),
      async (i) => {
        const [a, b] = await pool.batch([
          `select ${i} as i`,
          { text: 'select $1::int as i', values: [i] },
        ]);
        assert.deepEqual([a.rows, b.rows], [[{ i }], [{ i }]]);
      },
      async (i) => {
        const count = i % 700;
        const { rows } = await pool.query(`select ${i} as i from generate_series(1, ${count})`);
        assert.equal(rows.length, count);
        assert.ok(rows.every((row) => row.i === i));
      },
      async (i) => {
        const { rows } = await pool.transaction(async (tx) => {
          await tx.query(`select ${i}`);
          return tx.query(`select ${i} as i`);
        });
        assert.deepEqual(rows, [{ i }]);
      },
    ];
    try {
      await Promise.all(
        Array.from({ length: 3000 }, (_, i) => {
          // Those with a connection of their own are few.
          const kind = random() < 0.02 ? kinds.length - 1 : below(kinds.length - 1);
          return kinds[kind](i);
        }),
      );
    } catch (/** @type {any} */ error) {
      error.message = `FAST_CHECK_SEED=${SEED}\n${error.message}`;
      throw error;
    }
  });

  it('brings what it brings in `pg`, whatever a text is made of', async () => {
    const one = await newClient({ prepare: false, ...LOCAL });
    const piece = fc.constantFrom(
      ...['select 1', 'select 1', ';', ';', ' ', '\n', '--', '/*', '*/', "'", "''", '"', '$$'],
      ...['$a$', '\\', "E'", "U&'", '\t', '\f', '\v', '\u00a0', '\u2028', 'é', '$', ',', '(', ')'],
    );
    await withPg((reference) =>
      holds(
        fc.asyncProperty(fc.array(piece, { maxLength: 7 }), async (pieces) => {
          const text = pieces.join('');
          assert.deepEqual(
            await toldOf(one.query(text)),
            await toldOf(reference.query(text)),
            text,
          );
        }),
        400,
      ),
    );
  });
});
