'use strict';

// lib/statements/known-functions.js: which statements are known to do nothing but read.

const assert = require('node:assert/strict');
const { callsKnownFunctionsOnly } = require('../../lib/statements/known-functions');

describe('callsKnownFunctionsOnly()', () => {
  for (const text of [
    'select 1',
    'select id, n from t where id = $1',
    'SELECT count(*), max(n), coalesce(sum(n), 0) FROM t WHERE id IN ($1, $2) GROUP BY (n)',
    'with x as (select 1) select * from x where exists (select 1) and (a or (b))',
    'select cast(a as numeric(10, 2)), b::varchar(5), extract(year from at) from t',
    "select row_number() over (partition by a order by b), 'f(x)', $$f(x)$$ /* f(x) */ from t -- f(x)",
    'select now ( )',
    'values ($1), ($2)',
    'select a[(1)], -(1), 1+(2) from t',
    "select nextval('s')",
    "select nextval('s'::regclass)",
  ]) {
    it(`is true of ${text}`, () => assert.equal(callsKnownFunctionsOnly(text), true));
  }

  for (const text of [
    'select f(1)',
    'select f (1)',
    'select f/* a comment */(1)',
    'select s.f(1)',
    'select pg_catalog.set_config($1, $2, true)',
    'select "count"(1)',
    'select "S"."F"(1)',
    'select s.count(1)',
    'select _f(1)',
    'select größe(1)',
    'select é(1)',
    // In upper case these are MIN, SUM and FIRST_VALUE to JavaScript.
    'select mın(1)',
    'select ſum(1)',
    'select ﬁrst_value(1)',
    'select * from f($1) as t',
    'select case when true then f(1) end',
    'select set_config($1, $2, true)',
    'select pg_advisory_xact_lock(1)',
    'select pg_notify($1, $2)',
    'select dblink($1)',
    'with recursive x(a) as (select 1) select a from x',
    'select nextval($1)',
    "select nextval('s' || 1)",
    'select U&"\\0061" from t',
    `select ${'a'.repeat(63)} from t`,
    `select ${'é'.repeat(32)} from t`,
    `select ${'1,'.repeat(20_000)} 1`,
  ]) {
    it(`is false of ${text.slice(0, 60)}`, () =>
      assert.equal(callsKnownFunctionsOnly(text), false));
  }

  describe('with functions defined in the database', () => {
    const names = {
      isStrange: false,
      calls: new Set(['LOG', 'VARCHAR']),
      attributes: new Set(['EFF', 'É', 'SAY "HI"']),
      relations: new Set(['PARTED', 'Ü']),
    };

    for (const text of [
      'select log from t',
      'select eff from t',
      'select 1 as eff',
      'select a.b, c.log from t',
      "select 'eff', $$t.eff$$ /* t.eff */ from t -- parted",
      'select v::varchar from t',
    ]) {
      it(`is true of ${text}`, () => assert.equal(callsKnownFunctionsOnly(text, names), true));
    }

    for (const text of [
      'select log(1)',
      'select LOG /* a comment */ (1)',
      'select varchar(1)',
      'select t.eff from t',
      'select (t).EFF from t',
      'select t . "eff" from t',
      'select t."Eff" from t',
      'select t.é from t',
      'select t."say ""hi""" from t',
      'select id from parted where id = $1',
      'select id from s."parted"',
      'table parted',
      'select id from ü',
    ]) {
      it(`is false of ${text}`, () => assert.equal(callsKnownFunctionsOnly(text, names), false));
    }

    it('is false of every text, if operators or casts call unknown functions', () => {
      const strange = { ...names, isStrange: true };
      assert.equal(callsKnownFunctionsOnly('select 1', strange), false);
    });
  });
});
