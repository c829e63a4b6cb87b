'use strict';

// The same random script on a borrowed client and on a client of `pg`: statements that change or show
// the session. All results, error codes, notices and notifications must be alike.

const assert = require('node:assert/strict');
const { outcomeOf } = require('../../support/outcomes');
const { SCHEMA, calmOptions, withPgClient, withPool } = require('../calm');

/**
 * Without what the extended protocol has another answer for: statement_timestamp(), which is that of
 * Bind, an empty text in a failed transaction, COPY by query().
 * `%n` is a small number, `%t` one of some tables, `%c` a cursor, `%p` a statement, `%s` a savepoint.
 */
const TEXTS = [
  ['begin', 2],
  ['begin isolation level repeatable read', 0.5],
  ['start transaction read only', 0.4],
  ['commit', 2.5],
  ['rollback', 1.5],
  ['commit and chain', 0.4],
  ['savepoint %s', 1],
  ['rollback to savepoint %s', 1],
  ['release savepoint %s', 0.7],
  ['set local work_mem = %n00', 1],
  ["set statement_timeout = '1%ns'", 1],
  ["set application.name = 'n%n'", 1],
  ["set datestyle = 'SQL, DMY'", 0.3],
  ["set datestyle = 'ISO, MDY'", 0.5],
  ['set extra_float_digits = %n', 0.4],
  ["set timezone = 'Asia/Tokyo'", 0.3],
  ['set transaction isolation level serializable', 0.3],
  ['show work_mem', 1],
  ['show transaction_isolation', 0.5],
  ["select current_setting('application.name', true) as n", 1],
  ["select set_config('application.name', $1::text, $2::boolean)", 1, ['c%n', true]],
  ["select set_config('application.name', $1::text, $2::boolean)", 1, ['c%n', false]],
  // Its rule answers with a row, which the extended protocol does not show without parameters either.
  ["update pg_settings set setting = $1 where name = 'work_mem'", 0.5, ['%n000']],
  ['reset all', 0.3],
  ['reset application.name', 0.3],
  ['create temp table %t as select %n as a, now() is not null as b', 1.5],
  ['select %n as a into temp %t', 1],
  ['create temporary table if not exists %t (a int, b text)', 1],
  ['create table pg_temp .%t (a text)', 0.5],
  ['create table %t (a int default %n)', 1],
  ['alter table %t add column c%n text', 1],
  ['alter table %t alter column a type text', 1],
  ['alter table %t rename to %t', 0.5],
  ['drop table %t', 1],
  ['discard temp', 0.3],
  ['discard all', 0.2],
  ['insert into %t (a) values ($1)', 2, ['%n']],
  ['insert into %t default values', 1],
  ['insert into %t values (%n)', 1],
  ['select * from %t', 4],
  ['select a from %t', 4],
  ['select count(*)::int as n from %t where a = $1', 2, ['%n']],
  ['update %t set a = $1', 1, ['%n']],
  ['prepare %p as select %n as p', 1],
  ['prepare %p (int) as select $1 + %n as q, $1::text as r', 1],
  ['execute %p', 1.5],
  ['execute %p(%n)', 1.5],
  ['deallocate %p', 1],
  ['deallocate all', 0.3],
  ['declare %c cursor for select %n as c, * from generate_series(1, 5) g', 1],
  ['declare %c cursor with hold for select g::text as other from generate_series(1, 5) g', 1],
  ['fetch 2 from %c', 2],
  ['fetch all from %c', 1],
  ['move 1 in %c', 0.7],
  ['close %c', 1],
  ['close all', 0.3],
  ['listen oracle_%n', 0.7],
  ["notify oracle_%n, '%n'", 0.7],
  ['unlisten *', 0.3],
  ['select count(*)::int as n from pg_listening_channels()', 0.5],
  ["do $$ begin raise notice 'noise %', %n; end $$", 0.7],
  ["do $$ begin execute 'create temp table %t as select %n as a'; end $$", 0.7],
  ["do $$ begin perform set_config('application.name', 'do%n', false); end $$", 0.7],
  ['do $$ begin raise exception using errcode = $x$UE00%n$x$; end $$', 0.5],
  ['create sequence %q', 0.5],
  ["select nextval('%q')", 1],
  ["select currval('%q')", 1],
  ['select lastval()', 1],
  ['select pg_try_advisory_lock(hashtext(current_schema()), %n)', 0.5],
  ['select pg_advisory_unlock(hashtext(current_schema()), %n)', 0.5],
  [
    "select count(*)::int as n from pg_locks where locktype = 'advisory' and pid = pg_backend_pid()",
    0.5,
  ],
  ['create or replace function pg_temp.f() returns int language sql as $$ select %n $$', 0.5],
  ['create or replace function f() returns int language sql as $$ select %n $$', 0.7],
  ['drop function f()', 0.3],
  ['select f()', 1],
  ['select pg_temp.f()', 0.7],
  ['create or replace view v as select %n as v', 0.5],
  ['drop view v', 0.3],
  ['select * from v', 1],
  ['create type pair as (x int, y text)', 0.3],
  ["select row($1::int, 'y')::pair as pair", 0.5, ['%n']],
  ['explain (costs off) select * from %t', 0.4],
  [
    'explain (analyze, costs off, timing off, summary off) create temp table %t as select %n as a',
    0.4,
  ],
  ['set search_path to other, mine', 0.4],
  ['set search_path to mine, other', 0.4],
  ['set constraints all deferred', 0.3],
  ['select 1 / $1::int as q', 0.7, [0]],
  ['select $1::int as i', 0.5, ['no number']],
  ['select 0.1::float8 + 0.2::float8 as f, $1::date as d', 1, ['2024-02-03']],
  ['select %n as a; select %n as b', 0.5],
  ['begin; select %n as a; commit', 0.4],
  ['lock table %t', 0.3],
  ['vacuum %t', 0.2],
  ['analyze %t', 0.3],
  ['truncate %t', 0.4],
  ['savepoints', 0.2],
].map(([text, weight, values]) => [{ text, values }, weight]);

const NAMES = { '%n': 9, '%t': 3, '%c': 2, '%p': 2, '%s': 2, '%q': 2 };
const PREFIXES = { '%n': '', '%t': 't', '%c': 'c', '%p': 'p', '%s': 's', '%q': 'q' };

/** What a step of the script is. @param {import('../random').Random} random */
function newStep(random) {
  const put = (text) =>
    text.replaceAll(/%[ntcpsq]/g, (name) => PREFIXES[name] + random.int(1, NAMES[name]));
  const { text, values } = random.weighted(TEXTS);
  return {
    text: put(text),
    values: values?.map((value) => (typeof value === 'string' ? put(value) : value)),
  };
}

/** @param {any} result of one text, or of some */
function comparableResult(result) {
  if (Array.isArray(result)) return result.map(comparableResult);
  const { command, rowCount, rows, fields } = result;
  const columns = fields.map(({ name }) => name);
  return { command, rowCount, rows, columns };
}

/** Runs steps, and says what each has come to. */
async function runSteps(ask, steps, together) {
  const outcomes = [];
  for (const [index, step] of steps.entries()) {
    outcomes[index] = outcomeOf(ask(step));
    if (!together[index]) await outcomes[index];
  }
  return Promise.all(outcomes);
}

/** @param {any} client of either driver @param {string} schema */
function hear(client, schema) {
  const heard = [];
  client.on('notice', ({ message, code }) => heard.push(['notice', code, message]));
  client.on('notification', ({ channel, payload }) =>
    heard.push([channel.replace(schema, ''), payload]),
  );
  return heard;
}

async function sameAsPg(action) {
  const { random } = action;
  const id = action.ledger.newId();
  const steps = [];
  while (steps.length < random.int(10, 80)) {
    const step = newStep(random);
    // A text is known after some uses.
    for (let left = random.chance(0.4) ? random.int(1, 4) : 1; left > 0; --left) steps.push(step);
    if (random.chance(0.5) && steps.length > 3) steps.push(random.pick(steps.slice(-12)));
  }
  const together = steps.map(() => random.chance(0.3));
  const [own, reference] = ['ours', 'theirs'].map((whose) => `${SCHEMA}_o${id}_${whose}`);
  // The schemas that a text names are other ones for each.
  const put = (text, schema) =>
    text
      .replace('mine', schema)
      // Channels are those of the whole database.
      .replace('oracle_', `${schema}_`)
      .replace('other,', `${schema}_b,`)
      .replace(/other$/, `${schema}_b`);
  await withPgClient(action, {}, async (owner) => {
    for (const schema of [own, reference]) {
      await owner.ask(`create schema ${schema}; create schema ${schema}_b`);
    }
    const search = (schema) => ({ options: `-c search_path=${schema}` });
    await withPgClient(action, search(reference), async (theirs) => {
      const theirNews = hear(theirs, reference);
      const expected = await runSteps(
        ({ text, values }) => theirs.ask(put(text, reference), values),
        steps,
        together,
      );
      const options = { ...calmOptions(random), ...search(own) };
      await withPool(action, 'pool of a script', options, async (place) => {
        const client = await place.on.connect();
        const ourNews = hear(client, own);
        const actual = await action.inTime(
          'a script',
          runSteps(({ text, values }) => client.query(put(text, own), values), steps, together),
        );
        if (actual === undefined) {
          client.release(true);
          return;
        }
        compareAll(action, steps, actual, expected);
        action.check('notices and notifications', () => assert.deepStrictEqual(ourNews, theirNews));
        client.release();
        await checkReset(action, place);
      });
    });
    for (const schema of [own, reference]) {
      await owner.ask(`drop schema ${schema} cascade; drop schema ${schema}_b cascade`);
    }
  });
}

/** Up to the first difference, behind which all may be different. */
function compareAll(action, steps, actual, expected) {
  for (const [index, { text, values }] of steps.entries()) {
    const [ours, theirs] = [actual[index], expected[index]].map(({ value, error }) =>
      error === undefined ? comparableResult(value) : { code: error.code },
    );
    action.log(`${text} ${values ?? ''}: ${JSON.stringify(theirs)}`);
    action.round.journal.count('oracle', theirs.code ?? 'fulfilled');
    const before = action.round.journal.faultCount;
    action.check(`step ${index}, ${text} ${values ?? ''}`, () =>
      assert.deepStrictEqual(ours, theirs),
    );
    if (action.round.journal.faultCount > before) return;
  }
}

/** The next borrower sees nothing of it. */
async function checkReset(action, place) {
  const client = await place.on.connect();
  const { rows } = await client.query({
    text: `select coalesce(current_setting('application.name', true), '') as name,
      current_setting('work_mem') = boot_val || 'kB' or current_setting('work_mem') = '4MB' as memory,
      (select count(*)::int from pg_class where relnamespace = pg_my_temp_schema() and relkind in ('r', 'v')) as temporary,
      (select count(*)::int from pg_prepared_statements where name not like 'pgc%') as prepared,
      (select count(*)::int from pg_cursors where name <> '') as cursors,
      (select count(*)::int from pg_listening_channels()) as channels
      from pg_settings where name = 'work_mem'`,
    prepare: false,
  });
  client.release();
  const clean = { name: '', memory: true, temporary: 0, prepared: 0, cursors: 0, channels: 0 };
  action.check('the next borrower', () => assert.deepStrictEqual(rows, [clean]));
}

module.exports = { sameAsPg };
