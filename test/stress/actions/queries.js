'use strict';

// Statements, alone and many at once; batches; procedures that commit on their way.

const assert = require('node:assert/strict');

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

/** Few texts, which become known and cheap. */
async function cheapBurst(action, place) {
  const { random } = action;
  const promises = [];
  for (let left = random.int(2, BURST); left > 0; --left) {
    const id = action.ledger.newId();
    const isRead = random.chance(0.4);
    promises.push(
      action.run(place, {
        kind: isRead ? 'cheap read' : 'cheap insert',
        query: {
          text: isRead ? 'select $1::int as id' : 'insert into effects values ($1) returning id',
          values: [id],
        },
        rows: isRead ? [] : [[id, 1]],
        check: ({ rows }) => assert.deepStrictEqual(rows, [{ id }]),
      }),
    );
  }
  if (random.chance(0.4)) promises.push(action.run(place, action.newStatement()));
  await Promise.all(promises);
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
  let results;
  let error;
  try {
    results = await place.on.batch(statements.map(({ query }) => query));
  } catch (caught) {
    error = caught;
  }
  if (error?.code === 'ERR_PG_CONDUIT_RESULT' && statements[error.index]?.isUnreadable) {
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
  let error;
  try {
    await place.on.query('call commits($1, $2, $3)', [...parts, isBad]);
  } catch (caught) {
    error = caught;
  }
  if (isBad && error === undefined) action.fault('a procedure should have failed');
  for (const [index, unit] of units.entries()) {
    const allowance = { unit, codes: ['P0001'], commitsInside: true };
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
  let error;
  try {
    await place.on.query(text);
  } catch (caught) {
    error = caught;
  }
  if (error === undefined) action.fault(`${text} was not refused`);
  else action.settle('refusal', place, error, { refused: true });
}

module.exports = { batch, burst, cheapBurst, one, procedure, refusals };
