'use strict';

// Statements that tell in their rows whose they are, and what they leave in the tables. An action may
// run them anywhere: on a pool, on a client, in a batch or a transaction.

const assert = require('node:assert/strict');
const { quote } = require('../support/sql');

/**
 * @typedef {object} Statement
 * @property {string} kind
 * @property {Record<string, any>} query what query() and batch() take
 * @property {[id: number, count: number][]} rows of `effects` that a success leaves
 * @property {(result: any, place: import('./places').Place) => void} check throws
 * @property {string} [code] SQLSTATE that it must fail with
 * @property {boolean} [isRefused] it cannot be sent
 * @property {boolean} [isUnreadable] it succeeds, but its value has no JavaScript value
 * @property {readonly string[]} [codes] SQLSTATEs that it may fail with
 */

const LETTERS = 'abc XYZ \t\'"\\é ß漢字😀';
const MAX_LARGE = 300_000;

/** @param {import('./random').Random} random @param {number} length */
function randomText(random, length) {
  let text = '';
  while (text.length < length) {
    text += random.pick([LETTERS, 'plain', String(random.int(0, 9))]);
  }
  return text;
}

/** Columns: the cast, a value, and what comes back. */
const COLUMNS = [
  (random) => same('int4', random.int(-5000, 5000)),
  (random) => same('float8', random.int(-1000, 1000) / 8),
  (random) => same('bool', random.chance(0.5)),
  (random) => same('text', randomText(random, random.small(0, 400))),
  () => same('text', null),
  (random) => same('jsonb', { a: [random.int(0, 9), null, 'é'], b: { c: random.chance(0.5) } }),
  (random) => same('timestamptz', new Date(random.int(0, 2 ** 31) * 500)),
  (random) => same('text[]', [randomText(random, 20), null, '', 'a,b{}"\\']),
  (random) => same('int4[]', [random.int(0, 99), null, -1]),
  (random) => same('numeric', `${random.int(1, 99)}.50`),
  (random) => same('bytea', Buffer.from(randomText(random, random.small(0, 60)))),
  (random) => {
    const text = String(random.int(1, 2 ** 31));
    const forms = { string: text, number: Number(text), bigint: BigInt(text) };
    return { type: 'int8', value: text, expected: ({ options }) => forms[options.int8] };
  },
];

/** @param {string} type @param {any} value */
function same(type, value) {
  return { type, value, expected: () => value };
}

/** Many texts, a few of them often. @param {import('./random').Random} random */
function variant(random) {
  return random.small(0, 80);
}

/** @param {any} result @param {any[]} expected */
function checkRows(result, expected) {
  assert.deepStrictEqual(result.rows, expected);
}

/** @param {import('./random').Random} random @param {number} id */
function readValues(random, id) {
  const columns = Array.from({ length: random.int(1, 6) }, () => random.pick(COLUMNS)(random));
  const isArray = random.chance(0.2);
  const casts = columns.map(({ type }, index) => `$${index + 2}::${type} as c${index}`);
  return {
    query: {
      text: `select $1::int as id, ${casts.join(', ')}`,
      values: [id, ...columns.map(({ value }) => value)],
      ...(isArray && { rowMode: 'array' }),
    },
    check(result, place) {
      const values = columns.map(({ expected }) => expected(place));
      const row = Object.fromEntries(values.map((value, index) => [`c${index}`, value]));
      checkRows(result, [isArray ? [id, ...values] : { id, ...row }]);
    },
  };
}

/** Without values, so that each text is used once. */
function readInline(random, id) {
  const text = randomText(random, random.small(1, 100));
  return {
    query: { text: `select ${id} as id, ${quote(text)} as t, null::int as n` },
    check: (result) => checkRows(result, [{ id, t: text, n: null }]),
  };
}

function readSeries(random, id) {
  const count = random.small(0, 3000);
  const length = random.small(0, 60);
  const text = `select $1::int as id, g, repeat('x', $2::int) as fill from generate_series(1, $3::int) as g`;
  return {
    query: { text: `${text} -- ${random.int(0, 3)}`, values: [id, length, count] },
    check(result) {
      assert.equal(result.rows.length, count);
      const fill = 'x'.repeat(length);
      for (const [index, row] of result.rows.entries()) {
        if (row.id !== id || row.g !== index + 1 || row.fill !== fill) {
          assert.deepStrictEqual(row, { id, g: index + 1, fill }, `row ${index}`);
        }
      }
    },
  };
}

function readLarge(random, id) {
  const text = randomText(random, random.small(1000, MAX_LARGE));
  return {
    query: { text: 'select $1::int as id, $2::text as t', values: [id, text] },
    check(result) {
      assert.equal(result.rows[0].id, id);
      assert.ok(result.rows[0].t === text, 'another large text');
    },
  };
}

function readNothing(random, id) {
  return {
    query: { text: 'select $1::int as id where $1 < 0', values: [id] },
    check(result) {
      checkRows(result, []);
      assert.equal(result.fields[0].name, 'id');
    },
  };
}

function readSlowly(random, id) {
  return {
    query: {
      text: 'select $1::int as id from pg_sleep($2)',
      values: [id, random.small(1, 120) / 1000],
    },
    check: (result) => checkRows(result, [{ id }]),
  };
}

/** Of a table that is altered meanwhile. */
function readChanging(random, id) {
  return {
    query: {
      text: `select $1::int as id, changing.* from changing -- ${variant(random)}`,
      values: [id],
    },
    check(result) {
      assert.equal(result.rows.length, 1);
      assert.equal(result.rows[0].id, id);
      assert.equal(result.rows[0].a, 1);
    },
  };
}

/** A statement that returns the id alone. */
function returnsId(random, id, text, values = [id]) {
  return {
    query: { text: `${text} -- ${variant(random)}`, values },
    check: (result) => checkRows(result, [{ id }]),
    rows: [[id, 1]],
  };
}

const insert = (random, id) =>
  returnsId(random, id, 'insert into effects values ($1) returning id');

const insertInFunction = (random, id) => returnsId(random, id, 'select remember($1) as id');

const insertInCte = (random, id) =>
  returnsId(
    random,
    id,
    'with w as (insert into effects values ($1) returning id) select id from w',
  );

const insertSlowly = (random, id) =>
  returnsId(random, id, 'insert into effects select $1 from pg_sleep($2) returning id', [
    id,
    random.small(1, 80) / 1000,
  ]);

function insertSeveral(random, id) {
  const count = random.int(2, 40);
  return {
    query: {
      text: `insert into effects select $1, g from generate_series(1, $2::int) g -- ${variant(random)}`,
      values: [id, count],
    },
    check: (result) => assert.equal(result.rowCount, count),
    rows: [[id, count]],
  };
}

function insertInline(random, id) {
  return {
    query: { text: `insert into effects values (${id})` },
    check: (result) => assert.equal(result.rowCount, 1),
    rows: [[id, 1]],
  };
}

function updateCounter(random, id) {
  const text = `with c as (update counters set n = n + 1 where id = $2::int returning id)
    insert into effects select $1::int from c returning id`;
  // Even alone it may be the one whom the server chooses in a deadlock of transactions.
  return { ...returnsId(random, id, text, [id, random.int(0, 7)]), codes: ['40P01'] };
}

/** From a table that goes and comes: a text that is known may fail, even as it is prepared anew. */
const insertFromVanishing = (random, id) => ({
  ...returnsId(random, id, 'insert into effects select $1 from vanishing returning id'),
  codes: ['42P01'],
});

function insertUnreadable(random, id) {
  const types = {
    getTypeParser: () => () => {
      throw new Error('thrown by a parser');
    },
  };
  return {
    query: { text: `select remember($1) as id -- ${variant(random)}`, values: [id], types },
    check: () => assert.fail('its parser throws'),
    rows: [[id, 1]],
    isUnreadable: true,
  };
}

/**
 * The same text fails or succeeds with its values, so that it may be known and in company.
 * @param {string} code
 * @param {string} text
 * @param {(id: number, isBad: boolean) => unknown[]} values
 */
function mayFail(code, text, values) {
  return (random, id) => {
    const isBad = random.chance(0.35);
    return {
      query: { text: `${text} -- ${variant(random)}`, values: values(id, isBad) },
      check: () => {},
      rows: [[id, 1]],
      code: isBad ? code : undefined,
    };
  };
}

const FAILING = [
  mayFail('22012', 'select remember($1), 1 / $2::int', (id, isBad) => [id, isBad ? 0 : 1]),
  mayFail('P0001', 'select raises($1, $2)', (id, isBad) => [id, isBad]),
  mayFail('22P02', 'select remember($1), $2::int', (id, isBad) => [id, isBad ? 'x' : '7']),
  mayFail(
    '23505',
    'with k as (insert into keyed values ($2::int) returning id) insert into effects select $1::int from k',
    (id, isBad) => [id, isBad ? 0 : id],
  ),
  mayFail(
    '23503',
    'with c as (insert into child values ($2::int) returning parent) insert into effects select $1::int from c',
    (id, isBad) => [id, isBad ? 42 : 1],
  ),
];

/** @param {string} code @param {string} text that always fails, before it runs */
function alwaysFails(code, text) {
  return (random, id) => ({
    query: { text: `${text} -- ${variant(random)}`, values: [id] },
    check: () => {},
    rows: [[id, 1]],
    code,
  });
}

const WRONG = [
  alwaysFails('42P01', 'insert into no_such_table select remember($1)'),
  alwaysFails('42601', 'insert into effects valuess ($1)'),
  alwaysFails('08P01', 'insert into effects values ($1, $2)'),
  alwaysFails('42883', 'select remember($1), no_such_function()'),
];

/** What cannot be sent. */
function refused(random, id) {
  const value = random.pick(['a\0b', new Date(NaN), () => {}, Symbol('no')]);
  return {
    query: { text: `select remember($1), $2::text -- ${variant(random)}`, values: [id, value] },
    check: () => {},
    rows: [[id, 1]],
    isRefused: true,
  };
}

/** All prepared statements of the session are gone, behind the driver's back. */
function forgetStatements(_random, _id) {
  return {
    query: { text: 'select forget_statements() as one' },
    check: (result) => checkRows(result, [{ one: 1 }]),
  };
}

const READS = [
  ['read values', readValues, 12],
  ['read inline', readInline, 3],
  ['read series', readSeries, 3],
  ['read large', readLarge, 1],
  ['read nothing', readNothing, 1],
  ['read slowly', readSlowly, 0.7],
  ['read changing', readChanging, 2],
  ['forget statements', forgetStatements, 0.2],
];
const WRITES = [
  ['insert', insert, 8],
  ['insert in function', insertInFunction, 4],
  ['insert in CTE', insertInCte, 3],
  ['insert inline', insertInline, 2],
  ['insert several', insertSeveral, 2],
  ['insert slowly', insertSlowly, 0.5],
  ['update counter', updateCounter, 3],
  ['insert from vanishing', insertFromVanishing, 1],
  ['unreadable', insertUnreadable, 0.5],
];
const FAILURES = [
  ...FAILING.map((make) => ['may fail', make, 1]),
  ...WRONG.map((make) => ['wrong', make, 0.4]),
  ['refused', refused, 0.6],
];

/** Among the writes. */
const MAY_FAIL = new Set(['unreadable', 'insert from vanishing']);

const weights = (list) => list.map(([kind, make, weight]) => [{ kind, make }, weight]);
const MAKERS = {
  reads: weights(READS),
  writes: weights(WRITES),
  good: weights([...READS, ...WRITES.filter(([kind]) => !MAY_FAIL.has(kind))]),
  all: weights([...READS, ...WRITES, ...FAILURES]),
};

/**
 * @param {import('./random').Random} random
 * @param {import('./ledger').Ledger} ledger
 * @param {keyof typeof MAKERS} [which]
 * @returns {Statement}
 */
function newStatement(random, ledger, which = 'all') {
  const { kind, make } = random.weighted(MAKERS[which]);
  const statement = { kind, rows: [], ...make(random, ledger.newId()) };
  const { query } = statement;
  if (random.chance(0.06)) query.prepare = false;
  if (random.chance(0.05)) query.syncGroup = random.pick(['off', 'reads', 'all']);
  // The same name is always for the same text.
  if (random.chance(0.05)) query.name = `stress ${nameOf(query.text)}`;
  return statement;
}

/** @param {string} text */
function nameOf(text) {
  let hash = 0;
  for (let at = 0; at < text.length; ++at) hash = (Math.imul(hash, 31) + text.charCodeAt(at)) | 0;
  return `${text.length} ${hash}`;
}

module.exports = { newStatement, randomText };
