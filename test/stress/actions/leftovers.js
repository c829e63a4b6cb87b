'use strict';

// What is left behind: session state by texts that do not look like it, statements that nobody has
// awaited, streams of clients that are given back, clients that nobody refers to any more.

const v8 = require('node:v8');
const vm = require('node:vm');
const { setTimeout: delay } = require('node:timers/promises');
const { Client } = require('../../..');
const { outcomeOf } = require('../../support/outcomes');
const { options: withServer } = require('../../support/connect');
const { calmName, calmOptions, withPool } = require('../calm');
const { checkSession } = require('./sessions');

/** `%n` is a number of its own; `stress.mark` is what checkSession() looks at. */
const DISGUISED = [
  'explain analyze create temporary table d%n as select 1 as a',
  'explain (analyze, costs off) select 1 as a into temp d%n',
  'explain (costs off, analyze true) create temp table d%n as select 1 as a',
  ...["'f'", 'false::bool', '(false)', '0::bool', 'not true', '1 > 2', "'off'::boolean"].map(
    (no) => `select set_config('stress.mark', '%n', ${no})`,
  ),
  `select "set_config"('stress.mark', '%n', false)`,
  "select set_config('stress.mark', i::text, i < 0) from generate_series(1, 2) i",
  'create table pg_temp .d%n (a int)',
  'create table "pg_temp".d%n (a int)',
  'create table pg_temp/**/.d%n (a int)',
  'select 1 as a into pg_temp . d%n',
  'create view pg_temp . d%n as select 1 as a',
  "do $$ begin set stress.mark = '%n'; end $$",
  "do 'begin create temp table d%n (a int); end'",
  'do $x$ begin perform pg_advisory_lock(%n); end $x$',
  "do 'begin execute ''set stress.mark = %n''; end'",
  'do language plpgsql $$ begin create temp table d%n (a int); end $$',
  "select e'a'\n'\\'', pg_advisory_lock(%n), 'b'",
  'select pg_try_advisory_lock_shared(%n)',
  'with one as (select pg_advisory_lock(%n)) select count(*) from one',
  "select (select set_config('stress.mark', '%n', false)) as n",
];
/** The same with a parameter. */
const WITH_VALUES = [
  ["select set_config('stress.mark', '%n', $1)", [false]],
  ["select set_config('stress.mark', $1, $2::boolean)", ['%n', false]],
  ['select pg_advisory_lock($1::int)', ['%n']],
];

/** On a pool or a borrowed client: it is refused, or the next one sees nothing of it. */
async function disguised(action) {
  const { random } = action;
  const number = String(action.ledger.newId());
  const [text, values] = random.chance(0.2)
    ? random.pick(WITH_VALUES)
    : [random.pick(DISGUISED), undefined];
  const query = {
    text: text.replaceAll('%n', number),
    values: values?.map((value) => (value === '%n' ? number : value)),
  };
  const options = { ...calmOptions(random), max: random.pick([1, 2]) };
  const isBorrowed = random.chance(0.4);
  action.log(`${query.text}${isBorrowed ? ' on a borrowed client' : ''}`);
  await withPool(action, 'pool of disguises', options, async (place) => {
    const client = isBorrowed ? await place.on.connect() : undefined;
    for (let left = random.int(1, 3); left > 0; --left) {
      const { error } = await outcomeOf((client ?? place.on).query(query));
      const isDone = error?.code === '42P07';
      if (!isDone) action.settle('disguised', place, error, { refused: !isBorrowed });
    }
    client?.release();
    for (let left = 2; left > 0; --left) await checkSession(action, place, place);
  });
}

/** Statements that nobody awaits, then what must know the state of the session. */
async function unawaited(action) {
  const { random } = action;
  await withPool(action, 'pool of the hasty', calmOptions(random), async (place) => {
    const client = await place.on.connect();
    for (let left = random.int(1, 5); left > 0; --left) {
      const texts = ['set work_mem = 1000', 'select 1 as one', 'show work_mem'];
      for (let count = random.int(0, 3); count > 0; --count) {
        client.query(random.pick(texts)).catch(() => {});
      }
      if (random.chance(0.7)) {
        const rows = client.stream('select g from generate_series(1, 20) g');
        if (random.chance(0.5)) for await (const row of rows) void row;
        else rows.destroy();
      }
      const done = outcomeOf(client.transaction((tx) => tx.query('select 1 as one')));
      const { error } = (await action.inTime('a hasty transaction', done)) ?? {};
      action.settle('hasty transaction', place, error);
    }
    client.release();
  });
}

/** A client is given back while its stream has hardly begun: those who come next keep their time limits. */
async function releasedEarly(action) {
  const { random } = action;
  const options = { ...calmOptions(random), max: random.pick([1, 2]) };
  await withPool(action, 'pool of the early', options, async (place) => {
    const client = await place.on.connect();
    const rows = client.stream("select repeat('x', 1000) as x from generate_series(1, 100000)");
    rows.on('error', () => {});
    await delay(random.int(0, 12));
    client.release();
    await delay(random.int(0, 5));
    const timeoutMillis = random.int(50, 300);
    const queries = Array.from({ length: options.max + 1 }, () =>
      outcomeOf(place.on.query({ text: 'select 1 as one', timeoutMillis })),
    );
    const done = await action.inTime('queries behind a stream', Promise.all(queries), 6000);
    for (const { error } of done ?? []) action.settle('behind', place, error, { timesOut: true });
    rows.destroy();
  });
}

/** @type {(() => void) | undefined} */
let gc;

function collectGarbage() {
  if (gc === undefined) {
    v8.setFlagsFromString('--expose-gc');
    gc = vm.runInNewContext('gc');
  }
  gc();
}

/** A client that is idle and that nobody refers to. @returns {Promise<number>} process id of its session */
async function leave(action, key) {
  const client = new Client(withServer({ application_name: calmName(action.round) }));
  await client.connect();
  await client.query('select pg_advisory_lock($1::int)', [key]);
  return client.processID;
}

/** Its session lives until somebody ends it. */
async function forgotten(action) {
  const { outside } = action.round;
  const key = action.ledger.newId();
  const pid = await leave(action, key);
  const count = async () => {
    const [{ n }] = await outside.ask(
      "select count(*)::int as n from pg_locks where locktype = 'advisory' and pid = $1",
      [pid],
    );
    return n;
  };
  for (let left = 3; left > 0; --left) {
    await delay(20);
    collectGarbage();
  }
  await delay(50);
  if ((await count()) !== 1) {
    action.fault('the session of a client that nobody refers to is closed');
  }
  action.round.journal.count('forgotten', 'looked for');
  await outside.terminate(pid);
}

module.exports = { disguised, forgotten, releasedEarly, unawaited };
