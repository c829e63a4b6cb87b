'use strict';

// Statements whose effect on the session no text shows: their functions are in world.js.

const { n, numbered } = require('./values');

/** Those whose effect on the session no text shows. @type {import('./values').Entry[]} */
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

module.exports = { EFFECTS };
