'use strict';

// Blocks that change the session and look at it, by their words or by what they call, and what tools ask.

const { DDL, EFFECTS, PROFILE, READS, SESSION, WRITES, n, numbered } = require('../statements');
const { some } = require('./parts');

/** @type {readonly import('./parts').Idiom[]} */
const SESSIONS = [
  // The session.
  [
    (r) => ({
      parts: [
        `set ${numbered(r.pick(PROFILE), r)}`,
        ...some(r, 1, 3, READS),
        'reset all',
        ...some(r, 0, 1, READS),
      ],
    }),
    2,
  ],
  [
    (r) => ({
      parts: [
        'begin',
        `set local ${numbered(r.pick(PROFILE), r)}`,
        ...some(r, 1, 2, READS),
        'commit',
        ...some(r, 1, 1, READS),
      ],
    }),
    2,
  ],
  [
    (r) => {
      const tenant = r.pick(['red', 'blue']);
      return {
        parts: [
          'begin',
          'set local role oracle_tenant',
          { text: "select set_config('app.tenant', $1, true)", values: [tenant] },
          'select id, t from {h}secured order by id',
          ...some(r, 0, 1, READS),
          'commit',
          'select {app:tenant} as app, current_user::text as who',
        ],
      };
    },
    2,
  ],
  [
    (r) => ({
      parts: [
        'set role oracle_tenant',
        `set app.tenant = '${r.pick(['red', 'blue'])}'`,
        r.pick([
          'select id, t from {h}secured order by id',
          'select id, t from {h}guarded order by id',
        ]),
        ...some(r, 0, 2, READS),
        'reset role',
        'select count(*)::int as n from {h}secured',
      ],
    }),
    1.5,
  ],
  [
    (r) => ({
      isWhole: true,
      parts: [
        { text: 'select setseed($1)', values: [n(r) / 10] },
        'select round(random()::numeric, 6) as r',
        'select round(random()::numeric, 6) as r',
      ],
    }),
    0.7,
  ],
  [
    (r) => ({
      parts: [
        ...some(r, 1, 1, EFFECTS),
        'select {h}peek()',
        ...some(r, 0, 1, READS),
        'select {app:touched} as app',
      ],
    }),
    7,
  ],
  [
    (r) => ({
      parts: [
        ...some(r, 1, 1, WRITES),
        'select {h}peek()',
        'select {app:trace} as app, {app:touched} as touched',
      ],
    }),
    4,
  ],
  [(r) => ({ parts: [...some(r, 1, 1, SESSION), ...some(r, 2, 4, READS)] }), 3],
  [
    () => ({
      parts: [
        'set search_path to {home}, pg_catalog',
        "select lower('ABC') as l",
        'select {app:touched} as app',
        'set search_path to {extra}, {home}, oracle_shared',
        "select lower('ABC') as l",
      ],
    }),
    1,
  ],
  // Sequences.
  [
    (r) => ({
      parts: [
        r.pick([
          "insert into {h}serial (t) values ('x')",
          "insert into {h}ident (t) values ('x')",
          "select nextval('{h}seq')::int as v",
          'select {h}next_one()::int as v',
        ]),
        ...some(r, 0, 2, READS, WRITES),
        r.pick([
          'select lastval()::int as v',
          "insert into {h}logged values (lastval(), 'last') returning id",
        ]),
      ],
    }),
    3,
  ],
  // Temporary tables.
  [
    (r) => ({
      parts: [
        'create temp table tmp1 (a int, b text)',
        "insert into tmp1 values (1, 'x'), (2, 'y')",
        ...some(r, 0, 2, READS),
        'select * from tmp1 order by a',
        r.pick(['drop table tmp1', 'discard temp', 'select 1 as one']),
      ],
    }),
    2,
  ],
  [
    () => ({
      parts: [
        'begin',
        'create temp table tmp1 on commit drop as select id as a from {h}plain',
        'select count(*)::int as n from tmp1',
        'commit',
        'select * from tmp1',
      ],
    }),
    1,
  ],
  // A proof ends with what it was about.
  [
    (r) => ({
      parts: [
        'create view {x}v1 as select id, n from {h}plain',
        ...Array.from({ length: r.int(1, 3) }, () => 'select * from {x}v1'),
        'create or replace view {x}v1 as select id, {h}touch_int(n) as n from {h}plain',
        'select * from {x}v1',
        'select {h}peek()',
        ...some(r, 0, 1, READS),
      ],
    }),
    1.5,
  ],
  [
    (r) => ({
      parts: [
        'create or replace function {x}f1() returns int language sql as $$ select 1 $$',
        ...Array.from({ length: r.int(1, 3) }, () => 'select {x}f1()'),
        "create or replace function {x}f1() returns int language plpgsql as $$ begin perform set_config('work_mem', '123kB', false); return 2; end $$",
        'select {x}f1()',
        'select {h}peek()',
      ],
    }),
    1.5,
  ],
  [
    (r) => ({
      parts: [
        'create table {x}t1 (a int, b text)',
        ...some(r, 1, 2, DDL),
        'insert into {x}t1 (a) values (1)',
        'alter table {x}t1 add column c int default 3',
        'select * from {x}t1 order by a',
      ],
    }),
    1.5,
  ],
  [
    () => ({
      parts: [
        'listen {channel}1',
        "notify {channel}1, 'hello'",
        "select pg_notify('{channel}1', 'again')",
        'unlisten *',
      ],
    }),
    1,
  ],
  // As tools ask when they connect.
  [
    (r) => ({
      parts: [
        r.pick([
          'select version();',
          'SELECT version()',
          'select current_schema()',
          "select current_setting('server_version_num')",
        ]),
        ...some(r, 1, 2, READS),
      ],
    }),
    2,
  ],
  [
    () => ({
      parts: [
        "SET client_min_messages TO warning;SET TIME ZONE INTERVAL '+02:00' HOUR TO MINUTE",
        "select timestamptz '2024-07-01 12:00:00+00'::text as t",
        'show client_min_messages',
      ],
    }),
    1,
  ],
  // The same text over and over, as it is prepared.
  [
    (r) => {
      const step = r.weighted(r.pick([READS, READS, WRITES, EFFECTS]))(r);
      return { parts: Array.from({ length: r.int(2, 5) }, () => step) };
    },
    3,
  ],
  [() => ({ parts: [{ pid: true }] }), 0.7],
  [
    (r) => ({
      parts: [
        { text: 'select id, name from {s}people order by id', rows: r.int(1, 5), values: [] },
      ],
    }),
    1,
  ],
];

module.exports = { SESSIONS };
