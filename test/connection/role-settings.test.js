'use strict';

// Roles with settings that change how the server writes values: each execution of a text answers alike,
// the first as text and the tenth in binary, and as `pg` does.

const assert = require('node:assert/strict');
const pg = require('pg');
const { Client, Pool } = require('../..');
const { startDatabase } = require('../../scripts/database');
const { until } = require('../support/outside');

const RUNS = 10;

const COLUMNS = [
  "date '2024-06-17' as d",
  "date '0044-03-15 BC' as bc",
  "date 'infinity' as di",
  "timestamp '2024-06-17 12:34:56.789' as ts",
  "timestamptz '2024-06-17 12:34:56.789+02' as tz",
  "timestamptz '1890-01-01 00:00:00Z' as lmt",
  "timestamptz '-infinity' as tzi",
  '0.1::float8 + 0.2::float8 as f8',
  '1e-7::float8 / 3 as small',
  "'NaN'::float8 as nan",
  '0.1::float4 + 0.2::float4 as f4',
  "interval '1 year 2 mons -3 days 04:05:06.7' as i",
  "'\\x00ff5c27'::bytea as b",
  '1234.5::numeric as n',
  "time '12:34:56.7' as t",
  "'é'::text as x",
  '9007199254740993::int8 as i8',
  '\'{"a":1.50}\'::jsonb as j',
];
const MONEY = '1234.5::numeric::money as m';
const ARRAYS = "array[0.3::float8, 0.1::float8 + 0.2] as fs, array[date '2024-06-17'] as ds";
/** Of one type each, so that binary is asked for wherever it can be. */
const TEXTS = [
  ...COLUMNS.map((column) => `select ${column}`),
  `select ${COLUMNS.join(', ')}`,
  `select ${COLUMNS.slice(0, 8).join(', ')}, ${MONEY}, ${ARRAYS}`,
];

const SETTINGS = [
  ['nothing', {}],
  ...['SQL, DMY', 'SQL, MDY', 'German', 'Postgres', 'Postgres, DMY', 'ISO, DMY', 'ISO, YMD'].map(
    (style) => [`datestyle = ${style}`, { datestyle: style }],
  ),
  ...['postgres', 'postgres_verbose', 'sql_standard', 'iso_8601'].map((style) => [
    `intervalstyle = ${style}`,
    { intervalstyle: style },
  ]),
  ...['-15', '-3', '0', '1', '3'].map((digits) => [
    `extra_float_digits = ${digits}`,
    { extra_float_digits: digits },
  ]),
  ['bytea_output = escape', { bytea_output: 'escape' }],
  ['timezone = America/St_Johns', { timezone: 'America/St_Johns' }],
  ['timezone = Europe/Berlin', { timezone: 'Europe/Berlin' }],
  ['lc_monetary = C', { lc_monetary: 'C' }],
  ['client_encoding = LATIN1', { client_encoding: 'LATIN1' }],
  ['all of them', { datestyle: 'SQL, DMY', extra_float_digits: '0', bytea_output: 'escape' }],
];

describe('settings of a role', function () {
  this.timeout(120000);

  let database;
  let admin;
  const opened = [];

  before(async () => {
    database = await startDatabase({ own: true });
    admin = await connect(pg.Client, {});
    opened.length = 0;
    await admin.query('create role plain login; create role styled login');
  });
  after(async () => {
    await admin.end();
    await database.stop();
  });
  afterEach(async () => {
    await Promise.all(opened.splice(0).map((one) => one.end().catch(() => {})));
  });

  /** @param {any} Kind @param {Record<string, any>} given */
  async function connect(Kind, given) {
    const { socketDirectory, config } = database;
    const one = new Kind({ ...config, host: socketDirectory ?? config.host, ...given });
    opened.push(one);
    await one.connect();
    return one;
  }

  /** @param {Record<string, string>} settings */
  async function setRole(settings) {
    await admin.query('alter role styled reset all');
    for (const [name, value] of Object.entries(settings)) {
      await admin.query(`alter role styled set ${name} = ${pg.escapeLiteral(value)}`);
    }
  }

  /** @param {any} client @param {any} query */
  async function streamed(client, query) {
    const rows = [];
    for await (const row of client.stream(query)) rows.push(row);
    return rows;
  }

  /** @param {any} client @param {any} query */
  async function fetched(client, query) {
    if (client instanceof Pool) {
      const borrowed = await client.connect();
      try {
        return await fetched(borrowed, query);
      } finally {
        borrowed.release();
      }
    }
    const cursor = client.cursor(query);
    const rows = await cursor.read(5);
    await cursor.close();
    return rows;
  }

  const rowsOf = async (answer) => (await answer).rows;
  /** @type {[string, (client: any, text: string, run: number) => Promise<any[]>][]} */
  const WAYS = [
    ['query()', (client, text) => rowsOf(client.query(text))],
    ['by name', (client, text) => rowsOf(client.query({ text, name: `n ${text}` }))],
    ['unprepared', (client, text) => rowsOf(client.query({ text, prepare: false }))],
    ['streamed', (client, text) => streamed(client, text)],
    ['by a cursor', (client, text) => fetched(client, text)],
    [
      'in a batch',
      async (client, text) => {
        const [, { rows }] = await client.batch(['select 1', text, 'select 2']);
        return rows;
      },
    ],
    [
      'in a transaction',
      (client, text) => client.transaction(async (tx) => (await tx.query(text)).rows),
    ],
    [
      'many at a time',
      async (client, text) => {
        const all = await Promise.all(Array.from({ length: 3 }, () => client.query(text)));
        for (const { rows } of all) assert.deepEqual(rows, all[0].rows);
        return all[2].rows;
      },
    ],
  ];

  for (const [what, settings] of SETTINGS) {
    it(`change nothing from one execution to the next: ${what}`, async () => {
      await setRole(settings);
      const isIso = (settings.datestyle ?? 'ISO').startsWith('ISO');
      // What `pg` makes of dates in other styles is null.
      const user = isIso ? 'styled' : 'plain';
      const others = Object.entries(settings).filter(([name]) => name !== 'datestyle');
      const oracle = await connect(pg.Client, { user });
      if (!isIso) {
        for (const [name, value] of others) {
          await oracle.query(`set ${name} = ${pg.escapeLiteral(value)}`);
        }
      }
      const expected = new Map();
      for (const text of TEXTS) expected.set(text, (await oracle.query(text)).rows);
      const check = async (one, way, run, text) => {
        const rows = await way[1](one, text, run);
        assert.deepEqual(rows, expected.get(text), `${way[0]}, run ${run}: ${text}`);
      };
      const client = await connect(Client, { user: 'styled' });
      const pool = connectPool({ user: 'styled', max: 1 });
      for (const text of TEXTS) {
        for (let run = 1; run <= RUNS; ++run) {
          await check(client, WAYS[0], run, text);
          await check(pool, WAYS[0], run, text);
        }
      }
      for (const way of WAYS.slice(1)) {
        const other = await connect(Client, { user: 'styled' });
        for (let run = 1; run <= 3; ++run) {
          for (const text of TEXTS.slice(-2)) {
            for (const one of [other, client, pool]) await check(one, way, run, text);
          }
        }
      }
    });
  }

  const SHAPE = "select date '2024-06-07' as d, 0.1::float8 + 0.2 as f";

  /** @param {any} client */
  async function warmUp(client) {
    for (let run = 0; run < RUNS; ++run) await client.query(SHAPE);
  }

  for (const [what, texts, last] of [
    ['SET', ["set datestyle = 'SQL, DMY'", 'set extra_float_digits = 0']],
    ['SET and DISCARD ALL', ["set datestyle = 'SQL, DMY'", 'discard all']],
    ['SET and RESET ALL', ['set extra_float_digits = 0', 'reset all']],
    [
      'SET LOCAL, and the end of the transaction',
      ['begin', 'set local extra_float_digits = 0'],
      'commit',
    ],
    ['SET in a transaction that is undone', ['begin', 'set extra_float_digits = -3'], 'rollback'],
    ['a style that is undone', ['begin', "set datestyle = 'German'"], 'rollback'],
    [
      'one that is undone to another',
      ["set datestyle = 'SQL'", 'begin', "set datestyle = 'ISO'"],
      'rollback',
    ],
    [
      'undone to a savepoint',
      ['begin', 'savepoint a', 'set extra_float_digits = 0'],
      'rollback to a',
    ],
    [
      'set_config()',
      [
        "select set_config('datestyle', 'SQL, DMY', false), set_config('extra_float_digits', '0', false)",
      ],
    ],
    ['DO', ["do $$ begin perform set_config('extra_float_digits', '0', false); end $$"]],
    ['several statements', ["set datestyle = 'Postgres'; set extra_float_digits = 0"]],
    ['several statements that reset', ['set extra_float_digits = 0', 'select 1; reset all']],
  ]) {
    for (const pace of ['one after the other', 'together']) {
      it(`that the session changes apply to all executions, as with pg: ${what}, ${pace}`, async () => {
        await setRole({});
        const [ours, theirs] = await Promise.all([
          connect(Client, { user: 'styled' }),
          connect(pg.Client, { user: 'styled' }),
        ]);
        const script = [...texts, SHAPE, SHAPE];
        if (last !== undefined) script.push(last, SHAPE, SHAPE);
        const outcomes = await Promise.all(
          [ours, theirs].map(async (client) => {
            await warmUp(client);
            if (pace === 'together') {
              return (await Promise.all(script.map((text) => client.query(text)))).map(
                (result) => result.rows,
              );
            }
            const rows = [];
            for (const text of script) rows.push((await client.query(text)).rows);
            return rows;
          }),
        );
        assert.deepEqual(...outcomes);
        if (last !== 'rollback to a' && last === undefined) return;
        await Promise.all([ours, theirs].map((client) => client.query('rollback')));
      });
    }
  }

  for (const resetQuery of [undefined, 'reset all', 'select 1; reset all; select 2']) {
    it(`do not replace those of the driver when a pool resets a connection (${resetQuery})`, async () => {
      await setRole({ datestyle: 'SQL, DMY', extra_float_digits: '0' });
      const pool = connectPool({ user: 'styled', max: 1, ...(resetQuery && { resetQuery }) });
      const expected = [{ d: new Date(2024, 5, 7), f: 0.3 }];
      for (let turn = 0; turn < 3; ++turn) {
        const client = await pool.connect();
        await warmUp(client);
        await client.query("set datestyle = 'German'");
        await client.query('set extra_float_digits = 3');
        client.release();
        // At once, and when the reset is long done.
        assert.deepEqual((await pool.query(SHAPE)).rows, expected);
        for (let run = 0; run < RUNS; ++run) {
          assert.deepEqual((await pool.query(SHAPE)).rows, expected);
        }
      }
      const { rows } = await pool.query('show datestyle');
      assert.deepEqual(rows, [{ DateStyle: 'ISO, DMY' }]);
    });
  }

  /** @param {Record<string, any>} given */
  function connectPool(given) {
    const { socketDirectory, config } = database;
    const pool = new Pool({ ...config, host: socketDirectory ?? config.host, ...given });
    opened.push(pool);
    return pool;
  }

  it('keep the order of day and month of the role for dates that the server reads', async () => {
    await setRole({ datestyle: 'SQL, DMY' });
    for (const one of [
      await connect(Client, { user: 'styled' }),
      connectPool({ user: 'styled' }),
    ]) {
      const { rows } = await one.query('select $1::date as d', ['03/04/2024']);
      assert.deepEqual(rows, [{ d: new Date(2024, 3, 3) }]);
    }
  });

  it('are replaced before queries run that were submitted before the connection was open', async () => {
    await setRole({ datestyle: 'SQL, DMY' });
    const { socketDirectory, config } = database;
    const client = new Client({ ...config, host: socketDirectory, user: 'styled' });
    opened.push(client);
    const connected = client.connect();
    const [{ rows }] = await Promise.all([client.query(SHAPE), connected]);
    assert.deepEqual(rows[0].d, new Date(2024, 5, 7));
  });

  it('are preceded by those that onConnect sets', async () => {
    await setRole({});
    const pool = connectPool({
      user: 'styled',
      max: 1,
      onConnect: (client) => client.query("set datestyle = 'SQL, DMY'; set extra_float_digits = 0"),
    });
    for (let run = 0; run < RUNS; ++run) {
      assert.deepEqual((await pool.query(SHAPE)).rows, [{ d: null, f: 0.3 }]);
    }
  });

  it('cost a connection one more query, and none if no floats are read', async () => {
    await setRole({});
    const client = await connect(Client, { user: 'styled' });
    const { counters } = queriesOf(client);
    // With the first statement that it prepares the server is asked whether a pooler is between.
    for (let run = 0; run < 50; ++run) await client.query('select 1 as one');
    const before = counters();
    for (let run = 0; run < 50; ++run) await client.query("select date '2024-06-07' as d");
    assert.equal(counters() - before, 50);
    for (let run = 0; run < 50; ++run) await client.query(SHAPE);
    assert.equal(counters() - before, 101);
  });

  it('are not read in a transaction, whose first query takes its snapshot', async () => {
    await setRole({});
    const client = await connect(Client, { user: 'styled' });
    await client.query('begin');
    for (let run = 0; run < RUNS; ++run) await client.query(SHAPE);
    await client.query('commit');
    for (let run = 0; run < 20; ++run) {
      await client.query('begin isolation level repeatable read');
      await client.query('set transaction isolation level serializable');
      await client.query(SHAPE);
      await assert.rejects(client.query('select 1 / 0'));
      await assert.rejects(client.query(SHAPE), { code: '25P02' });
      await client.query('rollback');
    }
  });

  it('do not keep a query from being cancelled that their own query follows', async () => {
    await setRole({});
    const client = await connect(Client, { user: 'styled' });
    const text = 'select pg_sleep($1::float8), 0.5::float8 as f';
    for (let run = 0; run < 3; ++run) {
      await client.query({ text, values: [0] });
      await client.query('set extra_float_digits = 1');
    }
    const slept = assert.rejects(client.query({ text, values: [20] }), { code: '57014' });
    await until('it sleeps', async () => {
      const { rows } = await admin.query(
        "select 1 from pg_stat_activity where wait_event = 'PgSleep'",
      );
      return rows.length === 1;
    });
    await client.cancel();
    await slept;
    assert.deepEqual((await client.query(SHAPE)).rows[0].f, 0.30000000000000004);
  });

  /** @param {Client} client */
  function queriesOf(client) {
    const { connectionOf } = require('../../lib/client/client');
    const connection = connectionOf(client);
    const before = connection.counters().queries;
    return { counters: () => connection.counters().queries - before };
  }
});
