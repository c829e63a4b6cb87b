'use strict';

// One long session, statement by statement, with pg and with this driver, in each of the forms in which
// query() may be called: the same results, errors, notices and transaction states.

const assert = require('node:assert/strict');
const { setImmediate } = require('node:timers/promises');
const pg = require('pg');
const ours = require('../..');
const { options } = require('../support/connect');

/** Where the first id of a user's object lies. */
const FIRST_USER_OID = 16384;

const SCRIPT = [
  // Definitions
  "create type mood as enum ('sad', 'ok', 'happy')",
  'create type pair as (a int, b text)',
  'create domain positive as int check (value > 0)',
  'create sequence numbers start 5',
  "create table people (id serial primary key, name text not null, mood mood, tags text[], at timestamptz default '2020-01-02 03:04:05+00', data jsonb, raw bytea, pay numeric(10, 2))",
  'create table if not exists people (id int)',
  'create unlogged table logs (id bigint, line varchar(20))',
  'create temp table scratch (n int) on commit delete rows',
  'create index people_name on people (name)',
  'create unique index on logs (id)',
  "create view happy as select id, name from people where mood = 'happy'",
  'create materialized view counts as select count(*) as n from people',
  "create function twice(n int) returns int language sql as 'select 2 * n'",
  'create procedure touch(inout n int) language plpgsql as $$ begin n := n + 1; end $$',
  "create function warn(t text) returns void language plpgsql as $$ begin raise warning 'told %', t; end $$",
  "create function pairs() returns setof pair language sql as 'select 1, ''x'' union all select 2, null'",
  'create rule quiet as on insert to logs where new.id < 0 do instead nothing',
  'create trigger none before insert on people for each row execute function suppress_redundant_updates_trigger()',
  'create table parts (id int, k int) partition by list (k)',
  'create table parts_1 partition of parts for values in (1)',
  'create statistics st on id, name from people',
  "comment on table people is 'some people'",
  'alter table people add column extra int default 7',
  'alter table people rename column extra to more',
  'alter index people_name rename to people_names',
  "alter type mood add value 'elated'",
  'grant select on people to public',
  'revoke select on people from public',
  'alter default privileges grant select on tables to public',
  // Rows
  "insert into people (name, mood, tags, data, raw, pay) values ('ann', 'happy', '{a,\"b c\",NULL}', '{\"a\": [1, null]}', '\\x00ff', 12.50)",
  "insert into people (name) values ('bob'), ('eve')",
  "insert into people (name) values ('kim') returning id, name, mood",
  "insert into people (id, name) values (1, 'dup') on conflict do nothing",
  "insert into people (id, name) values (1, 'ann') on conflict (id) do update set more = 8 returning id, more",
  'insert into people (name) select name from people where false',
  "insert into logs values (-1, 'gone')",
  "insert into logs select n, 'line ' || n from generate_series(1, 20) n",
  'insert into parts values (1, 1), (2, 1)',
  'insert into parts values (3, 3)',
  'insert into people (name) values (null)',
  "insert into people (id, name) values (1, 'again')",
  "insert into logs values (100, 'a line that is longer than twenty characters')",
  "update people set more = 9 where name = 'bob'",
  'update people set more = 9 where false',
  'update people set more = more + 1 returning id, more',
  'delete from logs where id > 18',
  'delete from logs where id = 18 returning *',
  'with moved as (delete from logs where id = 17 returning id) select id from moved',
  "with added as (insert into logs values (50, 'x') returning id) update people set more = 1 from added where people.id = added.id",
  "merge into logs using (values (1), (60)) v (id) on logs.id = v.id when matched then update set line = 'm' when not matched then insert values (v.id, 'n')",
  'truncate scratch',
  // Reading
  'select * from people order by id',
  'select * from happy',
  'table counts',
  "values (1, 'x'), (2, null)",
  'select',
  'select from people',
  'select 1 as a, 2 as a, \'x\' as "", null as "null", true as "constructor"',
  "select 1::int2, 2::int8, 1.5::float4, 2.5::float8, 3.10::numeric, 'x'::char(3), 'y'::varchar(5), 'n'::name",
  "select true, null::bool, '{}'::json, '[1]'::jsonb, 'a'::bytea, '00000000-0000-0000-0000-000000000001'::uuid",
  "select '2020-01-02'::date, '2020-01-02 03:04:05.678901'::timestamp, '2020-01-02 03:04:05+02'::timestamptz, '03:04'::time, '1 day 2 hours'::interval",
  "select '{1,2}'::int[], '{{1,2},{3,4}}'::int[], '{}'::text[], '{NULL,a}'::text[], '{t,f}'::bool[], '{\"2020-01-02\"}'::date[]",
  "select '(1,2)'::point, '<(1,2),3>'::circle, '1.2.3.4/8'::inet, '[1,5)'::int4range, '1'::xml, 'a'::tsvector, '101'::bit(3), '$1.00'::money",
  "select 'happy'::mood, '{sad,ok}'::mood[], row(1, 'x')::pair, array[row(1, 'x')::pair], 5::positive",
  'select pairs(), (pairs()).*',
  'select * from pairs()',
  "select twice(4), nextval('numbers'), currval('numbers')",
  "select warn('x')",
  "select mood, count(*), sum(more), avg(pay), array_agg(name order by id), json_agg(id order by id), string_agg(name, ',' order by id) from people group by mood order by mood",
  'select n from generate_series(1, 300) n',
  'select null::int as n from generate_series(1, 3)',
  "select repeat('é😀', 300) as long",
  'select * from people for update',
  'select 1 into temp chosen',
  'select * from chosen',
  'create table copied as select * from logs',
  'create table empty as select * from logs with no data',
  'refresh materialized view counts',
  'explain (costs off) select * from people where id = 1',
  'explain (costs off, format json) select 1',
  'analyze people',
  'vacuum logs',
  'reindex table people',
  'cluster logs using logs_id_idx',
  'checkpoint',
  // Texts that are none, or several
  '',
  ';',
  '-- nothing',
  'select 1;',
  'select 1 as one; select 2 as two',
  "select 1 as one;; select 'x' as two;",
  "insert into logs values (70, 'a'); select count(*) from logs; delete from logs where id = 70",
  'select 1 as one; select 1 / 0; select 3',
  'begin; select 1 as one; commit',
  'create table several (n int); insert into several values (1), (2); table several; drop table several',
  // The session
  'show server_encoding',
  "set work_mem = '1MB'",
  'show work_mem',
  'reset work_mem',
  "set local work_mem = '2MB'",
  'set no_such_setting = 1',
  'set session characteristics as transaction read write',
  "select set_config('my.own', 'x', false), current_setting('my.own')",
  'prepare plan (int) as select $1 + 1 as n',
  'execute plan(1)',
  "execute plan('x')",
  'deallocate plan',
  'deallocate plan',
  'listen channel',
  "notify channel, 'payload'",
  'unlisten *',
  "load 'plpgsql'",
  'discard plans',
  "do $$ begin raise notice 'from do'; end $$",
  'do $$ begin perform 1 / 0; end $$',
  'call touch(1)',
  // Transactions
  'commit',
  'begin',
  'begin',
  'savepoint one',
  'select 1 / 0',
  'select 1',
  'rollback to savepoint one',
  'release savepoint one',
  'declare reader cursor for select n from generate_series(1, 5) n',
  'fetch 2 from reader',
  'move 1 in reader',
  'fetch all from reader',
  'fetch 1 from reader',
  'close reader',
  'lock table people in share mode',
  'insert into scratch values (1), (2)',
  'table scratch',
  'set constraints all deferred',
  'commit and chain',
  'table scratch',
  'rollback',
  'rollback',
  'start transaction isolation level serializable read only',
  "insert into logs values (80, 'x')",
  'commit',
  "prepare transaction 'p'",
  // Errors
  'selec 1',
  'select no_such_column from people',
  'select * from no_such_table',
  "select 'x'::int",
  'select 1 +',
  "select 'unended",
  'drop table no_such_table',
  'drop table if exists no_such_table',
  'create table people (n int)',
  'update people set id = 2 where id = 1',
  'select -5::positive, (-5)::positive',
  "select 'bored'::mood",
  'alter table people add check (id < 0)',
  // The end
  'drop view happy',
  'drop materialized view counts',
  'drop function twice(int)',
  'drop index people_names',
  'drop table people, logs cascade',
  'drop type mood',
  'drop domain positive',
];

const SHAPES = {
  'a text': (text) => [text],
  'a text and no values': (text) => [text, []],
  'an object': (text) => [{ text }],
  'an object with rows as arrays': (text) => [{ text, rowMode: 'array' }],
  'an object for the extended protocol': (text) => [{ text, queryMode: 'extended' }],
  'an object with a name': (text, index) => [{ text, name: `statement ${index}` }],
  'a text with a callback': (text) => [text, 'callback'],
};

/** @param {unknown} value @param {string} schema */
function withoutSchema(value, schema) {
  return typeof value === 'string' ? value.replaceAll(schema, 'SCHEMA') : value;
}

/** @param {any} result @param {string} schema */
function describeResult({ command, rowCount, oid, rows, fields, rowAsArray }, schema) {
  return {
    command,
    rowCount,
    oid,
    rowAsArray: Boolean(rowAsArray),
    rows: JSON.stringify(rows).replaceAll(schema, 'SCHEMA'),
    fields: fields.map((field) => ({
      ...field,
      // Whether, not which: each driver has its own tables.
      tableID: field.tableID > 0,
      dataTypeID: field.dataTypeID < FIRST_USER_OID ? field.dataTypeID : 'own',
    })),
  };
}

/** @param {any} error @param {string} schema */
function describeError(error, schema) {
  const names = ['message', 'name', 'severity', 'code', 'detail', 'hint', 'position', 'where'];
  const more = ['table', 'column', 'dataType', 'constraint', 'internalQuery'];
  return {
    ...Object.fromEntries(
      [...names, ...more].map((name) => [name, withoutSchema(error[name], schema)]),
    ),
    // That of the protocol, which need not be the same.
    routine: error.routine?.replace(/^exec_(?:simple_query|parse_message)$/, 'exec'),
  };
}

/** @param {any} driver @param {string} schema @param {(text: string, index: number) => any[]} shape */
async function play(driver, schema, shape) {
  const client = new driver.Client(options({ options: `-c search_path=${schema}` }));
  const notices = [];
  client.on('notice', ({ severity, code, message }) =>
    notices.push([severity, code, withoutSchema(message, schema)]),
  );
  await client.connect();
  const played = [];
  try {
    await client.query(`drop schema if exists ${schema} cascade`);
    await client.query(`create schema ${schema}`);
    notices.splice(0);
    for (const [index, text] of SCRIPT.entries()) {
      const parameters = shape(text, index);
      let outcome;
      try {
        const value = await (parameters[1] === 'callback'
          ? new Promise((resolve, reject) => {
              const returned = client.query(parameters[0], (error, result) =>
                error ? reject(error) : resolve(result),
              );
              assert.equal(returned, undefined);
            })
          : client.query(...parameters));
        outcome = Array.isArray(value)
          ? value.map((one) => describeResult(one, schema))
          : describeResult(value, schema);
      } catch (error) {
        outcome = describeError(error, schema);
      }
      // Events come with the answer, or a turn of the loop behind; and pg rejects before the server is
      // ready again.
      do await setImmediate();
      while (driver === pg && !client.readyForQuery);
      played.push({
        text,
        outcome,
        status: client.getTransactionStatus(),
        notices: notices.splice(0),
      });
    }
    await client.query(`rollback; drop schema ${schema} cascade`);
  } finally {
    await client.end();
  }
  return played;
}

describe('a session', function () {
  this.timeout(120_000);

  for (const [name, shape] of Object.entries(SHAPES)) {
    it(`behaves as in pg, with each statement passed as ${name}`, async () => {
      const theirs = await play(pg, 'dialogue_of_pg', shape);
      const mine = await play(ours, 'dialogue_of_ours', shape);
      const differences = theirs.flatMap((expected, index) => {
        try {
          assert.deepEqual(mine[index], expected);
          return [];
        } catch (error) {
          return [`${expected.text}\n${error.message}`];
        }
      });
      assert.deepEqual(differences, [], differences.join('\n\n'));
    });
  }
});
