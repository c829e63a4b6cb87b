'use strict';

// One dialogue with a server, of all that a client or a pool can say, and a judge who compares what was
// told with what is in the tables. For tests that disturb it on its way.

const assert = require('node:assert/strict');
const { finished } = require('node:stream/promises');
const { ConnectionError, DatabaseError } = require('../..');
const { SCHEMA } = require('./connect');

const INSERT = 'insert into said values ($1, $2) returning id';
const LARGE = 20000;
const ROWS = 30;

/**
 * @typedef {object} Saying
 * @property {string} what
 * @property {number[]} ids that are in `said` afterwards if it was done, else none of them
 * @property {any} [value] that it must resolve to
 * @property {string} [code] of the error that it must end in
 * @property {any} outcome as of Promise.allSettled
 */

/** Tables of the run's schema. @param {import('./outside').Observer} observer */
async function makeTables(observer) {
  await observer.makeTable('said', 'run int not null, id int not null');
  await observer.makeTable('parents', 'id int primary key');
  await observer.makeTable(
    'orphans',
    `run int, parent int references ${SCHEMA}.parents deferrable initially deferred`,
  );
}

/**
 * @param {any} one a client that is connecting, or a pool
 * @param {number} run marks its rows
 * @returns {Promise<Saying[]>} when all of it is settled
 */
async function converse(one, run) {
  /** @type {Saying[]} */
  const said = [];
  const say = async (what, promise, { ids = [], value = undefined, code = undefined }) => {
    const saying = { what, ids, value, code, outcome: undefined };
    said.push(saying);
    [saying.outcome] = await Promise.allSettled([promise]);
  };
  const rowsOf = async (promise) => (await promise).rows;
  const insert = (on, id) => rowsOf(on.query(INSERT, [run, id]));
  const echo = (n) =>
    say('a query', rowsOf(one.query("select $1::int as n, 'é' || $1 as t", [n])), {
      value: [{ n, t: `é${n}` }],
    });
  const sayInsert = (id) => say('an insert', insert(one, id), { ids: [id], value: [{ id }] });
  const divide = "insert into said values ($1, 1 / ($2::int - $2::int)) returning 'never' as id";

  await Promise.all([
    echo(1),
    sayInsert(1),
    echo(2),
    say('an error', one.query(divide, [run, 5]), { code: '22012' }),
    sayInsert(2),
    say('an error of the parser', one.query('select no_such_column'), { code: '42703' }),
    echo(3),
  ]);
  await Promise.all([
    sayInsert(3),
    say('a large row', rowsOf(one.query('select repeat($1, $2::int) as t', ['x', LARGE])), {
      value: [{ t: 'x'.repeat(LARGE) }],
    }),
    say('an error at the commit', one.query('insert into orphans values ($1, -1)', [run]), {
      code: '23503',
    }),
    sayInsert(4),
  ]);
  const batchOf = async (...queries) => (await one.batch(queries)).map(({ rows }) => rows);
  const inserting = (id) => ({ text: INSERT, values: [run, id] });
  await Promise.all([
    say('a batch', batchOf(inserting(5), 'select 7 as seven', inserting(6)), {
      ids: [5, 6],
      value: [[{ id: 5 }], [{ seven: 7 }], [{ id: 6 }]],
    }),
    say('a batch that fails', batchOf(inserting(91), 'select 1 / 0', inserting(92)), {
      code: '22012',
    }),
    echo(4),
  ]);
  const transfer = one.transaction(async (tx) => [await insert(tx, 7), await insert(tx, 8)]);
  await say('a transaction', transfer, { ids: [7, 8], value: [[{ id: 7 }], [{ id: 8 }]] });
  const failing = one.transaction(async (tx) => {
    await insert(tx, 93);
    await tx.query('select 1 / 0');
  });
  await say('a transaction that fails', failing, { code: '22012' });
  await say('COPY FROM STDIN', copyIn(one, `${run}\t9\n${run}\t10\n${run}\t11\n`), {
    ids: [9, 10, 11],
    value: 3,
  });
  await say('COPY TO STDOUT', textOf(one.copyTo(`copy (${SERIES}) to stdout`)), {
    value: Array.from({ length: ROWS }, (_, i) => `${i + 1}\n`).join(''),
  });
  await say('a stream', listOf(one.stream(SERIES)), {
    value: Array.from({ length: ROWS }, (_, i) => ({ n: i + 1 })),
  });
  const several = `insert into said values (${run}, 12); insert into said values (${run}, 13)`;
  const tagsOf = async (promise) => (await promise).map(({ rowCount }) => rowCount);
  await say('several statements', tagsOf(one.query(several)), { ids: [12, 13], value: [1, 1] });
  await Promise.all([sayInsert(14), echo(5), sayInsert(15)]);
  return said;
}

const SERIES = `select n from generate_series(1, ${ROWS}) as n`;

async function copyIn(one, text) {
  const stream = one.copyFrom('copy said from stdin');
  stream.end(text);
  await finished(stream);
  return stream.rowCount;
}

async function listOf(stream) {
  const list = [];
  for await (const item of stream) list.push(item);
  return list;
}

async function textOf(stream) {
  return Buffer.concat(await listOf(stream)).toString();
}

/** @param {Saying[]} said undisturbed @param {number[]} ids in the table */
function assertUndisturbed(said, ids) {
  for (const { what, code, outcome } of said) {
    const isAsExpected = outcome.status === (code === undefined ? 'fulfilled' : 'rejected');
    assert.ok(isAsExpected, `${what}: ${outcome.reason?.stack ?? outcome.status}`);
  }
  judge(said, ids);
}

/**
 * What was told is true: done is there, once; not-run is not; unknown is all there or not at all.
 * @param {Saying[]} said
 * @param {number[]} ids in the table
 * @returns {{ done: number, 'not-run': number, unknown: number }} how often each was told of a write
 */
function judge(said, ids) {
  const told = { done: 0, 'not-run': 0, unknown: 0 };
  const left = new Set(ids);
  assert.equal(left.size, ids.length, `something ran twice: ${ids}`);
  for (const { what, ids: own, value, code, outcome } of said) {
    const present = own.filter((id) => left.delete(id)).length;
    const verdict = verdictOf(what, value, code, outcome);
    const isTrue =
      (verdict !== 'not-run' && present === own.length) || (verdict !== 'done' && present === 0);
    assert.ok(isTrue, `${what}: told "${verdict}", of ${own} there are ${present} in ${ids}`);
    if (own.length > 0) ++told[verdict];
  }
  assert.deepEqual([...left], [], 'nobody has said that');
  return told;
}

/** @returns {'done' | 'not-run' | 'unknown'} */
function verdictOf(what, value, code, { status, value: got, reason }) {
  if (status === 'fulfilled') {
    assert.equal(code, undefined, `${what} should have failed`);
    assert.deepEqual(got, value, what);
    return 'done';
  }
  if (code !== undefined && reason.code === code) {
    assert.ok(reason instanceof DatabaseError, what);
  } else {
    assert.ok(reason instanceof ConnectionError, `${what}: ${reason.stack}`);
  }
  assert.ok(['not-run', 'unknown'].includes(reason.outcome), `${what}: ${reason.outcome}`);
  return reason.outcome;
}

module.exports = { assertUndisturbed, converse, judge, makeTables };
