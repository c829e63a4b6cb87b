'use strict';

// Online migrations: the tables, columns and functions of known texts are changed, by a session of `pg`
// or through the pool itself, and the same texts go on. What they store and read is compared with `pg`.

const assert = require('node:assert/strict');
const { setTimeout: delay } = require('node:timers/promises');
const { outcomeOf } = require('../../support/outcomes');
const { SCHEMA, calmOptions, withPgClient, withPool } = require('../calm');
const { MAX_AGE, SLACK_MILLIS, allowedErrors, isStale, shortLived } = require('../staleness');

/**
 * A column `a` that gets another type.
 * @typedef {object} Change
 * @property {string} name
 * @property {string} from type of the column at first
 * @property {(table: string) => string[]} ddl
 * @property {(random: import('../random').Random) => unknown} before a value that fits at first
 * @property {(random: import('../random').Random) => unknown} after one that fits then
 * @property {boolean} [isSilent] without a time limit `pg` stores something else and nobody hears of it
 */

const becomes =
  (type, using = '') =>
  (table) => [`alter table ${table} alter column a type ${type}${using}`];
const smallInt = (random) => random.int(-100, 100);
const word = (random) => `w${random.int(0, 999)}`;
const moment = (random) => new Date(random.int(1, 2 ** 30) * 1000);
const withZone = (random) => `2024-05-${random.int(10, 28)} 12:00:00+0${random.int(3, 9)}`;
const anew = (type) => (table) => [
  `drop table ${table}`,
  `create table ${table} (id int, a ${type})`,
];

/** @type {Change[]} */
const CHANGES = [
  {
    name: 'int to bigint',
    from: 'int',
    ddl: becomes('bigint'),
    before: smallInt,
    after: (random) => String(3_000_000_000 + random.int(0, 999)),
  },
  {
    name: 'smallint to int',
    from: 'smallint',
    ddl: becomes('int'),
    before: smallInt,
    after: (random) => 70_000 + random.int(0, 999),
  },
  { name: 'int to text', from: 'int', ddl: becomes('text'), before: smallInt, after: word },
  { name: 'int to uuid', from: 'int', ddl: anew('uuid'), before: smallInt, after: newUuid },
  { name: 'another table', from: 'int', ddl: anew('text'), before: smallInt, after: word },
  {
    name: 'real to float8',
    from: 'real',
    ddl: becomes('float8'),
    before: () => 0.5,
    after: (random) => 0.1 + random.int(0, 99),
    isSilent: true,
  },
  {
    name: 'timestamp to timestamptz',
    from: 'timestamp',
    ddl: becomes('timestamptz', " using a at time zone 'UTC'"),
    before: moment,
    after: withZone,
    isSilent: true,
  },
  {
    name: 'date to timestamptz',
    from: 'date',
    ddl: becomes('timestamptz'),
    before: moment,
    after: moment,
    isSilent: true,
  },
  {
    name: 'char(10) to text',
    from: 'char(10)',
    ddl: becomes('text'),
    before: word,
    after: (random) => `${word(random)}  `,
    isSilent: true,
  },
  {
    name: 'a column more',
    from: 'int',
    ddl: (table) => [`alter table ${table} add column b int default 7`],
    before: smallInt,
    after: smallInt,
  },
  {
    name: 'a column away and back',
    from: 'int',
    ddl: (table) => [
      `alter table ${table} drop column a`,
      `alter table ${table} add column a text`,
    ],
    before: smallInt,
    after: word,
  },
];

function newUuid(random) {
  const digits = String(random.int(1e8, 1e9)).slice(0, 8);
  return `${digits}-0000-4000-8000-000000000000`;
}

/** @param {string} table */
function textsOn(table) {
  return {
    insert: `insert into ${table} (id, a) values ($1, $2)`,
    update: `update ${table} set a = $2 where id = $1`,
    find: `select count(*)::int as n from ${table} where a = $2 and id >= $1`,
    read: `select * from ${table} where id = $1 and $2::text is not null`,
    view: `select a from ${table}_v where id = $1 and $2::text is not null`,
  };
}

/** What one text has told after the change. */
class Telling {
  /** @type {Set<string>} texts whose error was told, or is on its way */
  #told = new Set();

  /** @param {import('../action').Action} action @param {{ isForeign: boolean, isInTransaction: boolean }} how */
  constructor(action, how) {
    this.action = action;
    this.how = how;
  }

  /** @param {string} text @param {any} error */
  note(text, error) {
    const { action } = this;
    if (!isStale(error)) {
      action.fault(`${text}: ${error.code ?? error.name} ${error.message}`);
      return;
    }
    action.round.journal.count('migration', `told ${error.code}`);
    const allowed = allowedErrors(error, this.how);
    if (allowed === 0) action.fault(`${text}: stale, though it could be healed: ${error.message}`);
    else if (this.#told.has(text)) action.fault(`${text}: stale once more: ${error.message}`);
    this.#told.add(text);
  }
}

/** A table, and the texts that use it before and after its change. */
class Migration {
  #nextId = 0;

  constructor(action, place, reference, change, table, isInTransaction) {
    this.action = action;
    this.place = place;
    this.reference = reference;
    this.ddl = change.ddl;
    this.table = table;
    this.texts = textsOn(table);
    this.isInTransaction = isInTransaction;
  }

  /** @param {string} by */
  async change(by) {
    const { action, place, reference, table } = this;
    // What depends on the column stands in its way.
    const texts = [
      `drop view ${table}_v`,
      ...this.ddl(table),
      `create view ${table}_v as select * from ${table}`,
    ];
    const isOneText = action.random.chance(0.4);
    const runOn = async (on) => {
      for (const text of isOneText ? [texts.join('; ')] : texts) await on.query(text);
    };
    switch (by) {
      case 'foreign':
        return runOn(reference);
      case 'pool':
        return runOn(place.on);
      case 'transaction':
        return place.on.transaction(runOn);
      default: {
        const client = await place.on.connect();
        await runOn(client);
        return client.release();
      }
    }
  }

  /**
   * Every text so many times, by one or by some at once.
   * @param {(random: any) => unknown} newValue
   * @param {number} times
   * @param {Telling | undefined} telling undefined: nothing may fail
   */
  async use(newValue, times, telling) {
    const { random } = this.action;
    const width = telling === undefined ? 3 : 1;
    for (let turn = 0; turn < times; ++turn) {
      const turns = Array.from({ length: width }, () => this.#useOnce(newValue(random), telling));
      await Promise.all(turns);
    }
  }

  /** @param {unknown} value @param {Telling | undefined} telling */
  async #useOnce(value, telling) {
    const { texts, table } = this;
    const id = ++this.#nextId;
    const inserted = await this.#run(texts.insert, [id, value], telling);
    if (inserted === undefined) return;
    await this.#compare(id, value, 'insert');
    const updated = await this.#run(texts.update, [id, value], telling);
    if (updated !== undefined) await this.#compare(id, value, 'update');
    const found = await this.#run(texts.find, [id, value], telling);
    const expected = await this.reference.ask(texts.find, [id, value]);
    // While others write rows, the counts differ.
    if (found !== undefined && telling !== undefined) this.#same('find', found.rows, expected.rows);
    for (const text of [texts.read, texts.view]) {
      const read = await this.#run(text, [id, ''], telling);
      if (read === undefined) continue;
      const { rows } = await this.reference.ask(text, [id, '']);
      this.#same(text.replace(table, 't'), read.rows, rows);
    }
  }

  /** What `pg` stores, and what is there. */
  async #compare(id, value, what) {
    const { reference, table } = this;
    await reference.ask(`insert into ${table} (id, a) values ($1, $2)`, [-id, value]);
    const { rows } = await reference.ask(
      `select id > 0 as ours, a::text as a from ${table} where abs(id) = $1 order by id`,
      [id],
    );
    await reference.ask(`delete from ${table} where id = $1`, [-id]);
    const [theirs, ours] = rows;
    if (ours?.a !== theirs.a) {
      this.action.fault(`${what} of ${String(value)} has stored ${ours?.a}, and pg ${theirs.a}`);
    }
  }

  #same(what, ours, theirs) {
    this.action.check(what, () => assert.deepStrictEqual(ours, theirs));
  }

  /** @returns {Promise<any>} undefined: it has failed */
  async #run(text, values, telling) {
    const { place } = this;
    const running = this.isInTransaction
      ? place.on.transaction((tx) => tx.query(text, values))
      : place.on.query(text, values);
    const { value: result, error } = await outcomeOf(running);
    if (error === undefined) return result;
    if (telling === undefined) this.action.fault(`${text}: ${error.message}`);
    else telling.note(text, error);
    return undefined;
  }
}

/** One text after the other, each on whatever connection the pool chooses. */
async function migrate(action) {
  const { random } = action;
  const change = random.pick(CHANGES);
  const by = random.weighted([
    ['foreign', 3],
    ['pool', 1],
    ['transaction', 1],
    ['client', 1],
  ]);
  const isInTransaction = random.chance(0.3);
  action.log(`${change.name} by ${by}${isInTransaction ? ', used in transactions' : ''}`);
  action.round.journal.count('migration', change.name);
  const table = `${SCHEMA}.m${action.ledger.newId()}`;
  const options = { ...calmOptions(random), ...shortLived() };
  await withPgClient(action, {}, async (reference) => {
    await reference.ask(
      `create table ${table} (id int, a ${change.from}); create view ${table}_v as select * from ${table}`,
    );
    await withPool(action, 'migrated pool', options, async (place) => {
      const migration = new Migration(action, place, reference, change, table, isInTransaction);
      await migration.use(change.before, random.int(2, 5), undefined);
      await migration.change(by);
      const how = { isForeign: by === 'foreign', isInTransaction };
      if (change.isSilent && how.isForeign) await delay(MAX_AGE.millis + SLACK_MILLIS);
      await migration.use(change.after, random.int(3, 8), new Telling(action, how));
    });
    await reference.ask(`drop table ${table} cascade`);
  });
}

module.exports = { migrate };
