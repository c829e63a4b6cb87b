'use strict';

// lib/statements/registry.js and column-lists.js: which writes are known to do nothing but change rows, by their texts.

const assert = require('node:assert/strict');
const { StatementInfo, StatementRegistry } = require('../../lib/statements');

const names = {
  isStrange: false,
  calls: new Set(['LOG']),
  attributes: new Set(['EFF']),
  relations: new Set(['PARTED']),
  isSessionBound: false,
  sessionRelations: new Set(),
  writeRelations: new Set(['TRIGGERED', 'A_VIEW', 'STOCKED_SEQ']),
  sequenceRelations: new Set(['SERIAL_ONE']),
  asksSequences: false,
};

/** @param {string} text @param {Partial<typeof names>} [others] */
function isPlain(text, others) {
  const info = new StatementInfo(text);
  info.learnEffect(/^\W*(?:with|select)/i.test(text) ? 'SELECT' : 'INSERT');
  return info.writesPlain({ ...names, ...others });
}

describe('StatementInfo.writesPlain()', () => {
  for (const text of [
    'insert into t values ($1, $2)',
    'INSERT INTO t (a, b) VALUES ($1, lower($2)), (default, now()) RETURNING *;',
    'insert into s.t as u (a, "B") values ($1, $2) on conflict (a) do update set b = excluded.b where u.b <> excluded.b',
    'insert into "s"."T" ("a", "b") values ($1, $2) on conflict on constraint c do nothing returning "id"',
    'insert into t (a) select a from u where exists (select 1 from v) for update',
    'insert into t (a, b) select * from unnest($1::int[], $2::text[])',
    'insert into parted (a) values (1)',
    'insert into t default values',
    "insert into t (id) values (nextval('s.seq')) returning (id)",
    "insert into t (id) values (nextval('seq'::regclass))",
    'update t set (a, b) = (select 1, 2) where id in ($1, $2)',
    'update only t set a = a + 1 from (values ($1::int, $2::int), ($3, $4)) as v (id, n) where t.id = v.id',
    'insert into t (a) select v.a from unnest($1::int[], $2::int[]) v (a, b) join (select 1) w (c) on c = b',
    'update t set a = v.n from (select 1, 2) v(id, n) where t.id = v.id and (a > 1 or (b))',
    'update t set at = now() - cast($1 as interval(3)), n = n::numeric(10, 2)',
    'delete from t using u where t.id = u.id returning count',
    'select a from t where id = $1 for update skip locked',
    'select a from t, u for no key update of t',
    'select a from t for key share',
    'merge into t using (values (1, 2)) as v (id, n) on t.id = v.id when matched then update set n = v.n when not matched then insert (id, n) values (v.id, v.n)',
    'with moved as (delete from t returning *) insert into u (a) select a from moved',
    'with w (a) as (insert into t (a) values (1) returning a) select a from w',
    'with recursive w (a) as (select 1 union all select a + 1 from w where a < 3) insert into t (a) select a from w',
    "insert into t (a) values ('f(x) triggered', $$triggered$$) /* f(x) */ -- triggered",
    "insert into t (a) values (current_user), (current_setting('timezone'))",
  ]) {
    it(`is true of ${text}`, () => assert.equal(isPlain(text), true));
  }

  for (const text of [
    'insert into triggered values (1)',
    'insert into s."triggered" (a) values (1)',
    'insert into t select * from a_view',
    'update t set a = 1 from triggered',
    'delete from "TRIGGERED"',
    'with w as (delete from triggered) select 1 as one',
    'insert into t (a) values (f(1))',
    'insert into t (a) values (s.lower($1))',
    'insert into t select f(1)',
    'insert into t as u select f(1)',
    'insert into t (a) select distinct on (a) f(b) from u',
    'insert into t (a) select (a) operator(s.+) f(b) from u',
    'insert into t (a) select (a) operator(+) f(b) from u',
    'insert into t (a) values (1) returning with (old as o) f(o.a)',
    "insert into t values (nextval(e'stocked\\137seq'))",
    'insert into t values (1) on conflict (f(a)) do nothing',
    'insert into t (a) values (log(1))',
    'update t set a = $1 where f(b)',
    'update t set a = u.eff from u',
    "insert into t values (set_config('a.b', 'c', false))",
    "insert into t values (current_setting('app.tenant'))",
    'insert into t values (pg_backend_pid())',
    'insert into t values (lastval())',
    "insert into t values (currval('seq'))",
    "insert into t values (setval('seq', 1))",
    'insert into t values (nextval($1))',
    "insert into t values (nextval('stocked_seq'))",
    `insert into t values (nextval('s."STOCKED_SEQ"'))`,
    'insert into t select t.nextval from u t',
    'insert into pg_temp.t values (1)',
    'insert into t select 1 from pg_settings',
    'insert into t select 1 from information_schema.tables',
    'update pg_catalog.pg_class set relname = relname',
    'update t set a = 1 where current of c',
    'insert into u&"\\0074" values (1)',
    "insert into t values ('a\\'), f('b')",
    'insert into t values (1); insert into t values (2)',
    'with w as (select 1) select * into made from w',
    'select f(1)',
    'select a into made from t for update',
    'select a from triggered for share',
    'select f(a) from t for update',
    'select a from t',
    'create table made as select 1',
    'truncate t',
    `insert into ${'t'.repeat(63)} values (1)`,
    `insert into t values ${'(1), '.repeat(5000)} (1)`,
  ]) {
    it(`is false of ${text.slice(0, 80)}`, () => assert.equal(isPlain(text), false));
  }

  const PLAIN = 'insert into t values (1)';

  it('is false of every text, if operators, casts or types call unknown functions, or ask the session', () => {
    assert.equal(isPlain(PLAIN, { isStrange: true }), false);
    assert.equal(isPlain(PLAIN, { isSessionBound: true }), false);
  });

  it('is false of a call to a function with the name of a word of ours', () => {
    const text = 'insert into t select 1 from u join v on conflict(u.a)';
    assert.equal(isPlain(text, { calls: new Set(['CONFLICT']) }), false);
  });

  it('is true before the first success only where the first word tells what it is', () => {
    assert.equal(new StatementInfo(PLAIN).writesPlain(names), true);
    const info = new StatementInfo('with w as (delete from t returning *) select * from w');
    assert.equal(info.writesPlain(names), false);
    info.learnEffect('SELECT');
    assert.equal(info.writesPlain(names), true);
  });

  it('is decided anew when the catalog has changed', () => {
    const info = new StatementInfo(PLAIN);
    info.learnEffect('INSERT');
    assert.equal(info.writesPlain(names), true);
    assert.equal(info.writesPlain({ ...names, writeRelations: new Set(['T']) }), false);
  });
});

describe('StatementInfo.mayCallNextval()', () => {
  for (const [text, expected] of [
    ['insert into t values (1)', false],
    ["insert into t values (nextval('seq'))", true],
    ["insert into t values (NextVal('seq'))", true],
    ['insert into serial_one (a) values (1)', true],
    ['insert into s."serial_one" values (1)', true],
    ["insert into t values ('serial_one')", false],
    ['with w as (insert into serial_one values (1)) select 1', true],
  ]) {
    it(`is ${expected} of ${text}`, () =>
      assert.equal(new StatementInfo(text).mayCallNextval(names), expected));
  }
});

describe('StatementInfo.asksSequences', () => {
  for (const [text, expected] of [
    ['select lastval()', true],
    ['select "currval"(\'seq\')', true],
    ['do $$ begin perform LASTVAL(); end $$', true],
    ['prepare p as select lastval()', true],
    ['select U&"last\\0076al"()', true],
    ["select nextval('seq')", false],
  ]) {
    it(`is ${expected} of ${text}`, () =>
      assert.equal(new StatementInfo(text).asksSequences, expected));
  }

  it('is remembered of all texts of a pool', () => {
    const registry = new StatementRegistry({ names: undefined, onSchemaChange() {} });
    registry.find('select 1');
    assert.equal(registry.hasAskedSequences, false);
    registry.find('select lastval()');
    registry.find('select 2');
    assert.equal(registry.hasAskedSequences, true);
  });
});
