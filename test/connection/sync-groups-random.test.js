'use strict';

// Sync groups under random scripts: ticks of reads and writes, some of which fail, while tables
// change and backends are terminated. What each promise has told is compared with the tables.
// FAST_CHECK_RUNS=100 runs it for longer.

const assert = require('node:assert/strict');
const fc = require('fast-check');
const { DatabaseError, ParameterError, ResultError } = require('../..');
const { endAll, newPool } = require('../support/connect');
const { driverError } = require('../support/driver-error');
const { applicationName, observeServer } = require('../support/outside');
const { warningsOf } = require('../support/process');
const { TIMES, holds } = require('../support/property');

const RUNS = 12;
const SETTINGS = [
  '-c search_path=conduit_test,public',
  '-c default_transaction_isolation=serializable -c search_path=conduit_test,public',
];

const throwingTypes = {
  getTypeParser: () => () => {
    throw new Error('from a parser');
  },
};

/**
 * What a query may be. Each run of one that writes adds its id to `effects`.
 * - text, values: of a use; `variant` keeps a text apart that has failed
 * - taught: values that do no harm
 * - writes: how many rows of `effects` a success leaves
 * - code: of the error that it must end in
 * - row: what it returns
 */
const KINDS = {
  read: {
    text: () => 'select $1::int as id, $2::text as t',
    values: (id) => [id, `é${id}`],
    row: (id) => ({ id, t: `é${id}` }),
  },
  rows: {
    text: () => 'select $1::int as id, g from generate_series(1, 300) as g',
    values: (id) => [id],
    check: (rows, id) => {
      assert.equal(rows.length, 300);
      for (const [index, row] of rows.entries()) assert.deepEqual(row, { id, g: index + 1 });
    },
  },
  insert: {
    text: () => 'insert into effects values ($1) returning id',
    values: (id) => [id],
    row: (id) => ({ id }),
    writes: 1,
  },
  update: {
    text: () =>
      'with c as (update counters set n = n + 1 where id = $2::int returning id) ' +
      'insert into effects select $1::int from c returning id',
    values: (id) => [id, id % 3],
    row: (id) => ({ id }),
    writes: 1,
  },
  volatile: {
    text: () => 'select remember($1::int) as id',
    values: (id) => [id],
    row: (id) => ({ id }),
    writes: 1,
  },
  'duplicate key': {
    text: (variant) =>
      'with k as (insert into keyed values ($2::int) returning id) ' +
      `insert into effects select $1::int from k -- ${variant}`,
    values: (id) => [id, 0],
    taught: (unique) => [-1, unique],
    code: '23505',
  },
  'deferred constraint': {
    text: (variant) =>
      'with c as (insert into child values ($2::int) returning parent) ' +
      `insert into effects select $1::int from c -- ${variant}`,
    values: (id) => [id, 42],
    taught: () => [-1, 1],
    code: '23503',
  },
  'division by zero': {
    text: (variant) => `select remember($1::int), 1 / $2::int -- ${variant}`,
    values: (id) => [id, 0],
    taught: () => [-1, 1],
    code: '22012',
  },
  exception: {
    text: (variant) => `select fails($1::int, $2::boolean) -- ${variant}`,
    values: (id) => [id, true],
    taught: () => [-1, false],
    code: 'P0001',
  },
  'changing table': {
    text: () => 'select $1::int as id, remember($1::int) as remembered, changing.* from changing',
    values: (id) => [id],
    check: (rows, id) => {
      assert.equal(rows.length, 1);
      assert.equal(rows[0].id, id);
      assert.equal(rows[0].remembered, id);
      assert.equal(rows[0].a, 1);
    },
    writes: 1,
  },
  'no statements': {
    text: () => 'select forget_statements()',
    values: () => [],
    taught: () => [],
  },
  'NUL character': {
    text: () => 'select remember($1::int), $2::text',
    values: (id) => [id, '\0'],
    taught: () => [-1, 'none'],
    refused: true,
  },
  'throwing parser': {
    text: () => 'select remember($1::int) as id',
    values: (id) => [id],
    types: throwingTypes,
    unreadable: true,
    writes: 1,
  },
  'end of its session': {
    text: (variant) =>
      `select case when $2::boolean then pg_terminate_backend(pg_backend_pid()) end, remember($1::int) -- ${variant}`,
    values: (id) => [id, true],
    taught: () => [-1, false],
    ends: true,
  },
};

const kind = fc.oneof(
  { arbitrary: fc.constantFrom('read', 'insert', 'volatile'), weight: 12 },
  { arbitrary: fc.constantFrom('rows', 'update', 'changing table'), weight: 4 },
  {
    arbitrary: fc.constantFrom(
      'duplicate key',
      'deferred constraint',
      'division by zero',
      'exception',
      'NUL character',
      'throwing parser',
    ),
    weight: 1,
  },
);

const tick = fc.record({
  kinds: fc.array(kind, { minLength: 10, maxLength: 120 }),
  special: fc.oneof(
    { arbitrary: fc.constant('none'), weight: 4 },
    {
      arbitrary: fc.constantFrom('no statements', 'end of its session', 'terminate', 'alter'),
      weight: 3,
    },
  ),
  at: fc.nat(1000),
  turns: fc.nat(3),
});

const script = fc.record({
  max: fc.integer({ min: 1, max: 3 }),
  syncGroup: fc.constantFrom('all', 'reads'),
  prepare: fc.boolean(),
  statementCacheSize: fc.constantFrom(256, 4),
  prepareThreshold: fc.constantFrom(2, 1),
  // It is one server, whether the pool is told so or finds out.
  distributed: fc.constantFrom(false, undefined),
  settings: fc.constantFrom(0, 0, 0, 1),
  // Each is a tick; those of a round follow each other without waiting for answers.
  rounds: fc.array(fc.array(tick, { minLength: 1, maxLength: 3 }), { minLength: 1, maxLength: 4 }),
});

describe('Sync groups under random scripts', function () {
  this.timeout(this.timeout() + 5000 * RUNS * TIMES);

  const observer = observeServer();
  afterEach(endAll);

  before(() =>
    observer.ask(`
      set search_path to conduit_test;
      create table effects (id int);
      create table keyed (id int primary key);
      create table counters (id int primary key, n int default 0);
      create table parents (id int primary key);
      create table child (parent int references parents deferrable initially deferred);
      create table changing (a int);
      insert into counters values (0), (1), (2);
      insert into parents values (1);
      insert into changing values (1);
      create function remember(int) returns int language plpgsql as
        'begin insert into effects values ($1); return $1; end';
      create function fails(int, boolean) returns int language plpgsql as $$
        begin
          insert into effects values ($1);
          if $2 then raise 'failed on purpose'; end if;
          return $1;
        end $$;
      create function forget_statements() returns int language plpgsql as
        $$ begin execute 'deallocate all'; return 1; end $$;
    `),
  );

  let nextId = 1;
  let nextUnique = 1;
  let columns = 0;
  const sent = { queries: 0, syncs: 0 };
  const told = { fulfilled: 0, 'not-run': 0, unknown: 0 };

  function textOf(name, variant) {
    return KINDS[name].text(variant);
  }

  /** Runs every text a few times, until most of them are known as cheap. */
  async function teachAll(pool, names, variants) {
    for (let use = 0; use < 4; ++use) {
      const queries = [];
      for (const name of names) {
        const { values, taught = () => values(-1), code, ends, refused } = KINDS[name];
        const count = code !== undefined || ends || refused ? variants : 1;
        for (let variant = 0; variant < count; ++variant) {
          queries.push(pool.query(textOf(name, variant), taught(nextUnique++)));
        }
      }
      await Promise.all(queries);
    }
  }

  function issue(pool, name, variant) {
    const { values, types } = KINDS[name];
    const id = nextId++;
    const promise = pool.query({ text: textOf(name, variant), values: values(id), types });
    return { id, name, promise };
  }

  /** Adds a column to a table, or drops it. */
  function alter() {
    return observer.ask(
      columns++ % 2 === 0
        ? 'alter table conduit_test.changing add column b int'
        : 'alter table conduit_test.changing drop column b',
    );
  }

  function terminateAll(name) {
    return observer.ask(
      'select pg_terminate_backend(pid) from pg_stat_activity where application_name = $1',
      [name],
    );
  }

  /** What a promise may have ended in, and what must be in the table then. */
  function check({ id, name }, { status, value, reason }, count, { mayBeLost, distributed }) {
    const { row, check: checkRows, writes = 0, code, refused, unreadable, ends } = KINDS[name];
    const what = `${name} ${id}: ${reason ?? 'fulfilled'}, ${reason?.outcome}, ${count} times`;
    if (status === 'fulfilled') {
      assert.ok(code === undefined && !refused && !unreadable && !ends, what);
      assert.equal(count, writes, what);
      if (row !== undefined) assert.deepEqual(value.rows, [row(id)], what);
      checkRows?.(value.rows, id);
      ++told.fulfilled;
      return;
    }
    ++told[reason.outcome];
    if (reason.outcome === 'not-run') assert.equal(count, 0, what);
    else assert.ok(reason.outcome === 'unknown' && count <= 1, what);
    const ours = driverError(reason);
    if (ours instanceof ParameterError) {
      assert.ok(refused, what);
    } else if (ours instanceof ResultError) {
      assert.ok(unreadable && count === 1, what);
    } else if (reason instanceof DatabaseError) {
      // A connection that is lost cannot be asked any more whether the database is one server.
      if (!mayBeLost || distributed === false) assert.equal(reason.outcome, 'not-run', what);
      // At the level serializable others may be to blame; what was never sent gets the server's
      // last words on its connection.
      const isLost = mayBeLost && reason.code === '57P01';
      assert.ok(reason.code === code || reason.code === '40001' || isLost, what);
    } else {
      assert.ok(mayBeLost, what);
    }
  }

  it('every promise settles with what has become of its query, and no pooler is suspected', async () => {
    const runs = () =>
      holds(
        fc.asyncProperty(script, async (given) => {
          const { settings, rounds, ...options } = given;
          const { distributed } = options;
          const application = applicationName();
          const pool = newPool({
            ...options,
            application_name: application,
            options: SETTINGS[settings],
          });
          const variants = rounds.flat().length;
          await observer.ask(
            'truncate conduit_test.keyed; insert into conduit_test.keyed values (0)',
          );
          await teachAll(
            pool,
            Object.keys(KINDS).filter((name) => name !== 'throwing parser'),
            variants,
          );
          const before = pool.stats();
          await observer.ask('truncate conduit_test.effects');

          const issued = [];
          // One after the other: it is one connection.
          let outside = Promise.resolve();
          let variant = 0;
          let mayBeLost = false;
          for (const ticks of rounds) {
            const settled = [];
            for (const { kinds, special, at, turns } of ticks) {
              // Those of one text share a Sync.
              const names = kinds.flatMap((name) => [name, name, name]);
              const isMember = special in KINDS;
              if (isMember) names.splice(at % names.length, 0, special, special);
              mayBeLost ||= special === 'terminate' || special === 'end of its session';
              for (const name of names) issued.push(issue(pool, name, variant));
              ++variant;
              // Listened to before anything can fail.
              settled.push(Promise.allSettled(issued.map(({ promise }) => promise)));
              for (let turn = 0; turn < turns; ++turn) await new Promise(setImmediate);
              if (special === 'terminate') outside = outside.then(() => terminateAll(application));
              if (special === 'alter') outside = outside.then(alter);
            }
            await Promise.all([...settled, outside]);
          }

          const outcomes = await Promise.allSettled(issued.map(({ promise }) => promise));
          const after = pool.stats();
          await pool.end();
          // A backend that was cut off may still be at its last words.
          for (let left = 1; left > 0;) left = (await observer.backends(application)).length;
          sent.queries += after.queries - before.queries;
          sent.syncs += after.syncs - before.syncs;
          const counts = new Map();
          const rows = await observer.ask(
            'select id, count(*)::int as n from conduit_test.effects group by id',
          );
          for (const { id, n } of rows) counts.set(id, n);
          for (const [index, query] of issued.entries()) {
            check(query, outcomes[index], counts.get(query.id) ?? 0, { mayBeLost, distributed });
          }
        }),
        RUNS,
      );
    assert.deepEqual(await warningsOf(runs), []);
    // Groups there were.
    const summary = JSON.stringify({ ...sent, ...told });
    assert.ok(sent.queries - sent.syncs > 50, summary);
    assert.ok(told.fulfilled > 0 && told['not-run'] > 0, summary);
    if (TIMES > 1) console.log(`      ${summary}`);
  });
});
