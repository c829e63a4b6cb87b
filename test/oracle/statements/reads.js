'use strict';

// Statements that read, and such as are wrong or fail on their way.

const { NAMES, READ_SETTINGS, id, n } = require('./values');

/** Those that change nothing, whatever they may look at. @type {import('./values').Entry[]} */
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

/** Those that are wrong, or fail on their way. @type {import('./values').Entry[]} */
const ERRORS = [
  [(r) => ({ text: 'select 1 / $1::int as q', values: [r.pick([0, 0, 1])] }), 2],
  [() => 'select * from {h}missing', 1],
  [() => 'begin isolation level nonsense', 0.5],
  [() => 'begin; select 1/0 as q; commit', 0.4],
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

module.exports = { ERRORS, READS };
