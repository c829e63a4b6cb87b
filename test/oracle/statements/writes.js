'use strict';

// Statements that change rows or tables.

const { id, n } = require('./values');

/** Those that change rows, plain ones and such as hide a call. @type {import('./values').Entry[]} */
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

/** What a script makes goes into its own schema, or into that of temporary tables. @type {import('./values').Entry[]} */
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

module.exports = { DDL, WRITES };
