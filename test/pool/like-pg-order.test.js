'use strict';

// A pool with one connection runs statements in the order of their calls, as that of `pg` does: code that does not await
// them gets the same answers from both.

const assert = require('node:assert/strict');
const fc = require('fast-check');
const pg = require('pg');
const conduit = require('../..');
const { options, resetSchema } = require('../support/connect');
const { holds } = require('../support/property');

/** @type {any[]} */
let opened = [];

function newPool(driver, given) {
  const pool = new driver.Pool(options({ max: 1, ...given }));
  opened.push(pool);
  return pool;
}

/** What it says of each statement; none is awaited before the next one. */
function answers(pool, texts) {
  const rowsOf = (result) => [result].flat().map(({ command, rows }) => [command, rows]);
  return Promise.all(texts.map((text) => pool.query(text).then(rowsOf, (error) => error.code)));
}

async function sameInBoth(texts) {
  await resetSchema();
  const expected = await answers(newPool(pg), texts);
  await resetSchema();
  assert.deepEqual(await answers(newPool(conduit), texts), expected);
  return expected;
}

const STATEMENTS = [
  'create table t (i int)',
  'drop table if exists t',
  'alter table t add column if not exists j int',
  'create index if not exists t_i on t (i)',
  'insert into t (i) values (1), (2)',
  'insert into t (i) values (3); update t set i = i + 1',
  'update t set i = i + 1 where i > 1',
  'delete from t where i = 2',
  'select * from t order by i',
  'select count(*)::int from t',
  'truncate t',
];

describe('statements for a pool with one connection that nobody awaits', () => {
  before(resetSchema);
  afterEach(async () => {
    const pools = opened;
    opened = [];
    await Promise.all(pools.map((pool) => pool.end()));
  });

  it('run in their order, DDL and DML', async () => {
    const expected = await sameInBoth([
      'create table t (i int)',
      'insert into t values (1)',
      'alter table t add column j int',
      'update t set j = 2 * i',
      'select i, j from t',
      'drop table t; select 1 as one',
      "select to_regclass('t') as gone",
    ]);
    assert.deepEqual(expected.at(-1), [['SELECT', [{ gone: null }]]]);
  });

  it('run in their order, whatever they are', async function whatever() {
    this.timeout(30_000);
    const script = fc.array(fc.constantFrom(...STATEMENTS), { minLength: 2, maxLength: 12 });
    const run = async (texts) => void (await sameInBoth(texts));
    await holds(fc.asyncProperty(script, run), 10);
  });

  it('run before and behind a checkout, by the time of its call', async () => {
    for (const driver of [pg, conduit]) {
      await resetSchema();
      const pool = newPool(driver);
      const count = async (queryable) => {
        const { rows } = await queryable.query('select count(*)::int as n from t');
        return rows[0].n;
      };
      const borrow = async () => {
        const client = await pool.connect();
        const seen = await count(client);
        await client.query('insert into t values (2)');
        client.release();
        return seen;
      };
      const counts = await Promise.all([
        pool.query('create table t (i int)'),
        count(pool),
        pool.query('insert into t values (1)'),
        borrow(),
        count(pool),
      ]);
      assert.deepEqual([counts[1], counts[3], counts[4]], [0, 1, 2]);
    }
  });
});
