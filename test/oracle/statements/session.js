'use strict';

// Statements that change the session or a transaction by their own words, and what they name.

const { NAMES, PROFILE, READ_SETTINGS, id, n, numbered } = require('./values');

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

/** Those that change the session by their own words. @type {import('./values').Entry[]} */
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
  [() => 'set transaction read only', 0.4],
  [() => 'set constraints all immediate', 0.5],
  [() => 'set constraints all deferred', 0.3],
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

/** Statements and cursors by name. @type {import('./values').Entry[]} */
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

/** @type {import('./values').Entry[]} */
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

module.exports = { NAMED, SESSION, TRANSACTIONS };
