'use strict';

// lib/statements/schema-change.js: how a text changes the schema, decided by the text alone; and the purpose of that: afterwards, prepared
// statements read the same tables as unprepared ones, here those of `pg`. Changes by others: test/connection/migrations.test.js.

const assert = require('node:assert/strict');
const { findSchemaChange, hasOpenColumns } = require('../../lib/statements/schema-change');
const { splitStatements } = require('../../lib/statements/split');
const { endAll, newClient, newPool, options, resetSchema } = require('../support/connect');
const { EXECUTIONS, closeReference, openReference, withPg } = require('../support/like-pg');

describe('A text', () => {
  const TEXTS = {
    none: [
      ...[
        '',
        ';',
        'select 1',
        '(select 1) union (select 2)',
        'values (1)',
        'table t',
        'show work_mem',
      ],
      ...['insert into t select 1', 'with w as (select 1) insert into t select * from w'],
      ...[
        'with w as (insert into t values (1) returning *) select * from w',
        'merge into t using s',
      ],
      ...["select 'into t'", 'select "into" from t', 'select 1 /* into t */', 'update t set a = 1'],
      ...[
        'begin',
        'commit',
        'rollback to a',
        "rollback prepared 'g'",
        'copy t from stdin',
        'call p()',
      ],
      ...['set local app.tenant = 1', 'set statement_timeout to 5', "set application_name = 'a'"],
      ...['set transaction read only', 'set session characteristics as transaction read only'],
      ...['set constraints all deferred', "select set_config('app.tenant', $1, true)"],
      ...["do $$ begin raise notice 'x'; end $$", 'discard plans', 'explain (analyze) select 1'],
      ...['deallocate a', 'vacuum t', 'truncate t', 'lock table t', 'grant select on t to u'],
    ],
    session: [
      ...['create temp table t as select 1', 'CREATE TEMPORARY VIEW v AS SELECT 1'],
      ...['create or replace temp view v as select 1', 'create local temp sequence s'],
      ...['/* a */ create /* b */ global -- c\n temporary table t (a int)'],
      ...['select 1 into temp t', 'select 1 into temporary table t', 'select 1 into local temp t'],
      ...[
        'with w as (select 1) select * into temp "T" from w',
        'explain analyze create temp table t as select 1',
      ],
      ...['explain (analyze, costs off) select 1 into temp t', 'set search_path to a', 'reset all'],
      ...["select set_config('search_path', 'a', false)", 'select set_config($1, $2, true)'],
      ...["select set_config('app.a', '', true), set_config('role', 'x', true)", 'discard temp'],
      ...["update pg_settings set setting = 'a' where name = 'search_path'", "load 'auto_explain'"],
      ...[
        'set local role a',
        'set session authorization a',
        'set time zone utc',
        'select 1; set datestyle to sql',
      ],
      ...['do $$ begin set local search_path to a; end $$', 'deallocate all; select 1'],
    ],
    schema: [
      ...['select 1 as insert into t', 'with w as (select 1) select (1) merge into t'],
      ...[
        'create table t (a int)',
        'create table t as select 1',
        'create unlogged table t as table s',
      ],
      ...[
        'select 1 into t',
        'select 1 as a into temp from t',
        'select 1 into temp',
        'alter table t add a int',
      ],
      ...['with w as (select 1) select * into t from w', '(select 1 into t)', 'drop view v'],
      ...['explain analyze create table t as select 1', 'explain verbose select 1 into t'],
      ...['explain (analyze, format json) create materialized view m as select 1'],
      ...['import foreign schema a from server s into b', "commit prepared 'g'", 'create schema s'],
      ...["do $$ begin execute 'x'; end $$", "do 'begin create table t (); end'"],
      ...[
        'select 1; create table t (a int); select 2',
        'begin; drop table t; commit',
        'no such statement',
      ],
    ],
  };
  for (const [change, texts] of Object.entries(TEXTS)) {
    for (const text of texts) {
      it(`is classified as a change of ${change}: ${JSON.stringify(text)}`, () => {
        assert.equal(findSchemaChange(splitStatements(text)), change);
      });
    }
  }

  it('has open columns if they depend on the definition of a table', () => {
    for (const text of [
      ...[
        'select * from t',
        'SELECT t.* FROM t',
        'select 1, * from t',
        'table t',
        'select all * from t',
      ],
      ...['select distinct on (a) * from t', 'update t set a = 1 returning *', 'select (f(1)).*'],
      ...['with w as (table t) select a from w', 'select"t".*from"t"', 'select /* a */ * from t'],
    ]) {
      assert.equal(hasOpenColumns(text), true, text);
    }
    for (const text of [
      ...[
        'select 1',
        'select count(*) from t',
        'select a * 2 from t',
        "select '*'",
        'select a /* * */',
      ],
      ...['select 2*3', 'insert into t values ($1) returning id'],
    ]) {
      assert.equal(hasOpenColumns(text), false, text);
    }
  });
});

describe('A prepared text', () => {
  /** @type {import('pg').Client} */
  let other;
  before(async () => {
    await resetSchema();
    other = await openReference();
    await other.query('create table hidden (v text)');
    await other.query("insert into hidden values ('old')");
  });
  afterEach(endAll);
  after(closeReference);

  const READ = 'select * from hidden';
  const NAMED = 'select v from hidden where v is not null';
  const COUNT = 'select count(*)::int as n from hidden';
  /** Makes the schema pg_temp, whose coming PostgreSQL itself would notice. */
  const FIRST = 'create temp table first_one (a int)';

  const SCRIPTS = {
    'CREATE TEMP TABLE AS': ["create temp table hidden as select 'new'::text as v"],
    'CREATE TABLE pg_temp.t': ['create table pg_temp.hidden (v text)'],
    'SELECT INTO TEMP': ["select 'new'::text as v into temp hidden"],
    'WITH … SELECT INTO TEMPORARY': [
      "with w as (select 'new'::text as v) select * into temporary table hidden from w",
    ],
    'CREATE TEMP VIEW': ["create temp view hidden as select 'new'::text as v"],
    'other columns': ["create temp table hidden as select 1 as a, 'new'::text as v"],
    'EXPLAIN ANALYZE CREATE TEMP TABLE AS': [
      "explain analyze create temp table hidden as select 'new'::text as v",
    ],
    'several statements': [
      "select 1; create temp table hidden as select 'new'::text as v; select 2",
    ],
    'a DO block': ["do $$ begin create temp table hidden as select 'new'::text as v; end $$"],
    RENAME: ["create temp table h2 as select 'new'::text as v", 'alter table h2 rename to hidden'],
    'DROP again': [
      "create temp table hidden as select 'new'::text as v",
      READ,
      'drop table hidden',
    ],
    'DISCARD TEMP': ["create temp table hidden as select 'new'::text as v", READ, 'discard temp'],
    'a transaction': ['begin', "select 'new'::text as v into temp hidden", READ, 'commit'],
    'ON COMMIT DROP': [
      'begin',
      "create temp table hidden on commit drop as select 'new'::text as v",
      NAMED,
      'commit',
    ],
    'a ROLLBACK': [
      'begin',
      "create temp table hidden as select 'new'::text as v",
      NAMED,
      'rollback',
    ],
    'a ROLLBACK TO': [
      'begin',
      'savepoint a',
      "create temp table hidden as select 'new'::text as v",
      NAMED,
      'rollback to a',
      NAMED,
      'commit',
    ],
    'a transaction that fails': [
      'begin',
      "create temp table hidden as select 'new'::text as v",
      NAMED,
      'select 1/0',
      'commit',
    ],
    'a text that fails': [
      "create temp table hidden as select 'new'::text as v",
      'create temp table hidden (a int)',
    ],
    'SET LOCAL search_path': [
      'begin',
      'set local search_path to pg_catalog',
      'savepoint a',
      'rollback to a',
      'set local search_path to conduit_test',
      NAMED,
      'rollback',
    ],
  };

  /** What all of it is answered with. */
  async function answersOf(client, steps, isPipelined) {
    const answers = [];
    const run = async (text) => {
      try {
        const result = await client.query(text);
        return (Array.isArray(result) ? result : [result]).map(({ rows }) =>
          text.startsWith('explain') ? 'a plan' : rows,
        );
      } catch (error) {
        return error.code;
      }
    };
    if (isPipelined) return Promise.all(steps.map(run));
    for (const step of steps) answers.push(await run(step));
    return answers;
  }

  for (const [title, script] of Object.entries(SCRIPTS)) {
    const reads = [READ, NAMED, COUNT];
    const steps = [...script.flatMap((text) => [text, ...reads]), ...reads, ...reads];
    const warm = [FIRST, ...Array.from({ length: EXECUTIONS }, () => reads).flat()];

    for (const isPipelined of [false, true]) {
      const how = isPipelined ? 'in one pipeline' : 'one by one';
      for (const kind of ['a client', 'a checked-out client']) {
        it(`reads the same as an unprepared one after ${title}, ${how}, on ${kind}`, async () => {
          const expected = await withPg(async (pg) => {
            await answersOf(pg, warm, false);
            return answersOf(pg, steps, false);
          });
          const pool = newPool({ max: 2 });
          const client = kind === 'a client' ? await newClient() : await pool.connect();
          try {
            await answersOf(client, warm, false);
            assert.deepEqual(await answersOf(client, steps, isPipelined), expected);
          } finally {
            client.release?.();
          }
          for (let i = 0; i < EXECUTIONS; ++i) {
            assert.deepEqual((await pool.query(NAMED)).rows, [{ v: 'old' }]);
          }
        });
      }
    }
  }

  it('reads the new table in a batch, after the statement that creates it, and the old one after a rollback', async () => {
    const client = await newClient();
    await answersOf(client, [FIRST, ...new Array(EXECUTIONS).fill(NAMED)], false);
    const make = "create temp table hidden as select 'new'::text as v";
    await assert.rejects(client.batch([NAMED, make, NAMED, 'select 1/0']), { code: '22012' });
    assert.deepEqual((await client.query(NAMED)).rows, [{ v: 'old' }]);
    const results = await client.batch([NAMED, make, NAMED]);
    assert.deepEqual([results[0].rows, results[2].rows], [[{ v: 'old' }], [{ v: 'new' }]]);
    assert.deepEqual((await client.query(NAMED)).rows, [{ v: 'new' }]);
  });

  it('reads the new table in pool.transaction(), and the old one after a rollback', async () => {
    const pool = newPool({ max: 1 });
    for (let i = 0; i < EXECUTIONS; ++i) await pool.query(NAMED);
    await pool
      .transaction(async (tx) => {
        await tx.query(FIRST);
        assert.deepEqual((await tx.query(NAMED)).rows, [{ v: 'old' }]);
        await tx.query("create temp table hidden as select 'new'::text as v");
        for (let i = 0; i < EXECUTIONS; ++i) {
          assert.deepEqual((await tx.query(NAMED)).rows, [{ v: 'new' }]);
        }
        throw new Error('undone');
      })
      .catch(() => {});
    for (let i = 0; i < EXECUTIONS; ++i) {
      assert.deepEqual((await pool.query(NAMED)).rows, [{ v: 'old' }]);
    }
  });

  for (const [how, make] of Object.entries({
    'CREATE TABLE AS': (pool) => pool.query("create table s1.log as select 'new'::text as v"),
    'SELECT INTO': (pool) => pool.query("select 'new'::text as v into s1.log"),
    'a transaction': (pool) =>
      pool.transaction((tx) => tx.query("select 'new'::text as v into s1.log")),
    'a pipeline of a client': async (pool) => {
      const client = await pool.connect();
      const texts = ['begin', "create table s1.log as select 'new'::text as v", 'commit'];
      await Promise.all(texts.map((text) => client.query(text)));
      client.release();
    },
    'a batch': (pool) => pool.batch(["create table s1.log as select 'new'::text as v"]),
  })) {
    it(`reads on each connection the new table that is first in search_path, made by ${how}`, async () => {
      await other.query('drop schema if exists s1 cascade');
      await other.query('drop schema if exists s2 cascade');
      await other.query('create schema s1 create table s1.other (a int)');
      await other.query('create schema s2');
      await other.query("create table s2.log as select 'old'::text as v");
      const pool = newPool(options({ max: 3, options: '-c search_path=s1,s2' }));
      const clients = await Promise.all([pool.connect(), pool.connect()]);
      const text = 'select v from log';
      const readAll = async (v) => {
        for (const one of [...clients, pool]) {
          for (let i = 0; i < EXECUTIONS; ++i) {
            assert.deepEqual((await one.query(text)).rows, [{ v }]);
          }
        }
      };
      try {
        await readAll('old');
        await make(pool);
        await readAll('new');
      } finally {
        for (const client of clients) client.release();
      }
      await other.query('drop schema s1, s2 cascade');
    });
  }
});
