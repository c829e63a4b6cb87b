'use strict';

// Statements, alone and many at once; batches; procedures that commit on their way.

const assert = require('node:assert/strict');
const { driverError } = require('../../support/driver-error');
const { outcomeOf } = require('../../support/outcomes');
const { CANNOT_BE_HEALED } = require('../places');

/** So many in a tick that they share Syncs. */
const BURST = 50;

/** @param {import('../action').Action} action @param {import('../places').Place} place */
async function one(action, place) {
  await action.run(place, action.newStatement());
}

/** In one tick, or in some. */
async function burst(action, place) {
  const { random } = action;
  const which = random.pick(['all', 'all', 'good', 'reads', 'writes']);
  const promises = [];
  for (let left = random.small(2, BURST); left > 0; --left) {
    promises.push(action.run(place, action.newStatement(which)));
    if (random.chance(0.05)) await new Promise(setImmediate);
  }
  await Promise.all(promises);
}

/** Few texts, which become known and cheap: they share Syncs, and one that fails undoes the others. */
const CHEAP = [
  ['select $1::int as id', () => [], 0, 3],
  ['insert into effects values ($1) returning id', () => [], 1, 4],
  ['select remember($1) as id', () => [], 1, 2],
  [
    'with w as (insert into effects select $1 returning id) select id, 1 / $2::int as one from w',
    (isBad) => [isBad ? 0 : 1],
    1,
    2,
  ],
  ['insert into effects select $1 from vanishing returning id', () => [], 1, 1],
].map(([text, more, count, weight]) => [{ text, more, count }, weight]);

/** @param {import('../action').Action} action */
function cheapStatement({ random, ledger }) {
  const { text, more, count } = random.weighted(CHEAP);
  const id = ledger.newId();
  const mayFail = more(true).length > 0;
  const isBad = mayFail && random.chance(0.08);
  return {
    kind: mayFail ? 'cheap, may fail' : 'cheap',
    // Whoever has failed gets no company for a while: so there are some.
    query: {
      text: mayFail ? `${text} -- ${random.int(0, 5)}` : text,
      values: [id, ...more(isBad)],
    },
    rows: count > 0 ? [[id, count]] : [],
    code: isBad ? '22012' : undefined,
    codes: ['42P01'],
    check: ({ rows }) => assert.deepStrictEqual(rows, [mayFail ? { id, one: 1 } : { id }]),
  };
}

async function cheapBurst(action, place) {
  const { random } = action;
  // Known after the first one.
  for (let bursts = random.int(1, 4); bursts > 0; --bursts) {
    const promises = [];
    for (let left = random.int(2, BURST); left > 0; --left) {
      const isOther = random.chance(0.02);
      promises.push(action.run(place, isOther ? action.newStatement() : cheapStatement(action)));
    }
    await Promise.all(promises);
  }
}

async function batch(action, place) {
  const { random } = action;
  const isGood = random.chance(0.5);
  const statements = Array.from({ length: random.small(0, 24) }, () =>
    action.newStatement(isGood ? 'good' : 'all'),
  );
  const unit = action.openUnit(statements.flatMap(({ rows }) => rows));
  const bad = ({ code, isRefused, isUnreadable }) =>
    code !== undefined || isRefused || isUnreadable;
  const firstBad = statements.findIndex(bad);
  action.log(`batch of ${statements.map(({ kind, code = '' }) => kind + code).join(', ')}`);
  const { value: results, error } = await outcomeOf(
    place.on.batch(statements.map(({ query }) => query)),
  );
  if (
    driverError(error)?.code === 'ERR_PG_CONDUIT_RESULT' &&
    statements[error.index]?.isUnreadable
  ) {
    action.log('unreadable');
    action.round.journal.count('batch', 'unreadable');
    unit.told = 'committed';
    return;
  }
  action.settle('batch', place, error, {
    unit,
    codes: statements.flatMap(({ code: own = [], codes = [] }) => codes.concat(own)),
    refused: statements.some(({ isRefused }) => isRefused),
  });
  if (error === undefined) {
    if (firstBad !== -1) action.fault(`statement ${firstBad} of a batch should have failed`);
    action.check('batch', () => {
      assert.equal(results.length, statements.length);
      for (const [index, statement] of statements.entries()) statement.check(results[index], place);
    });
  } else if (isToldIndex(statements, firstBad, error) && error.index !== firstBad) {
    action.fault(`index ${error.index}, not ${firstBad}, of ${error.code}`);
  }
}

/** It can only be the first bad one that this error is of. */
function isToldIndex(statements, firstBad, { code }) {
  if (firstBad === -1 || statements[firstBad].code !== code) return false;
  // A deferred constraint speaks at the end.
  if (code === '23503') return false;
  return statements.slice(0, firstBad).every(({ codes = [] }) => !codes.includes(code));
}

/** CALL of what commits in the middle: its errors are unknown, and each part stands for itself. */
async function procedure(action, place) {
  const { random } = action;
  const isBad = random.chance(0.3);
  const parts = [1, 2].map(() => action.ledger.newId());
  const units = parts.map((id) => action.openUnit([[id, 1]]));
  const { error } = await outcomeOf(place.on.query('call commits($1, $2, $3)', [...parts, isBad]));
  if (isBad && error === undefined) action.fault('a procedure should have failed');
  for (const [index, unit] of units.entries()) {
    // It is never run again, even where its prepared statement alone was to blame.
    const allowance = { unit, codes: ['P0001', ...CANNOT_BE_HEALED], commitsInside: true };
    action.settle(`procedure part ${index + 1}`, place, error, allowance);
  }
  if (isBad && error?.code === 'P0001') {
    if (error.outcome !== 'unknown') action.fault('a procedure that failed is not unknown');
    units[0].told = 'committed';
    units[1].told = 'absent';
  }
}

/** On shared connections: what an exclusive one needs is refused before it is sent. */
async function refusals(action, place) {
  const text = action.random.pick([
    'begin',
    'set stress.mark = 1',
    'listen stress',
    'select pg_advisory_lock(1)',
    'create temporary table refused (a int)',
    'copy effects from stdin',
    'rollback',
    'savepoint s',
    'discard all',
  ]);
  const { error } = await outcomeOf(place.on.query(text));
  if (error === undefined) action.fault(`${text} was not refused`);
  else action.settle('refusal', place, error, { refused: true });
}

module.exports = { batch, burst, cheapBurst, one, procedure, refusals };
