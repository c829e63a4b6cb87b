'use strict';

// Callers of a pool's shared connections leave nothing behind in the sessions of the server.
// Random texts combine statements that would, and ways to hide them; then each session is
// compared with a new one.

const assert = require('node:assert/strict');
const fc = require('fast-check');
const { StatementRefusedError } = require('../..');
const { countPrepared, newPool } = require('../support/connect');
const { errorOf, outcomeOf } = require('../support/outcomes');
const { holds } = require('../support/property');
const { usePools } = require('../support/pools');

/** What a session has that a new one has not; prepared statements are the driver's own. */
const STATE = `select json_build_object(
  'settings', (select json_object_agg(name, setting order by name) from pg_settings
    where source = 'session' or name like 'conduit.%'),
  'custom', current_setting('conduit.marker', true),
  'timezone', current_setting('TimeZone'),
  'locks', (select count(*) from pg_locks where locktype = 'advisory' and pid = pg_backend_pid()),
  'temporary', (select json_agg(c.relname order by c.relname) from pg_class c
    where c.relpersistence = 't' and c.relnamespace = pg_my_temp_schema()),
  'types', (select count(*) from pg_type where typnamespace = pg_my_temp_schema()),
  'routines', (select count(*) from pg_proc where pronamespace = pg_my_temp_schema()),
  'cursors', (select count(*) from pg_cursors where is_holdable),
  'channels', (select json_agg(c) from pg_listening_channels() c),
  'statements', (select json_agg(name) from pg_prepared_statements where name not like 'pgc\\_%')
)::text as state`;

/** A custom setting that was ever set is '' ever after, which no reset takes back. */
const normal = (state) => state.replace('"custom" : ""', '"custom" : null');

const LOCKS = [
  'pg_advisory_lock(7)',
  'pg_try_advisory_lock(1, 2)',
  '"pg_advisory_lock_shared" (3)',
];
const THIRD = [
  'false',
  "'f'",
  'false::bool',
  '(false)',
  'null',
  '0::bool',
  'not true',
  'true',
  '1 = 2',
];
const NAMES = ['work_mem', 'TimeZone', 'conduit.marker'];
const VALUES = { work_mem: "'77kB'", TimeZone: "'Asia/Tokyo'", 'conduit.marker': "'x'" };
const setConfigs = NAMES.flatMap((name) =>
  THIRD.map((third) => `set_config('${name}', ${VALUES[name]}, ${third})`),
);
const call = fc.constantFrom(
  ...LOCKS,
  ...setConfigs,
  'U&"pg\\005fadvisory_lock"(8)',
  `U&"set!005fconfig" UESCAPE '!' ('work_mem', '78kB', false)`,
  'pg_catalog . pg_advisory_lock /* sic */ (9)',
  "query_to_xml('select pg_advisory_lock(10)', true, true, '')",
  "set_config('work_mem', set_config('conduit.marker', '79kB', false), true)",
);

/** Before what follows in a list of values: literals that may hide it, or be taken for it. */
const prefix = fc.constantFrom(
  ...['', "'it''s', ", "'C:\\', ", "E'it\\'s', ", "E'a'\n'b\\'', ", "E'a' -- x\n '\\\\', "],
  ...['$a$ ; $a$, ', '/* a */ 1, ', "'a' -- '\n, ", `'${'x'.repeat(66_000)}', `, "U&'\\0041', "],
);

const query = fc.oneof(
  fc.tuple(prefix, call).map(([before, what]) => `select ${before}${what}`),
  call.map((what) => `values (${what})`),
  call.map((what) => `with x as (select ${what} as y) select * from x`),
  call.map((what) => `with x as materialized (select ${what} as y) select count(*) from x`),
  call.map((what) => `insert into kept select (${what} is null)::int`),
  call.map((what) => `update kept set n = 1 where (${what}) is null`),
  call.map((what) => `select 1 where (${what}) is not null`),
  call.map((what) => `(select (${what})::text) union all (select 'x')`),
);

const temporary = fc.constantFrom(
  ...[
    'create temp table x (n int)',
    'create table pg_temp .x (n int)',
    'select 1 as n into temp x',
  ],
  ...['create view "pg_temp" . x as select 1 as n', 'create type pg_temp /* */ . x as (n int)'],
  ...['select 1 as n into table pg_temp. x', 'create temporary table x as select 1 as n'],
  ...['create function pg_temp .x() returns int language sql as $$ select 1 $$'],
  ...['create sequence pg_temp.x', 'create table U&"pg_temp".x (n int)'],
  ...['create local temp view x as select 1 as n', 'select 1 as n into local temporary x'],
);

const EXPLAINS = [
  'explain analyze',
  'explain (analyze)',
  'explain (verbose, analyze on)',
  'explain',
];
const explained = fc
  .tuple(fc.constantFrom(...EXPLAINS), fc.oneof(query, temporary))
  .map((parts) => parts.join(' '));

const statement = fc.constantFrom(
  ...["set work_mem = '80kB'", 'listen conduit_shared', 'prepare conduit_p as select 1'],
  ...["set session time zone 'Asia/Tokyo'", "set conduit.marker = 'y'", 'set role none'],
  ...[
    'declare conduit_c cursor with hold for select 1',
    "update pg_settings set setting = '81' where name = 'work_mem'",
  ],
  ...["update only pg_catalog . pg_settings set setting = '82' where name = 'work_mem'"],
  ...['create table pg_temp.x (n int)'],
);

const body = fc.oneof(
  statement.filter((text) => !/^declare|^listen/.test(text)),
  temporary.filter((text) => text.startsWith('create')),
  call.map((what) => `perform ${what}`),
  fc.constantFrom("execute 'set work_' || 'mem = ''83kB'''", "execute 'listen conduit_shared'"),
);
const block = fc
  .tuple(body, fc.constantFrom('dollars', 'tag', 'quotes', 'escapes', 'language'))
  .map(([code, how]) => {
    const text = ` begin ${code}; end `;
    if (how === 'dollars') return `do $$${text}$$`;
    if (how === 'tag') return `do $tag$${text}$tag$`;
    if (how === 'quotes') return `do '${text.replaceAll("'", "''")}'`;
    if (how === 'language') return `do language plpgsql $$${text}$$`;
    // Each letter by its number.
    const hidden = [...text].map((c) => `\\x${c.charCodeAt(0).toString(16).padStart(2, '0')}`);
    return `do E'${hidden.join('')}'`;
  });

const text = fc
  .tuple(
    fc.constantFrom('', '', '-- set\n', '/* ; */ ', ';'),
    fc.oneof(query, temporary, explained, statement, block),
    fc.constantFrom('', ';', ' -- done'),
  )
  .map((parts) => parts.join(''));

/** One statement, several in a text, a batch, values, or rows as they come. */
const attack = fc.oneof(
  text.map((sql) => (pool) => pool.query(sql)),
  text.map((sql) => (pool) => pool.query({ text: sql, name: `conduit ${sql.length}` })),
  fc.tuple(text, text).map(
    ([a, b]) =>
      (pool) =>
        pool.query(`${a};\n${b}`),
  ),
  fc.tuple(text, text).map(
    ([a, b]) =>
      (pool) =>
        pool.batch([a, 'select 1', b]),
  ),
  text.map((sql) => (pool) => pool.stream(sql).toArray()),
  query.map((sql) => (pool) => pool.copyTo(`copy (${sql}) to stdout`).toArray()),
  fc
    .constantFrom('f', 'false', 'no', null, 'true')
    .map(
      (third) => (pool) =>
        pool.query("select set_config('work_mem', $1, $2::bool)", ['84kB', third]),
    ),
);

describe('The sessions of shared connections', function () {
  this.timeout(60_000);

  const observer = usePools();
  before(() => observer.makeTable('kept', 'n int'));

  /** @param {any} pool */
  async function states(pool) {
    const clients = await Promise.all(Array.from({ length: 2 }, () => pool.connect()));
    try {
      return await Promise.all(
        clients.map(async (client) => {
          const { rows } = await client.query({ text: STATE, prepare: false });
          return normal(rows[0].state);
        }),
      );
    } finally {
      for (const client of clients) client.release();
    }
  }

  it('are unchanged, whatever was sent to the pool', async () => {
    const pool = newPool({ max: 2 });
    const expected = await states(pool);
    const property = fc.asyncProperty(
      fc.array(attack, { minLength: 1, maxLength: 6 }),
      async (attacks) => {
        await Promise.all(attacks.map((run) => outcomeOf(Promise.resolve().then(() => run(pool)))));
        assert.deepEqual(await states(pool), expected);
      },
    );
    await holds(property, 60);
  });

  it('are unchanged under standard_conforming_strings = off', async () => {
    const pool = newPool({
      max: 2,
      options:
        '-c search_path=conduit_test,public -c standard_conforming_strings=off -c escape_string_warning=off',
    });
    const expected = await states(pool);
    for (const sql of [
      "select 'a\\'' , pg_advisory_lock(1) --'",
      "select 'a\\'' , set_config('work_mem', '85kB', false) --'",
      "select 'a'' \\' ' || $$x$$, 'b\\'', pg_advisory_lock(2) --'",
    ]) {
      await outcomeOf(pool.query(sql));
      assert.deepEqual(await states(pool), expected, sql);
    }
  });

  it('are reset before the next waiting query runs', async () => {
    const pool = newPool({ max: 1 });
    await pool.query('select 1');
    const answers = await Promise.all([
      pool.query("do $$ begin perform pg_sleep(0.05); set work_mem = '86kB'; end $$"),
      ...Array.from({ length: 20 }, () => pool.query('show work_mem')),
      pool.query("do 'begin set work_mem = ''87kB''; end'"),
      ...Array.from({ length: 20 }, () => pool.query('show work_mem')),
    ]);
    for (const { rows } of answers) for (const row of rows) assert.notEqual(row.work_mem, '86kB');
    for (const { rows } of answers) for (const row of rows) assert.notEqual(row.work_mem, '87kB');
  });

  it("are closed instead, if a 'connect' listener has configured them", async () => {
    const pool = newPool({ max: 1 });
    pool.on('connect', (client) => client.query("set work_mem = '88kB'"));
    await pool.query("do $$ begin set work_mem = '89kB'; end $$");
    assert.deepEqual((await pool.query('show work_mem')).rows, [{ work_mem: '88kB' }]);
  });

  it('are not reset after statements that cannot change them', async () => {
    const pool = newPool({ max: 1, prepareThreshold: 1 });
    await pool.query('select 1 as one');
    const harmless = [
      'do $$ begin insert into kept values (1); end $$',
      "select set_config('work_mem', '90kB', true)",
      'select name from pg_settings limit 1',
      'explain analyze select 1',
      'notify conduit_shared',
      'create table harmless (temp int)',
    ];
    for (const sql of harmless) {
      await pool.query(sql);
      // DDL makes them anew, a reset takes them away.
      if (!sql.startsWith('create')) assert.ok((await countPrepared(pool)) > 0, sql);
    }
  });

  it('are reset when a client is released that has run a DO block', async () => {
    const pool = newPool({ max: 1 });
    const expected = await states(newPool({ max: 2 }));
    const client = await pool.connect();
    await client.query("do $$ begin set work_mem = '91kB'; perform pg_advisory_lock(4); end $$");
    client.release();
    const again = await pool.connect();
    const { rows } = await again.query({ text: STATE, prepare: false });
    again.release();
    assert.equal(normal(rows[0].state), expected[0]);
  });

  it('refuse session locks and settings that are visible in the text', async () => {
    const pool = newPool({ max: 1 });
    for (const sql of [
      'select pg_advisory_lock(1)',
      "select set_config('work_mem', '92kB', $1)",
      'explain analyze create temp table x as select 1',
      'create view pg_temp .x as select 1',
    ]) {
      const error = await errorOf(pool.query(sql, sql.includes('$1') ? ['f'] : []));
      assert.ok(error instanceof StatementRefusedError, sql);
      assert.equal(error.outcome, 'not-run');
    }
  });
});
