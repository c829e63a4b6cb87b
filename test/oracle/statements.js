'use strict';

// The single statements of random scripts: what each may be, and how likely it is. In the texts `{h}`, `{x}` and
// `{s}` stand for the schemas of the place (nothing where the script sets a search_path), `{app:name}` for how a
// custom parameter is read, `{channel}` and `{lock}` for what is the place's alone. Used by script.js.

/** @typedef {import('../stress/random').Random} Random */
/** @typedef {{ text: string, values?: any[], isStrict?: boolean }} Statement */
/** @typedef {readonly [make: (random: Random) => string | Statement, weight: number]} Entry */

const NAMES = ['x', 'tenant', 'touched', 'trace', 'local'];
const PROFILE = [
  "timezone = 'Asia/Tokyo'",
  "timezone to 'UTC'",
  "datestyle = 'ISO, DMY'",
  "intervalstyle = 'iso_8601'",
  'client_min_messages = warning',
  'client_min_messages to notice',
  'statement_timeout = 60000',
  "lock_timeout = '61s'",
  "application_name = 'app %n'",
  'extra_float_digits = 0',
  "work_mem = '%n00kB'",
  "client_encoding = 'UTF8'",
];
const OTHER_SETTINGS = [
  'enable_seqscan = off',
  'enable_seqscan to default',
  "default_transaction_isolation = 'repeatable read'",
  'default_transaction_read_only = on',
  'session_replication_role = replica',
  'role oracle_tenant',
  'role none',
  'session authorization default',
  'transform_null_equals = on',
  'synchronous_commit = off',
  "bytea_output = 'escape'",
  'plan_cache_mode = force_generic_plan',
  'row_security = off',
  'xmloption = document',
  'standard_conforming_strings = on',
  'no_such_setting = 1',
  "statement_timeout = 'never'",
];
const READ_SETTINGS = [
  ...[
    'work_mem',
    'timezone',
    'datestyle',
    'intervalstyle',
    'client_min_messages',
    'statement_timeout',
  ],
  ...[
    'lock_timeout',
    'application_name',
    'extra_float_digits',
    'enable_seqscan',
    'role',
    'search_path',
  ],
  ...[
    'transaction_isolation',
    'transaction_read_only',
    'default_transaction_isolation',
    'bytea_output',
  ],
  ...['session_replication_role', 'plan_cache_mode', 'client_encoding', 'row_security'],
];

/** @param {Random} random */
const n = (random) => random.int(1, 9);
/** @param {Random} random */
const id = (random) => random.int(1, 3);
/** `%n` is a small number. @param {string} text @param {Random} random */
const numbered = (text, random) => text.replaceAll('%n', () => String(n(random)));

/** Those that change nothing, whatever they may look at. @type {Entry[]} */
const READS = [
  [(r) => `select * from {h}plain where id = ${id(r)}`, 4],
  [(r) => ({ text: 'select * from {h}plain where id = $1', values: [id(r)] }), 6],
  [() => 'select id, n, t from {h}plain order by id', 3],
  [
    (r) => ({
      text: 'select name, born, tags, data from {s}people where id = $1',
      values: [r.int(1, 50)],
    }),
    5,
  ],
  [
    (r) => ({
      text: 'select p.name, o.total, o.placed from {s}people p join {s}orders o on o.person = p.id where p.id = $1 order by o.id',
      values: [n(r)],
    }),
    3,
  ],
  [
    (r) => ({
      text: 'select * from {s}rich where id = any($1::int[]) order by id',
      values: [[1, n(r), 40]],
    }),
    2,
  ],
  [
    (r) => ({
      text: 'select {s}twice($1) as twice, {h}quiet(id) as q from {h}plain order by id',
      values: [n(r)],
    }),
    2,
  ],
  [
    (r) => ({
      text: 'with recursive c(i) as (select 1 union all select i + 1 from c where i < $1::int) select i, sum(i) over (order by i)::int as s from c order by i',
      values: [n(r)],
    }),
    1,
  ],
  [() => 'select id, n from {h}calm order by id', 2],
  [() => 'select * from {h}asking', 2],
  [() => 'select id, tenant, t from {h}secured order by id', 2],
  [() => 'select version()', 1],
  [() => 'select version();', 1],
  [() => "select current_setting('server_version_num')", 1],
  [() => 'select current_schema()', 1],
  [() => 'select current_schemas(false)', 0.7],
  [() => 'select current_user, session_user', 0.7],
  [(r) => `select current_setting('${r.pick(READ_SETTINGS)}')`, 4],
  [(r) => `show ${r.pick(READ_SETTINGS)}`, 3],
  [(r) => `select {app:${r.pick(NAMES)}} as app`, 4],
  [(r) => ({ text: `show app.${r.pick(NAMES)}`, isStrict: true }), 0.7],
  [(r) => ({ text: `select current_setting('app.${r.pick(NAMES)}')`, isStrict: true }), 0.7],
  [() => 'select {h}peek()', 2],
  [() => "select {h}with_set(), current_setting('work_mem')", 0.7],
  [
    () =>
      "select timestamptz '2024-07-01 12:00:00+00'::text as t, interval '1 day 2 hours'::text as i, 0.1::float8 + 0.2::float8 as f",
    2,
  ],
  [() => "select date '2024-02-03'::text as d, '\\x00ff'::bytea::text as b", 1],
  [() => 'select txid_current_if_assigned() is null as none', 0.7],
  [() => "select count(*)::int as n from pg_cursors where name <> ''", 0.7],
  [() => 'select name, statement from pg_prepared_statements where from_sql order by name', 0.7],
  [
    () =>
      "select count(*)::int as n from pg_locks where locktype = 'advisory' and pid = pg_backend_pid()",
    1,
  ],
  [() => 'select count(*)::int as n from pg_listening_channels()', 0.7],
  [() => "select setting from pg_settings where name = 'work_mem'", 0.7],
  [
    () =>
      "select to_regclass('pg_temp.tmp1') is not null as tmp, to_regclass('t1') is not null as t",
    1,
  ],
  [() => 'select pg_backend_pid() = pg_backend_pid() as same', 0.5],
  [
    () =>
      "select relname from pg_class where relpersistence = 't' and relkind = 'r' and pg_table_is_visible(oid) order by relname",
    0.7,
  ],
  [() => 'table {h}counters', 0.7],
  [(r) => ({ text: 'values (1, $1::text), (2, null)', values: [`é${n(r)}`] }), 0.7],
  [() => "select lower('ABC') as l, upper('x') as u, length('abc') as n", 1.5],
  [(r) => `explain (costs off) select * from {h}plain where id = ${id(r)}`, 0.5],
  [(r) => ({ text: 'select id from {h}plain where id = $1 for update', values: [id(r)] }), 1],
  [() => 'select * from {x}t1 order by a', 2],
  [() => 'select * from {x}t2 order by a', 1.5],
  [() => 'select * from tmp1 order by a', 1.5],
  [() => 'select * from {x}v1', 2],
  [() => 'select {x}f1()', 1.5],
  [() => 'select pg_temp.g()', 0.7],
];

/** Those that are wrong, or fail on their way. @type {Entry[]} */
const ERRORS = [
  [(r) => ({ text: 'select 1 / $1::int as q', values: [r.pick([0, 0, 1])] }), 2],
  [() => 'select * from {h}missing', 1],
  [() => 'selec 1', 0.7],
  [() => ({ text: 'select $1::int as i', values: ['no number'] }), 1],
  [() => 'insert into {h}plain values (1, 1, null)', 1.5],
  [() => 'insert into {h}child values (9, 99)', 1],
  [() => 'update {h}counters set n = 5000 where id = 1', 1],
  [(r) => `select {h}fails('UE00${n(r)}')`, 1.5],
  [() => ({ text: 'select $1::int + $2::int as s', values: [1] }), 0.4],
  [() => 'select 1 as a; select 1/0 as b; select 3 as c', 0.4],
  [() => 'insert into {h}plain (id) values (77); select 1/0', 0.5],
];

/** Those that change rows, plain ones and such as hide a call. @type {Entry[]} */
const WRITES = [
  [
    (r) => ({
      text: 'insert into {h}plain values ($1, $2, $3)',
      values: [r.int(4, 20), n(r), `t${n(r)}`],
    }),
    4,
  ],
  [
    (r) => ({
      text: 'insert into {h}plain values ($1, $2, null) on conflict (id) do update set n = plain.n + excluded.n returning *',
      values: [r.int(1, 6), n(r)],
    }),
    3,
  ],
  [
    (r) => ({
      text: 'update {h}plain set n = n + $2 where id = $1 returning id, n',
      values: [id(r), n(r)],
    }),
    3,
  ],
  [(r) => `update {h}plain set t = 'u${n(r)}' where id = ${id(r)}`, 2],
  [(r) => ({ text: 'delete from {h}plain where id = $1 returning *', values: [r.int(3, 9)] }), 2],
  [(r) => ({ text: 'update {h}counters set n = n + 1 where id = $1', values: [id(r)] }), 3],
  [
    () =>
      'with moved as (delete from {h}plain where id = 3 returning *) insert into {h}logged select id, t from moved returning id',
    1,
  ],
  [
    (r) => ({ text: 'insert into {h}serial (t) values ($1) returning id', values: [`s${n(r)}`] }),
    2,
  ],
  [
    (r) => ({
      text: 'insert into {h}ident (t) values ($1), ($1) returning id, t',
      values: [`i${n(r)}`],
    }),
    1.5,
  ],
  [
    (r) => ({ text: 'insert into {h}child values ($1, $2)', values: [r.int(3, 9), r.int(1, 4)] }),
    1.5,
  ],
  [
    (r) => ({
      text: 'insert into {h}triggered values ($1, $2) returning *',
      values: [n(r), 'new'],
    }),
    3,
  ],
  [() => "update {h}triggered set t = 'changed'", 1],
  [(r) => ({ text: 'insert into {h}noisy values ($1, 1)', values: [n(r)] }), 1.5],
  [(r) => ({ text: 'insert into {h}defaulted (id) values ($1) returning *', values: [n(r)] }), 2],
  [(r) => ({ text: 'insert into {h}checked values (1, $1)', values: [n(r)] }), 2.5],
  [(r) => ({ text: 'insert into {h}generated values ($1) returning g', values: [n(r)] }), 1.5],
  // Without values only the simple protocol shows what a rule selects.
  [() => ({ text: 'update {h}ruled set n = n + $1', values: [1] }), 1],
  [
    (r) => ({
      text: 'insert into {h}secured values ($1, $2, $3)',
      values: [r.int(4, 9), r.pick(['red', 'blue']), 'new'],
    }),
    1,
  ],
  [() => 'update {h}calm set n = n + 1 where id = 2 returning n', 1],
  [() => "select nextval('{h}seq')::int as v", 2],
  [() => "insert into {h}logged select nextval('{h}seq'), 'from a sequence' returning id", 1.5],
  [() => 'select lastval()::int as v', 1.5],
  [() => "select currval('{h}seq')::int as v", 1.5],
  [() => "select currval(pg_get_serial_sequence('{h}serial', 'id'))::int as v", 1],
  [() => "insert into {h}logged values (lastval(), 'last') returning id", 1.5],
  [(r) => `select setval('{h}seq', ${r.int(20, 90)})::int as v`, 0.7],
  [() => 'truncate {h}logged', 0.4],
  [() => 'insert into {x}t1 (a) values (7) returning *', 1.5],
  [() => 'insert into tmp1 (a) values (8)', 1.5],
];

/** Those whose effect on the session no text shows. @type {Entry[]} */
const EFFECTS = [
  [(r) => ({ text: 'select {h}touch($1)', values: [`v${n(r)}`] }), 3],
  [(r) => `select {h}touch_int(${n(r)})`, 2],
  [(r) => ({ text: 'select {h}touch_local($1), {app:local} as app', values: [`l${n(r)}`] }), 1],
  [() => 'select * from {h}touching order by id', 2.5],
  [() => 'select id, t from {h}deep order by id', 2],
  [() => 'select count(*)::int as n from {h}growing', 1.5],
  [(r) => ({ text: 'select {h}grow($1)', values: [n(r)] }), 2],
  [() => 'select {h}next_one()::int as v', 1.5],
  [(r) => `select {h}make_temp(${n(r)})`, 1],
  [() => 'select count(*)::int as n from made', 0.7],
  [(r) => `select {h}take_lock({lock}, ${n(r)})`, 1],
  [() => "select {h}hear('{channel}1')", 0.7],
  [(r) => `select {h}ready(${n(r)})`, 0.7],
  [() => 'execute ready', 0.7],
  [() => 'select {h}opens()', 0.5],
  [(r) => ({ text: 'select {h}noise($1)', values: [`n${n(r)}`] }), 1.5],
  [(r) => `select {h}lies(${n(r)})`, 1],
  [(r) => `select ${n(r)} operator({op}.<~>) ${n(r)} as o`, 1.5],
  [
    (r) => ({
      text: 'select id operator({op}.<~>) $1 as o from {h}plain order by id',
      values: [n(r)],
    }),
    1,
  ],
  [(r) => `select '${r.pick(['calm', 'happy'])}'::{h}mood::int as m`, 1],
  [() => 'select {h}touch_sum(n)::int as s from (select n from {h}plain order by id) p', 1],
  [() => 'select 5::{h}positive as p', 1],
  [() => 'select p.shout from {h}plain p order by id', 1],
  [() => "select {home}.lower('ABC')", 1],
  [(r) => `call {h}adds(${n(r)})`, 1.5],
  [(r) => `call {h}commits(${n(r)})`, 1],
  [(r) => numbered("do $$ begin perform set_config('app.x', 'do %n', false); end $$", r), 1.5],
  [(r) => numbered("do $$ begin raise notice 'a block %', %n; end $$", r), 1],
  [() => "do $$ begin execute 'create temp table if not exists tmp1 (a int)'; end $$", 0.7],
  [() => "do $$ begin raise exception using errcode = 'UE123'; end $$", 0.7],
];

/** Those that change the session by their own words. @type {Entry[]} */
const SESSION = [
  [(r) => `set ${numbered(r.pick(PROFILE), r)}`, 5],
  [(r) => `set session ${numbered(r.pick(PROFILE), r)}`, 1],
  [(r) => `set ${r.pick(OTHER_SETTINGS)}`, 2],
  [(r) => `set local ${numbered(r.pick(PROFILE), r)}`, 2],
  [(r) => `reset ${r.pick(READ_SETTINGS)}`, 1],
  [() => 'reset all', 1],
  [() => 'discard all', 0.5],
  [() => 'discard temp', 0.3],
  [() => 'discard plans', 0.3],
  [() => 'discard sequences', 0.5],
  [(r) => `set app.${r.pick(NAMES)} = 'x${n(r)}'`, 2],
  [(r) => `set local app.${r.pick(NAMES)} = 'l${n(r)}'`, 1],
  [(r) => ({ text: `reset app.${r.pick(NAMES)}`, isStrict: true }), 0.5],
  [
    (r) => ({
      text: "select set_config('app.tenant', $1, $2)",
      values: [r.pick(['red', 'blue']), r.chance(0.4)],
    }),
    2,
  ],
  [(r) => ({ text: 'select set_config($1, $2, false)', values: ['work_mem', `${n(r)}00kB`] }), 1.5],
  [() => 'set search_path to {home}, pg_catalog', 0.7],
  [() => 'set search_path to {extra}, {home}, oracle_shared', 1],
  [() => 'set search_path = default', 0.3],
  [() => 'set names utf8', 0.2],
  [() => "set time zone interval '+02:00' hour to minute", 1],
  [() => "SET client_min_messages TO warning;SET TIME ZONE INTERVAL '+02:00' HOUR TO MINUTE", 0.7],
  [() => 'set session characteristics as transaction isolation level serializable', 0.4],
  [() => 'set transaction isolation level serializable', 0.4],
  [() => 'set constraints all immediate', 0.5],
  [
    () => ({
      text: "update pg_settings set setting = $1 where name = 'work_mem'",
      values: ['300'],
    }),
    0.4,
  ],
  [() => "load 'plpgsql'", 0.2],
  [(r) => `listen {channel}${id(r)}`, 1],
  [(r) => `notify {channel}${id(r)}, 'p${n(r)}'`, 1.5],
  [(r) => ({ text: "select pg_notify('{channel}1', $1)", values: [`q${n(r)}`] }), 1],
  [() => 'unlisten *', 0.5],
  [(r) => `select pg_advisory_lock({lock}, ${id(r)})`, 1],
  [(r) => `select pg_try_advisory_lock({lock}, ${id(r)})`, 1],
  [(r) => `select pg_advisory_xact_lock({lock}, ${id(r)})`, 1],
  [(r) => `select pg_try_advisory_xact_lock({lock}, ${id(r)})`, 0.7],
  [(r) => `select pg_advisory_unlock({lock}, ${id(r)})`, 1],
  [() => 'select pg_advisory_unlock_all()', 0.5],
];

/** Statements and cursors by name. @type {Entry[]} */
const NAMED = [
  [(r) => `prepare p${r.int(1, 2)} as select ${n(r)} as p`, 1],
  [(r) => `prepare p${r.int(1, 2)} (int) as select n + $1 as p from {h}plain order by id`, 1],
  [(r) => `execute p${r.int(1, 2)}`, 1.5],
  [(r) => `execute p${r.int(1, 2)}(${n(r)})`, 1.5],
  [(r) => `explain (costs off) execute p${r.int(1, 2)}`, 0.3],
  [(r) => `deallocate p${r.int(1, 2)}`, 0.7],
  [() => 'deallocate all', 0.3],
  [(r) => `declare c${r.int(1, 2)} cursor for select id, n from {h}plain order by id`, 1],
  [
    (r) =>
      `declare c${r.int(1, 2)} scroll cursor with hold for select id, name from {s}people order by id`,
    1,
  ],
  [(r) => `fetch ${id(r)} from c${r.int(1, 2)}`, 2],
  [(r) => `fetch backward 1 from c${r.int(1, 2)}`, 0.5],
  [(r) => `move 1 in c${r.int(1, 2)}`, 0.5],
  [(r) => `close c${r.int(1, 2)}`, 1],
  [() => 'close all', 0.3],
];

/** @type {Entry[]} */
const TRANSACTIONS = [
  [() => 'begin', 3],
  [() => 'BEGIN;', 0.5],
  [() => 'start transaction', 0.5],
  [() => 'begin isolation level repeatable read', 0.7],
  [() => 'start transaction isolation level serializable read only', 0.5],
  [() => 'begin transaction read write, isolation level read committed', 0.3],
  [() => 'commit', 4],
  [() => 'COMMIT;', 0.5],
  [() => 'end', 0.3],
  [() => 'rollback', 3],
  [() => 'commit and chain', 0.7],
  [() => 'rollback and chain', 0.5],
  [(r) => `savepoint s${r.int(1, 2)}`, 1],
  [(r) => `rollback to savepoint s${r.int(1, 2)}`, 1],
  [(r) => `release savepoint s${r.int(1, 2)}`, 0.7],
  [
    () => "begin; set local work_mem = '500kB'; select current_setting('work_mem') as m; commit",
    0.7,
  ],
  [() => "begin; insert into {h}logged values (1, 'one text')", 0.5],
  [() => 'commit; begin', 0.3],
  [() => 'lock table {h}counters in share mode', 0.4],
];

/** What a script makes goes into its own schema, or into that of temporary tables. @type {Entry[]} */
const DDL = [
  [(r) => `create table {x}t${r.int(1, 2)} (a int default ${n(r)}, b text)`, 2],
  [
    () =>
      'create table if not exists {x}t1 as select id as a, name as b from {s}people where id < 4',
    1,
  ],
  [(r) => `alter table {x}t${r.int(1, 2)} add column c${n(r)} int default 5`, 1],
  [() => 'alter table {x}t1 alter column a type bigint', 0.7],
  [() => 'alter table {x}t1 rename to t2', 0.4],
  [() => 'create index on {x}t1 (a)', 0.5],
  [(r) => `drop table if exists {x}t${r.int(1, 2)}`, 0.7],
  [() => 'create or replace view {x}v1 as select id, n from {h}plain', 1],
  [() => 'create or replace view {x}v1 as select id, {h}touch_int(n) as n from {h}plain', 1.2],
  [() => 'drop view if exists {x}v1 cascade', 0.4],
  [(r) => `create or replace function {x}f1() returns int language sql as $$ select ${n(r)} $$`, 1],
  [
    (r) =>
      `create or replace function {x}f1() returns int language plpgsql as $$ begin perform set_config('work_mem', '${n(r)}00kB', false); return 1; end $$`,
    1.2,
  ],
  [() => 'drop function if exists {x}f1()', 0.4],
  [() => "create type {x}kind as enum ('a', 'b')", 0.4],
  [() => "select 'a'::{x}kind as k, enum_range(null::{h}mood)::text as r", 0.5],
  [() => "select row(1, 'y')::{h}pair as pair", 0.5],
  [() => 'create materialized view {x}m1 as select sum(n)::int as n from {h}plain', 0.4],
  [() => 'refresh materialized view {x}m1', 0.4],
  [(r) => `create temp table tmp1 (a int, b text default 'b${n(r)}')`, 2],
  [() => 'create temporary table if not exists tmp1 on commit drop as select 1 as a', 0.7],
  [() => 'select id as a into temp tmp1 from {h}plain', 0.7],
  [() => 'create table pg_temp.tmp1 (a text)', 0.4],
  [() => 'drop table if exists tmp1', 0.7],
  [
    (r) =>
      `create or replace function pg_temp.g() returns int language sql as $$ select ${n(r)} $$`,
    0.7,
  ],
  [() => 'create temp view plain as select 0 as id, 0 as n, null::text as t', 0.4],
  [() => 'create temp sequence tseq', 0.3],
  [() => "select nextval('tseq')::int as v", 0.3],
  [() => "comment on table {x}t1 is 'a comment'", 0.2],
  [() => 'vacuum {x}t1', 0.2],
  [() => 'analyze {x}t1', 0.2],
  [() => 'drop table {x}t1, {x}t2', 0.3],
];

/** Weights of the kinds among single statements. */
const KINDS = /** @type {const} */ ([
  [READS, 10],
  [WRITES, 5],
  [EFFECTS, 3],
  [SESSION, 3],
  [TRANSACTIONS, 1.5],
  [DDL, 1.7],
  [NAMED, 1],
  [ERRORS, 1.2],
]);

module.exports = {
  DDL,
  EFFECTS,
  ERRORS,
  KINDS,
  NAMED,
  NAMES,
  PROFILE,
  READS,
  SESSION,
  TRANSACTIONS,
  WRITES,
  id,
  n,
  numbered,
};
