'use strict';

// Names that others give a meaning: functions beside those of pg_catalog, functions that look like
// columns, and tables that hide others. And locks: two reads in a tick beside a migration of both tables.

const assert = require('node:assert/strict');
const { setTimeout: delay } = require('node:timers/promises');
const { outcomeOf } = require('../../support/outcomes');
const { SCHEMA, calmOptions, withPgClient, withPool } = require('../calm');
const { MAX_AGE, SLACK_MILLIS, shortLived } = require('../staleness');

/** Says who has called it before in the same transaction: nobody, for whoever is alone in theirs. */
const TELLTALE = `returns text language plpgsql as $$
  declare before text := coalesce(current_setting('stress.who', true), '');
  begin perform set_config('stress.who', $1::text, true); return before; end $$`;

/** Functions with side effects whose names are those of harmless ones, and calls of them. */
const NAMESAKES = [
  ['log(text)', 'select log($1::text) as before'],
  ['lower(int)', 'select lower($1::int) as before'],
  ['abs(text)', 'select abs($1::text) as before'],
  ['substring(int)', 'select substring($1::int) as before'],
  ['%T(int)', 'select %S.%T($1::int) as before'],
  ['told(%T)', 'select t.told as before from %T t where t.id = $1::int'],
  ['told(%T)', 'select (t).told as before from %T t where id = $1::int'],
  ['told(%T)', 'select %T.told as before from only %T where id = $1::int'],
];

/** Callers in one tick never meet in a transaction where one of them may leave something. */
async function namesakes(action) {
  const { random } = action;
  const [signature, call] = random.pick(NAMESAKES);
  const id = action.ledger.newId();
  const schema = `${SCHEMA}_n${id}`;
  const name = `n${id}`;
  const put = (text) => text.replaceAll('%T', name).replaceAll('%S', schema);
  const isLate = random.chance(0.4);
  action.log(`${call}${isLate ? ', made late through the pool' : ''}`);
  const count = 12;
  await withPgClient(action, {}, async (reference) => {
    const ofRow = signature.startsWith('told');
    const body = ofRow ? TELLTALE.replace('$1::text', '$1.id::text') : TELLTALE;
    const make = `create function ${schema}.${put(signature)} ${body}`;
    await reference.query(`create schema ${schema}; set search_path to ${schema}, ${SCHEMA}`);
    await reference.query(
      `create table ${name} (id int); insert into ${name} select generate_series(1, ${count})`,
    );
    if (ofRow || !isLate) await reference.query(make);
    const options = {
      ...calmOptions(random),
      options: `-c search_path=${schema},${SCHEMA}`,
      syncGroup: 'reads',
    };
    await withPool(action, 'pool of namesakes', options, async (place) => {
      // Some texts that share Syncs, and are known for it.
      const others = () => place.on.query('select $1::int as id', [1]);
      await Promise.all(Array.from({ length: 20 }, others));
      if (!ofRow && isLate) {
        await Promise.all([1, 2, 3].map(() => outcomeOf(place.on.query(put(call), [1]))));
        // By another session it would be known within a minute.
        await place.on.query(make);
      }
      for (let bursts = random.int(2, 5); bursts > 0; --bursts) {
        const calls = Array.from({ length: count }, (_, index) => [
          place.on.query(put(call), [index + 1]),
          ...(random.chance(0.3) ? [others()] : []),
        ]);
        const outcomes = await Promise.all(calls.map(([first]) => outcomeOf(first)));
        await Promise.all(calls.flat());
        for (const { value, error } of outcomes) {
          action.settle('namesake', place, error);
          const met = value?.rows[0]?.before;
          if (error === undefined && met !== '') {
            action.fault(`${put(call)} shares a transaction with the caller of ${met}`);
            break;
          }
        }
      }
    });
    await reference.query(`drop schema ${schema} cascade`);
  });
}

/** How a table comes to hide one of the same name, on a client. `%T` the table. */
const HIDING = [
  `create temp table %T as select 2 as a`,
  `select 2 as a into temp %T`,
  `select 2 as a into temporary table %T`,
  `with one as (select 2 as a) select a into temp %T from one`,
  `/* first */ create temporary table %T as select 2 as a`,
  `create temp table %T (a int); insert into %T values (2)`,
  `create temp view %T as select 2 as a`,
  `do $$ begin create temp table %T as select 2 as a; end $$`,
  `create table pg_temp.%T as select 2 as a`,
  `create table pg_temp . %T (a) as values (2)`,
  // Nothing in the text tells of it: then it is bounded by time.
  `select hide('%T')`,
  `prepare hide_%T as select 2 as a; create temp table %T as execute hide_%T; deallocate hide_%T`,
];
/** And in a schema that comes first in the search_path. */
const COMING_FIRST = [
  `create table %S.%T as select 2 as a`,
  `select 2 as a into %S.%T`,
  `create view %S.%T as select 2 as a`,
  `create table %S.%T (a int); insert into %S.%T values (2)`,
  `alter table elsewhere_%T set schema %S; alter table %S.elsewhere_%T rename to %T`,
];

/** A known text reads the table that its name means now. */
async function hiding(action) {
  const { random } = action;
  const id = action.ledger.newId();
  const name = `h${id}`;
  const schema = `${SCHEMA}_h${id}`;
  const isOfSession = random.chance(0.6);
  const text = random.pick(isOfSession ? HIDING : COMING_FIRST);
  const hide = text.replaceAll('%T', name).replaceAll('%S', schema);
  const isForeign = !isOfSession && random.chance(0.3);
  action.log(`${hide}${isForeign ? ' by another session' : ''}`);
  action.round.journal.count('hiding', isOfSession ? 'by a temporary one' : 'by search_path');
  const search = `-c search_path=${schema},${SCHEMA}`;
  const options = { ...calmOptions(random), ...shortLived(), options: search };
  await withPgClient(action, { options: search }, async (foreign) => {
    await foreign.query(`create schema ${schema};
      create table ${SCHEMA}.${name} as select 1 as a;
      create table ${SCHEMA}.elsewhere_${name} as select 2 as a;
      create function hide(text) returns int language plpgsql as
        $$ begin execute format('create temp table %I as select 2 as a', $1); return 1; end $$`);
    await withPool(action, 'pool of the hidden', options, async (place) => {
      const client = isOfSession ? await place.on.connect() : undefined;
      const on = client ?? place.on;
      const reads = [`select a from ${name}`, `select a from ${name} where a > $1::int`];
      const readAll = async (expected) => {
        for (const read of reads) {
          const { value, error } = await outcomeOf(
            on.query(read, read.includes('$1') ? [0] : undefined),
          );
          action.settle('hidden', place, error);
          if (error !== undefined) continue;
          action.check(`after ${hide}, ${read}`, () =>
            assert.deepEqual(value.rows[0]?.a, expected),
          );
        }
      };
      for (let left = random.int(2, 6); left > 0; --left) await readAll(1);
      await (isForeign ? foreign : on).query(hide);
      const isSeen = !isForeign && !hide.startsWith('select hide');
      if (!isSeen) await delay(MAX_AGE.millis + SLACK_MILLIS);
      for (let left = random.int(1, 4); left > 0; --left) {
        await readAll(2);
      }
      client?.release();
    });
    await foreign.query(`drop schema ${schema} cascade; drop table ${SCHEMA}.${name} cascade;
      drop table if exists ${SCHEMA}.elsewhere_${name}`);
  });
}

/** Reads of two tables in one tick, and a migration that takes both: alone none of the reads holds one while it waits for the other. */
async function lockstep(action) {
  const { random } = action;
  const id = action.ledger.newId();
  const [one, two] = random.chance(0.5) ? [`la${id}`, `lb${id}`] : [`lb${id}`, `la${id}`];
  const options = { ...calmOptions(random), max: 1, maxInFlight: 1024, syncGroup: 'reads' };
  const width = random.int(1, 3);
  const waitMillis = random.int(0, 60);
  action.log(`${width} reads of each, ${waitMillis} ms between the locks`);
  await withPgClient(action, {}, async (foreign) => {
    await foreign.query(`set search_path to ${SCHEMA};
      create table ${one} as select 1 as a; create table ${two} as select 2 as a`);
    await withPool(action, 'pool beside a migration', options, async (place) => {
      const texts = Array.from({ length: width }, () => [
        `select a from ${one}`,
        `select a from ${two}`,
      ]).flat();
      const readAll = () => Promise.all(texts.map(async (text) => outcomeOf(place.on.query(text))));
      for (let left = 4; left > 0; --left) await readAll();
      await foreign.query(`begin; lock table ${two} in access exclusive mode`);
      const reading = readAll();
      await delay(20 + waitMillis);
      const { error } = await outcomeOf(
        foreign.query(`lock table ${one} in access exclusive mode; select 1`),
      );
      if (error !== undefined) action.fault(`the migration is the victim: ${error.message}`);
      await foreign.query('rollback');
      for (const outcome of (await action.inTime('reads', reading)) ?? []) {
        action.settle('read beside locks', place, outcome.error);
      }
    });
    await foreign.query(`drop table ${one}, ${two}`);
  });
}

module.exports = { hiding, lockstep, namesakes };
