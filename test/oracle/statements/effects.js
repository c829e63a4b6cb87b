'use strict';

// Statements whose effect on the session no text shows: their functions are in world.js.

const { n, numbered } = require('./values');

/** Those whose effect on the session no text shows. @type {import('./values').Entry[]} */
const EFFECTS = [
  // Row security, partitions, foreign keys and views that lead to what has an effect.
  [() => 'select id, t from {h}guarded order by id', 1],
  [
    (r) => ({
      text: 'insert into {h}parted values ($1, $2) returning id',
      values: [r.pick([2, 12, 13]), 'p'],
    }),
    1.5,
  ],
  [() => "update {h}parted set t = 'p' where id = 11", 0.7],
  [() => 'delete from {h}parent where id = 2', 1],
  [(r) => ({ text: 'insert into {h}through values ($1, $2)', values: [n(r), 'through'] }), 1],
  [(r) => `insert into {h}instead values (${n(r)})`, 0.7],
  [
    (r) =>
      `insert into {h}plain values (1, 2, null) on conflict (id) do update set t = {h}touch('v${n(r)}') returning t`,
    1,
  ],
  [
    (r) =>
      `with w as (insert into {h}triggered values (${n(r)}, 'cte') returning id) select id from w`,
    1,
  ],
  [
    (r) =>
      `merge into {h}triggered t using (values (1, 'm'), (${n(r)}, 'm')) v (id, t) on t.id = v.id when matched then update set t = v.t when not matched then insert values (v.id, v.t)`,
    0.7,
  ],
  // set_config() in other clothes.
  [(r) => `select * from set_config('work_mem', '${n(r)}10kB', false)`, 0.7],
  [
    (r) =>
      `with w as materialized (select set_config('work_mem', '${n(r)}20kB', false) as v) select v from w`,
    0.7,
  ],
  [(r) => `values (set_config('work_mem', '${n(r)}30kB', false))`, 0.5],
  [
    (r) =>
      `select 1 as one from {h}plain where id = 1 and set_config('work_mem', '${n(r)}40kB', false) <> ''`,
    0.7,
  ],
  [(r) => `insert into {h}plain values (90, 1, set_config('work_mem', '${n(r)}50kB', false))`, 0.7],
  [(r) => `select u&"set\\005fconfig"('work_mem', '${n(r)}60kB', false)`, 0.7],
  [(r) => `select "set_config" /* in between */ (E'work\\x5fmem', '${n(r)}70kB', false)`, 0.7],
  [
    (r) =>
      `select length(query_to_xml('select set_config(''work_mem'', ''${n(r)}80kB'', false)', true, false, '')::text) > 0 as some`,
    0.7,
  ],
  [
    (r) => `explain (analyze, costs off, timing off, summary off) select {h}touch_int(${n(r)})`,
    0.7,
  ],
  [() => 'table {h}touching', 0.7],
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

module.exports = { EFFECTS };
