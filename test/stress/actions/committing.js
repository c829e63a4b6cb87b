'use strict';

// Statements that commit by themselves, at their begin or in their middle, first in a batch or alone,
// followed by what fails, with connections that are cut. What is told as not run must not be there.

const { setTimeout: delay } = require('node:timers/promises');
const { outcomeOf } = require('../../support/outcomes');
const { Proxy } = require('../../support/proxy');
const { SCHEMA, calmOptions, withPool } = require('../calm');

/**
 * @typedef {object} Lasting
 * @property {string} text
 * @property {string[]} [before] by another session
 * @property {string} [code] that it fails with by itself
 * @property {string} isThere a query for a boolean: whether anything of it lasts
 * @property {string[]} [after] takes it away; it may fail
 * @property {boolean} [isSlow]
 * @property {boolean} [isOverwritten] by others who do the same
 */

/** @type {((name: string) => Lasting)[]} */
const LASTING = [
  (name) => ({
    before: [`begin; create table ${name} (); prepare transaction '${name}'`],
    text: `commit prepared '${name}'`,
    isThere: `select to_regclass('${name}') is not null as is`,
    after: [`rollback prepared '${name}'`, `drop table ${name}`],
  }),
  (name) => ({
    before: [`begin; create table ${name} (); prepare transaction '${name}'`],
    text: `rollback prepared '${name}'`,
    isThere: `select not exists (select 1 from pg_prepared_xacts where gid = '${name}') as is`,
    after: [`rollback prepared '${name}'`],
  }),
  (name) => ({
    text: `create tablespace ${name} location ''`,
    isThere: `select exists (select 1 from pg_tablespace where spcname = '${name}') as is`,
    after: [`drop tablespace ${name}`],
  }),
  (name) => ({
    before: [`create tablespace ${name} location ''`],
    text: `drop tablespace ${name}`,
    isThere: `select not exists (select 1 from pg_tablespace where spcname = '${name}') as is`,
    after: [`drop tablespace ${name}`],
  }),
  (name) => ({
    text: `alter system set application_name = '${name}'`,
    isThere: `select exists (select 1 from pg_file_settings where setting = '${name}') as is`,
    after: ['alter system reset application_name'],
    isOverwritten: true,
  }),
  (name) => ({
    text: `create database ${name}`,
    isThere: `select exists (select 1 from pg_database where datname = '${name}') as is`,
    after: [`drop database ${name}`],
    isSlow: true,
  }),
  (name) => ({
    before: [`create table ${name} as select 1 as a from generate_series(1, 2)`],
    text: `create unique index concurrently ${name}_i on ${name} (a)`,
    code: '23505',
    isThere: `select to_regclass('${name}_i') is not null as is`,
    after: [`drop table ${name}`],
  }),
  (name) => ({
    before: [
      `create table ${name} as select g as a from generate_series(1, 9) g`,
      `create index ${name}_i on ${name} (a)`,
    ],
    text: `drop index concurrently ${name}_i`,
    isThere: `select to_regclass('${name}_i') is null as is`,
    after: [`drop table ${name}`],
  }),
  (name) => ({
    before: [
      `create table ${name} as select g as a from generate_series(1, 9) g`,
      `create table ${name}_b as select 1 as a`,
    ],
    text: `analyze ${name}, ${name}_b (missing)`,
    code: '42703',
    isThere: `select exists (select 1 from pg_stats where tablename = '${name}') as is`,
    after: [`drop table ${name}, ${name}_b`],
  }),
  (name) => ({
    before: [
      `create table ${name} as select g as a from generate_series(1, 9) g`,
      `create table ${name}_b as select 1 as a`,
    ],
    text: `vacuum (analyze) ${name}, ${name}_b (missing)`,
    code: '42703',
    isThere: `select exists (select 1 from pg_stats where tablename = '${name}') as is`,
    after: [`drop table ${name}, ${name}_b`],
  }),
  (name) => ({
    text: `create subscription ${name} connection '' publication p with (connect = false)`,
    isThere: `select exists (select 1 from pg_subscription where subname = '${name}') as is`,
    after: [`alter subscription ${name} set (slot_name = none)`, `drop subscription ${name}`],
  }),
  (name) => ({
    before: [`create table ${name} (a int)`],
    text: `call commits_into('${name}')`,
    isThere: `select count(*) > 0 as is from ${name}`,
    after: [`drop table ${name}`],
  }),
  (name) => ({
    before: [`create table ${name} (a int)`],
    text: `do $$ begin insert into ${SCHEMA}.${name} values (1); commit; end $$`,
    isThere: `select count(*) > 0 as is from ${name}`,
    after: [`drop table ${name}`],
  }),
];

/** What may stand before a statement, so that its first word is far away. @param {import('../random').Random} random */
function disguise(random, text) {
  return random.weighted([
    [text, 4],
    [`/* ${'long '.repeat(random.int(1, 60))}*/ ${text}`, 2],
    [`-- a line\n\t${text}`, 1],
    [`/* a /* nested */ one */${text.toUpperCase().startsWith('DO') ? text : ` ${text}`};`, 1],
  ]);
}

const FAILING = [
  ['select 1 / 0', '22012'],
  ['select * from no_such_table', '42P01'],
  ['no statement', '42601'],
];
/** Or what cannot be sent. */
const REFUSED = { text: 'select $1::text', values: ['a\0b'] };

async function committing(action) {
  const { random } = action;
  const name = `c${action.ledger.newId()}`;
  let lasting = random.pick(LASTING)(name);
  while (lasting.isSlow && random.chance(0.8)) lasting = random.pick(LASTING)(name);
  const text = disguise(random, lasting.text);
  const firstWords = lasting.text.split(' ', 2).join(' ');
  const { outside } = action.round;
  for (const before of lasting.before ?? []) await outside.ask(before);
  const how = random.weighted([
    ['alone', 1],
    ['in a batch', 3],
    ['and cut', 3],
  ]);
  action.log(`${text} ${how}`);
  action.round.journal.count('commits by itself', `${firstWords} ${how}`);
  const { value, error } = await attempt(action, lasting, text, how);
  action.log(
    `${value === undefined ? '' : 'fulfilled '}${error?.code ?? ''} ${error?.outcome ?? ''}`,
  );
  await untilQuiet(action);
  const [{ is }] = await outside.ask(lasting.isThere);
  if (error === undefined && !is && !lasting.isOverwritten) {
    action.fault(`${text} ${how} was fulfilled, and left nothing`);
  }
  if (error?.outcome === 'not-run' && is) {
    action.fault(`${text} ${how} was told as not run (${error.code}), and it lasts`);
  }
  for (const after of lasting.after ?? []) await outcomeOf(outside.ask(after));
}

/** @param {import('../action').Action} action @param {Lasting} lasting @param {string} text @param {string} how */
async function attempt(action, lasting, text, how) {
  const { random } = action;
  const options = { ...calmOptions(random), max: 1 };
  const isCut = how === 'and cut';
  const proxy = isCut ? await Proxy.open() : undefined;
  let outcome = {};
  const run = async (place) => {
    if (isCut) await outcomeOf(place.on.query('select 1'));
    const [failing] = random.pick(FAILING);
    const behind = random.pick([
      [failing],
      ['select 1', failing],
      [REFUSED],
      ...(isCut ? [large(random)] : []),
    ]);
    const done =
      how === 'alone' || (isCut && random.chance(0.3))
        ? place.on.query(text)
        : place.on.batch([text, ...behind]);
    const settled = action.inTime(`${text} ${how}`, outcomeOf(done));
    if (proxy !== undefined) {
      await delay(random.small(0, 60));
      await proxy.close();
    }
    outcome = (await settled) ?? {};
  };
  await withPool(action, 'pool of what commits', options, run, { relay: proxy });
  return /** @type {any} */ (outcome);
}

/** So much that it is still being written when the first statement is done. @param {import('../random').Random} random */
function large(random) {
  const text = 'x'.repeat(1_000_000);
  const parts = random.int(4, 12);
  return Array.from({ length: parts }, () => ({ text: 'select length($1)', values: [text] }));
}

/** What the server still runs of it may yet commit. @param {import('../action').Action} action */
async function untilQuiet({ round }) {
  for (let left = 100; left > 0; --left) {
    const sessions = await round.outside.sessions();
    const busy = sessions.filter(({ application_name, state, query }) => {
      return application_name.includes('calm') && state !== 'idle' && /\bc\d+\b/.test(query);
    });
    if (busy.length === 0) return;
    await delay(10);
  }
}

module.exports = { committing };
