'use strict';

// lib/statements/class.js: what may run on a shared connection.

const assert = require('node:assert');
const fc = require('fast-check');
const { classifyStatement } = require('../../lib/statements/class');
const { holds } = require('../support/property');

/** Asserts that the session is reset after each, which runs alone. */
function allAreReset(texts) {
  for (const text of texts) {
    const { kind, touchesSession } = classifyStatement(text);
    assert.deepStrictEqual([kind, touchesSession], ['alone', true], text);
  }
}

/** Asserts the kind of each text. */
function allAre(kind, texts) {
  for (const text of texts) assert.strictEqual(classifyStatement(text).kind, kind, text);
}

describe('classifyStatement', () => {
  it('classifies queries and data changes as plain', () => {
    allAre('plain', [
      'select 1',
      'SELECT now()',
      'select * from t for update',
      'select x into y from t',
      'insert into t values ($1)',
      'update t set a = 1',
      'delete from t',
      'merge into t using s on true when matched then delete',
      'with x as (delete from t returning *) select * from x',
      'values (1)',
      'table t',
      'call p()',
      'do $$ begin null; end $$',
      'explain analyze select 1',
      'show search_path',
      "notify channel, 'payload'",
    ]);
  });

  it('refuses statements that open, end or need a transaction', () => {
    allAre('transaction', [
      'begin',
      'BEGIN ISOLATION LEVEL SERIALIZABLE',
      'start transaction read only',
      'commit',
      'commit and chain',
      'end',
      'rollback',
      'rollback to savepoint s',
      'abort',
      'savepoint s',
      'release s',
      "prepare transaction 'x'",
      "set local lock_timeout = '1s'",
      'set transaction isolation level serializable',
      'set constraints all deferred',
    ]);
  });

  it('refuses statements with effects that stay in the session', () => {
    allAre('session', [
      "set search_path = 'a'",
      'set session work_mem = 1',
      "set time zone 'UTC'",
      'set session characteristics as transaction read only',
      'set session authorization x',
      'set role x',
      'reset all',
      'listen c',
      'unlisten *',
      'declare c cursor with hold for select 1',
      'fetch next from c',
      'move c',
      'close c',
      'prepare p as select 1',
      'execute p(1)',
      'deallocate all',
      'discard all',
      "load 'auto_explain'",
      'lock table t',
    ]);
  });

  it('distinguishes temporary tables and views from others', () => {
    allAre('session', [
      'create temp table t (a int)',
      'create temporary table t as select 1',
      'CREATE LOCAL TEMP TABLE t (a int)',
      'create global temporary table t (a int)',
      'create or replace temp view v as select 1',
      'create /* x */ temp -- y\n sequence s',
      'create table pg_temp.t (a int)',
      'create table if not exists "pg_temp".t (a int)',
      'create or replace function pg_temp.f() returns int language sql as $$ select 1 $$',
    ]);
    allAre('alone', [
      'create table temp (a int)',
      'create table if not exists temporary (a int)',
      'create table "TEMP" (a int)',
      'create unlogged table t (temp int)',
      'create or replace view v as select temp from t',
      'create table pg_temp_log (a int)',
    ]);
  });

  it('recognizes SELECT INTO TEMP, but not a table named temp', () => {
    allAre('session', [
      'select * into temp t from s',
      'select a, b into temporary table t from s',
      'select 1 into local temp t',
      'with x as (select 1) select * into temp "T" from x',
      'select 1 into pg_temp.t',
    ]);
    allAre('plain', [
      'select * into temp from s',
      'with x as (insert into temp select 1 returning 1) select * from x',
      "select 'into temp t'",
      'select 1 -- into temp t',
      'insert into temp select 1',
      'select temp, temperature from t',
    ]);
  });

  it('refuses COPY FROM STDIN and TO STDOUT, not COPY with a file of the server', () => {
    allAre('copy', [
      'copy t from stdin',
      'COPY t (a, b) FROM STDIN WITH (FORMAT csv)',
      'copy t to stdout',
      "copy (select 'x' from t) to stdout",
      "copy (select * from a where b = ')' and c <> 'from') to stdout",
      'copy "from" from stdin',
      'copy t from /* what */ stdin',
      'copy',
      'copy t from',
    ]);
    allAre('plain', [
      "copy t from '/tmp/x'",
      "copy t to E'/tmp/x\\'y'",
      "copy t to program 'gzip > x'",
      "copy (select 1 from stdin) to '/tmp/x'",
      "copy t(a) from '/tmp/stdin'",
    ]);
  });

  it('runs DDL and maintenance statements alone', () => {
    allAre('alone', [
      'vacuum analyze',
      'create index concurrently on t (a)',
      'reindex table t',
      'cluster',
      'refresh materialized view v',
      'analyze t',
      'create table t (a int)',
      'alter table t add b int',
      'drop table t',
      'truncate t',
      'grant select on t to u',
      'revoke all on t from u',
      "comment on table t is 'x'",
      "security label on table t is 'x'",
      'reassign owned by a to b',
      'import foreign schema a from server b into c',
      'checkpoint',
      "commit prepared 'x'",
      "rollback prepared 'x'",
    ]);
  });

  it('refuses session advisory locks wherever they are called', () => {
    allAre('session', [
      'select pg_advisory_lock(1)',
      'select PG_Advisory_Lock (1)',
      'select pg_try_advisory_lock(1, 2)',
      'select pg_advisory_lock_shared(1)',
      'select pg_try_advisory_lock_shared(1)',
      'select pg_advisory_unlock(1)',
      'select pg_advisory_unlock_shared(1)',
      'select pg_advisory_unlock_all()',
      'select pg_catalog.pg_advisory_lock($1)',
      'select "pg_advisory_lock"(1)',
      'select pg_advisory_lock/* sic */(1)',
      "select 'it''s', pg_advisory_lock(1)",
      "select E'it\\'s', pg_advisory_lock(1)",
      "select E'a''b\\'c', pg_advisory_lock(1)",
      "select 'C:\\', pg_advisory_lock(1)",
      'select $x$ a $$ b $x$, pg_advisory_lock(1)',
      'select $1, pg_advisory_lock($2)',
      'with l as (select pg_advisory_lock(1)) select 1 from l',
      'insert into t select pg_try_advisory_lock(1)',
      'do $$ begin perform pg_advisory_lock(1); end $$',
      'explain analyze select pg_advisory_lock(1)',
    ]);
  });

  it('allows what only looks like a session advisory lock', () => {
    allAre('plain', [
      'select pg_advisory_xact_lock(1)',
      'select pg_try_advisory_xact_lock_shared(1)',
      "select 'pg_advisory_lock('",
      "select 'it''s pg_advisory_lock(1)'",
      "select E'it\\'s pg_advisory_lock(1)'",
      'select $$ pg_advisory_lock(1) $$',
      'select $x$ $$ pg_advisory_lock(1) $x$',
      'select 1 -- pg_advisory_lock(1)',
      'select 1 /* /* */ pg_advisory_lock(1) */',
      'select pg_advisory_lock from t',
      'select my_pg_advisory_lock(1)',
      'select pg_advisory_lock_count(1)',
      'select "PG_ADVISORY_LOCK"(1)',
      'explain select pg_advisory_lock(1)',
    ]);
  });

  it('refuses set_config() for the session, not for the transaction', () => {
    allAre('session', [
      "select set_config('search_path', '', false)",
      "select pg_catalog.set_config('a.b', coalesce($1, 'x'), FALSE)",
    ]);
    allAre('plain', [
      "select set_config('a.b', $1, true)",
      "select 'set_config(1, 2, false)'",
      "select set_config('a.b', 'x', true), false",
    ]);
  });

  it('treats set_config() as one of the transaction only with the literal true', () => {
    const third = [
      "'f'",
      'false::bool',
      '(false)',
      'null',
      '0::bool',
      'not true',
      '$2',
      '$3::bool',
    ];
    for (const argument of [...third, 'true and false', "'true'", 'true::text::bool', 'f(true)']) {
      allAre('session', [`select set_config('a.b', 'x', ${argument})`]);
    }
    allAre('session', [
      "select set_config('a', set_config('b', 'c', false), true)",
      "select set_config(set_config('a', 'b', true), 'c', false)",
      "with x as (select set_config('a', 'b', false)) select 1",
      "values (set_config('a', 'b', null))",
      "insert into t select set_config('a', 'b', $1)",
      "update t set a = set_config('a', 'b', $1)",
      "call p(set_config('a', 'b', false))",
      "copy (select set_config('a', 'b', false)) to '/tmp/x'",
      "select set_config(is_local => false, setting_name => 'a', new_value => 'true')",
      "select set_config('a', 'b'",
      "select \"set_config\" ('a', 'b', /* true */ false)",
      "select pg_catalog . set_config('a', array['b', 'c', true][1], false)",
      "do $$ begin perform set_config('a', 'b', false); end $$",
      'update pg_settings set setting = $1',
      "update only pg_catalog . pg_settings as s set setting = 'x' where name = 'y'",
      'UPDATE "pg_settings" SET setting = \'x\'',
    ]);
    allAre('plain', [
      "select set_config('a', 'b', TRUE)",
      "select set_config('a', array['b', 'c', false::text][1], /* sic */ true)",
      "select set_config('a', set_config('b', 'c', true), true)",
      "select set_config(is_local => true, setting_name => 'a', new_value => 'b')",
      'select set_config(setting_name => $1, new_value => $2, is_local := true)',
      "select name, setting from pg_settings where name like 'a%' for update of pg_settings",
      'with u as (update t set n = 1 returning n) select * from u, pg_settings',
      'insert into pg_settings_log select * from pg_settings on conflict do update set n = 1',
    ]);
  });

  it('classifies the statement that EXPLAIN ANALYZE runs', () => {
    allAre('session', [
      'explain analyze create temp table t as select 1',
      'explain (analyze) select 1 into temp t',
      'explain (verbose, analyze true, format json) select 1 into pg_temp.t',
      'explain analyse verbose select 1 as n into temporary table t',
      "explain (\"analyze\") select set_config('a', 'b', false)",
      'explain analyze execute p',
      'explain analyze (select pg_advisory_lock(1))',
      'explain analyze declare c cursor with hold for select 1',
    ]);
    allAre('alone', ['explain analyze create table t as select 1']);
    allAre('plain', [
      'explain create temp table t as select 1',
      'explain (verbose) select 1 into temp t',
      "explain (select set_config('a', 'analyze', false))",
      'explain (analyze, buffers) select 1',
      'explain analyze insert into t values (1)',
    ]);
  });

  it('recognizes pg_temp with blanks, comments and quotes', () => {
    allAre('session', [
      'create table pg_temp .x (n int)',
      'create table pg_temp/**/./**/x (n int)',
      'create view "pg_temp" . v as select 1',
      'create type pg_temp. e as enum ()',
      'create sequence if not exists pg_temp\n.s',
      'create domain pg_temp .d as int',
      'create or replace procedure pg_temp .p() language sql as $$ $$',
      'create table pg_temp_3.x (n int)',
      'select 1 into pg_temp .x',
      'select 1 into table "pg_temp" .x',
      '(select 1 as n into temp x)',
    ]);
    allAre('plain', [
      'select 1 into temp . x',
      'select pg_temp_x from t',
      'select n into tempo from t',
    ]);
    allAre('alone', ['create table temp . x (n int)', 'create table a (pg_temp int)']);
  });

  it('refuses dblink connections, which a reset does not close', () => {
    allAre('session', [
      "select dblink_connect('a', 'dbname=b')",
      "select public.dblink_open('a', 'b')",
    ]);
    allAre('plain', ["select * from dblink('dbname=a', 'select 1') as t (n int)"]);
  });

  it('resets the session after code that may change it', () => {
    allAreReset([
      "do $$ begin set work_mem = '5MB'; end $$",
      "do 'begin create temp table t (n int); end'",
      "do 'begin perform pg_advisory_lock(1); end'",
      "do E'begin perform pg\\x5fadvisory_lock(1); end'",
      "do U&'begin perform pg\\005fadvisory_lock(1); end'",
      "do language plpgsql $x$ begin execute 'se' || 't a.b = 1'; end $x$",
      "do language plpython3u $$ plpy.run('x') $$",
      'do $$ begin listen c; end $$',
      'do $$ begin update t set n = 1; end $$',
      'do $$ begin create table pg_temp.x (n int); end $$',
      'do $$ begin discard all; end $$',
    ]);
    allAre('plain', [
      'do $$ begin insert into t values (1); delete from s; end $$',
      "do language plpgsql $$ declare n int; begin select 1 into n; raise notice 'x'; commit; end $$",
      'do $$ begin perform f(1); end $$',
    ]);
  });

  it('resets the session after texts that the server may parse differently', () => {
    allAreReset([
      'select U&"pg\\005fadvisory_lock"(1)',
      'select u&"set!005fconfig" UESCAPE \'!\' (1)',
      "select 'a\\'' , pg_advisory_lock(1) --'",
      "select query_to_xml('select pg_advisory_lock(1)', true, true, '')",
      `select '${'x'.repeat(70_000)}', pg_advisory_lock(1)`,
      `select '${'x'.repeat(70_000)}' into temp t`,
      "create table t as select set_config('a', 'b', false)",
      'create materialized view v as select pg_advisory_lock(1)',
    ]);
    allAre('session', ["select E'a'\n'b\\'', pg_advisory_lock(1) --'"]);
    allAre('plain', [
      "select E'a'\n'b\\', pg_advisory_lock(1)'",
      "select 'C:\\', 1",
      "select * from t where a like 'x\\_%'",
      `select '${'x'.repeat(70_000)}'`,
      `insert into t values ${"('x'),".repeat(20_000)} ('into temp')`,
    ]);
    assert.strictEqual(classifyStatement('create table t (n int)').touchesSession, false);
  });

  it('allows statements that do not change the session, whatever words they contain', () => {
    allAre('plain', [
      'select 1 for update',
      'update t set a = 1, temp = 2',
      "insert into settings values ('set_config')",
      'select lo_creat(-1)',
      'select temp from readings',
      "select 'do $$ set $$'",
      'select nextval($1)',
    ]);
    const ddl = [
      "alter role r set work_mem = '5MB'",
      'alter database d set search_path = a',
      'create function f() returns int language sql set search_path = a as $$ select 1 $$',
    ];
    for (const text of ddl) {
      const { kind, touchesSession } = classifyStatement(text);
      assert.deepStrictEqual([kind, touchesSession], ['alone', false], text);
    }
  });

  it('skips white space, comments, parentheses and semicolons', () => {
    const leads = [
      ' \t\r\n\f\v',
      '-- select\n',
      '--\r',
      '/* a */',
      '/* a /* b */ * / c */',
      ';',
      ';;',
    ];
    for (const lead of [...leads, leads.join(''), '/**/-- /*\n']) {
      allAre('transaction', [`${lead}begin`]);
      allAre('plain', [`${lead}select 1`]);
    }
    allAre('plain', ['(select 1) union (select 2)', '((values (1)))', '( /* x */ select 1)']);
    allAre('transaction', ['commit/**/', 'begin;', 'BeGiN--']);
    allAre('session', ['set/* x */search_path=a', 'reset\tall']);
  });

  it('leaves empty, unknown and incomplete texts to the server', () => {
    const odd = [
      '',
      ' ',
      ';',
      '--',
      '/* open',
      "'",
      '"begin"',
      '$1',
      '(',
      'beginning',
      'set_x',
      '1',
    ];
    allAre('plain', [
      ...odd,
      'sélect',
      'frobnicate t',
      'begin_',
      "select '",
      'select "',
      'select $a$',
    ]);
    for (const value of [undefined, null, 1, {}]) {
      assert.strictEqual(classifyStatement(value).kind, 'plain');
    }
  });

  it('names the deciding keyword', () => {
    const keywords = {
      ' select 1': 'SELECT',
      'set local a = 1': 'SET LOCAL',
      "commit prepared 'x'": 'COMMIT PREPARED',
      'create temp table t()': 'CREATE TEMPORARY',
      'Frobnicate t': 'FROBNICATE',
      '': '',
    };
    for (const [text, keyword] of Object.entries(keywords)) {
      assert.strictEqual(classifyStatement(text).keyword, keyword);
    }
  });

  it('has messages that say what is refused, why, and what to call instead', () => {
    const refused = ['begin', 'set a = 1', 'set local a = 1', 'listen c', 'declare c cursor for x'];
    const more = ['prepare p as x', 'discard all', 'create temp table t()'];
    for (const text of [...refused, ...more, 'select pg_advisory_lock(1)']) {
      const { refusal } = classifyStatement(text);
      assert.match(refusal, /^.+ cannot run on a shared connection: .+\. .*pool\.connect\(\).+\.$/);
    }
    assert.match(classifyStatement('begin').refusal, /^BEGIN cannot run/);
    // On a client of one's own it cannot run either.
    assert.match(
      classifyStatement('copy t from stdin').refusal,
      /^COPY .+ cannot run here: .+ Use copyFrom\(\) or copyTo\(\)\.$/,
    );
    assert.match(classifyStatement('select pg_advisory_lock(1)').refusal, /pg_advisory_xact_lock/);
    for (const text of ['select 1', 'vacuum', "commit prepared 'x'", "copy t to '/x'"]) {
      assert.strictEqual(classifyStatement(text).refusal, null);
    }
  });

  it('returns one frozen object for the same keywords', () => {
    for (const text of [
      'select',
      'set local',
      'begin',
      'create temp',
      'select pg_advisory_lock(',
    ]) {
      const statementClass = classifyStatement(`${text} 1)`);
      assert.ok(Object.isFrozen(statementClass));
      assert.strictEqual(classifyStatement(`/* again */ ${text} 2)`), statementClass);
    }
  });

  it('takes linear time on hostile and huge texts', () => {
    const million = 1_000_000;
    const texts = [
      '/*'.repeat(million),
      `${'/**/'.repeat(million)}begin`,
      '-'.repeat(million),
      '('.repeat(million),
      'a'.repeat(million),
      `select ${'into '.repeat(million)}temp`,
      `select ${'temp into '.repeat(million)}`,
      `select ${'set_config('.repeat(million)}`,
      `select ${'pg_advisory_lock '.repeat(million)}`,
      `select ${"'".repeat(million)} pg_advisory_lock`,
      `select ${'$a'.repeat(million)} pg_advisory_lock`,
      `select pg_advisory_lock ${'$a$ $b$ '.repeat(million)}`,
      `copy ${'('.repeat(million)}`,
      `create ${'or replace '.repeat(million)}`,
      `insert into t values ${'(1),'.repeat(25 * million)}`,
    ];
    for (const text of texts) {
      // What others do on this machine does not count.
      const start = process.cpuUsage();
      classifyStatement(text);
      const { user, system } = process.cpuUsage(start);
      const millis = (user + system) / 1000;
      assert.ok(millis < 1500, `${text.slice(0, 30)} took ${millis} ms`);
    }
  }).timeout(30_000);

  it('never throws', async () => {
    const pieces = [
      'select',
      'copy',
      'create',
      'do',
      'with',
      'into',
      'temp',
      'set_config',
      'false',
    ];
    const signs = [
      'pg_advisory_lock',
      ' ',
      "'",
      '"',
      '(',
      ')',
      '$',
      '$a$',
      '--',
      '/*',
      '*/',
      '\n',
      'E',
    ];
    const text = fc.oneof(
      fc.string({ unit: 'binary' }),
      fc
        .array(fc.constantFrom(...pieces, ...signs), { maxLength: 30 })
        .map((list) => list.join('')),
      fc
        .array(fc.constantFrom(...pieces, ...signs), { maxLength: 30 })
        .map((list) => list.join(' ')),
    );
    const kinds = ['plain', 'alone', 'transaction', 'session', 'copy'];
    const isKnown = fc.property(text, (sql) => kinds.includes(classifyStatement(sql).kind));
    await holds(isKnown, 3000);
  });

  it('recognizes the INTO of a SELECT INTO by its position, whatever precedes it', () => {
    for (const text of [
      'select 1 as insert into temp t',
      'select 1 insert into temp t',
      'select 1 as merge into temporary table t',
      'select 1 as "insert" into temp t',
      'with x as (select 1) select (1) insert into temp t',
      'select 1 a into postgres.pg_temp.t',
      'explain (analyze) select 1 as insert into temp t',
    ]) {
      assert.equal(classifyStatement(text).kind, 'session', text);
    }
    for (const text of [
      "with temp as (select 1) insert into t select 'temp'",
      "with x as (insert into t values ('temp') returning a) select * from x",
      "with x as (select 1), y as (merge into t using x on true when matched then delete) select 'temp'",
    ]) {
      assert.equal(classifyStatement(text).kind, 'plain', text);
    }
  });

  it('refuses other ways to change the settings or the random seed of the session', () => {
    for (const text of [
      "update only (pg_settings) set setting = '99kB' where name = 'work_mem'",
      "update postgres.pg_catalog.pg_settings set setting = '99kB'",
      `select set_config('work_mem', '99kB', "true") from (values (false)) v("true")`,
      'select setseed(0.5)',
      'select set_limit(0.9)',
    ]) {
      assert.equal(classifyStatement(text).kind, 'session', text);
    }
  });

  it('resets the session after functions that execute a text, and after hidden texts', () => {
    for (const text of [
      "select query_to_xml($1, true, true, '')",
      'select * from ts_stat($1)',
      "do $x$ begin perform query_to_xml('select pg_adv' || 'isory_lock(1)', true, true, ''); end $x$",
      "do 'begin perform pg_adv'\n'isory_lock(1); end'",
      "do 'begin se'\r\n  't work_mem = 99; end'",
    ]) {
      const { kind, touchesSession, outlastsRollback } = classifyStatement(text);
      assert.deepEqual([kind, touchesSession, outlastsRollback], ['alone', true, true], text);
    }
  });
});
