'use strict';

// Texts of several statements, by the simple protocol.

const assert = require('node:assert/strict');

const BREAKERS = [
  ['select 1 / 0', '22012'],
  ['insert into keyed values (0)', '23505'],
  ['select * from no_such_table', '42P01'],
];

/** One implicit transaction, or none that is whole. */
async function script(action, place) {
  const { random } = action;
  const ids = Array.from({ length: random.int(1, 6) }, () => action.ledger.newId());
  const statements = ids.map((id) =>
    random.chance(0.7) ? `insert into effects values (${id})` : `select remember(${id}) as id`,
  );
  const unit = action.openUnit(ids.map((id) => [id, 1]));
  const breaker = random.chance(0.35) ? random.pick(BREAKERS) : undefined;
  if (breaker !== undefined) statements.splice(random.int(0, statements.length), 0, breaker[0]);
  const readId = action.ledger.newId();
  statements.push(`select ${readId} as id`, 'select 1 as last');
  const isBlock = random.chance(0.3);
  if (isBlock) {
    statements.unshift('begin');
    statements.push('commit');
  }
  const { error, results } = await send(action, place, statements);
  const isBad = breaker !== undefined;
  if (isBad && error === undefined) action.fault('a script should have failed');
  const codes = isBad ? [breaker[1]] : [];
  // With COMMIT in it, nobody knows how far it came.
  action.settle('script', place, error, { unit, codes, commitsInside: isBlock });
  if (isBad && codes.includes(error?.code)) unit.told = 'absent';
  if (error !== undefined) {
    // What BEGIN has begun is still there, on a client.
    if (isBlock && !place.isShared) await place.on.query('rollback').catch(() => {});
    return;
  }
  action.check('script', () => {
    assert.equal(results.length, statements.length);
    assert.deepStrictEqual(results[statements.indexOf(`select ${readId} as id`)].rows, [
      { id: readId },
    ]);
  });
}

/** It leaves a transaction open, which nobody can end. */
async function openScript(action, place) {
  const id = action.ledger.newId();
  const unit = action.openUnit([[id, 1]]);
  const { error } = await send(action, place, ['begin', `insert into effects values (${id})`]);
  unit.told = 'absent';
  if (error === undefined) {
    action.fault('a text that leaves a transaction open was fulfilled');
    return;
  }
  const isTold = error.message.includes('has opened a transaction');
  if (!isTold) action.settle('open script', place, error);
  else action.round.journal.count('open script', 'told');
}

async function send(action, place, statements) {
  const text = statements.join(action.random.pick(['; ', ';', ';;\n']));
  try {
    return { results: await place.on.query(text) };
  } catch (error) {
    return { error };
  }
}

module.exports = { openScript, script };
