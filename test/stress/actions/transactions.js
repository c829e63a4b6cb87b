'use strict';

// Transactions of random shape: statements one after the other, side by side or not awaited, batches,
// savepoints in savepoints, and all ways in which they end.

const { setTimeout: delay } = require('node:timers/promises');
const { driverError } = require('../../support/driver-error');
const { outcomeOf } = require('../../support/outcomes');
const { QueryAbortedError } = require('../../..');
const { CANNOT_BE_HEALED, placeWithin } = require('../places');

const MAX_DEPTH = 3;
/** Serialization failure, deadlock. */
const CONFLICTS = ['40001', '40P01'];
/** Of a deferred constraint. */
const DEFERRED = '23503';
/** And what follows them in the same transaction. */
const FAILURES = [...CONFLICTS, '25P02'];

/** What a function throws to be rolled back. */
class Thrown extends Error {}

/** What is known of one transaction or savepoint while its function runs. */
class Scope {
  /** What is committed with it. @type {[number, number][]} */
  rows = [];
  /** A statement in it has failed or should have. */
  hasFailed = false;
  /** COMMIT will fail. */
  breaksAtCommit = false;
}

/** Runs one statement of a transaction and notes what it leaves. */
async function runStatement(action, place, scope, given) {
  scope.rows.push(...given.rows);
  const isDeferred = given.code === DEFERRED;
  if (isDeferred) scope.breaksAtCommit = true;
  const statement = isDeferred ? { ...given, code: undefined } : given;
  const { value: result, error } = await outcomeOf(place.on.query(statement.query));
  // Its own promise says what became of it; the transaction says what lasts.
  const allowance = { codes: FAILURES, fails: true, refused: scope.hasFailed };
  action.judge(statement, place, error, result, allowance);
  if (error === undefined || driverError(error).code === 'ERR_PG_CONDUIT_RESULT') return;
  // Given up behind COMMIT, it is no failure: COMMIT tells what became of it.
  const isBehindCommit = error instanceof QueryAbortedError && error.outcome === 'unknown';
  if (!isBehindCommit) scope.hasFailed = true;
  throw error;
}

async function runBatch(action, place, scope) {
  const statements = Array.from({ length: action.random.int(1, 6) }, () =>
    action.newStatement('good'),
  );
  scope.rows.push(...statements.flatMap(({ rows }) => rows));
  try {
    const results = await place.on.batch(statements.map(({ query }) => query));
    action.check('batch in a transaction', () => {
      for (const [index, { check }] of statements.entries()) check(results[index], place);
    });
  } catch (error) {
    scope.hasFailed = true;
    const allowance = { codes: FAILURES, fails: true, refused: true };
    action.settle('batch in transaction', place, error, allowance);
    throw error;
  }
}

/** Its error, if it is caught, is the savepoint's alone. */
async function runSavepoint(action, place, scope, depth) {
  const inner = new Scope();
  try {
    await place.on.transaction(async (tx) => {
      await runBody(action, inside(place, tx, 'savepoint'), inner, depth + 1);
    });
  } catch (error) {
    action.log(`savepoint: ${error.message}`);
    action.openUnit(inner.rows).told = 'absent';
    if (action.random.chance(0.3)) throw error;
    return;
  }
  if (inner.hasFailed) action.fault('a savepoint was kept in which something has failed');
  scope.rows.push(...inner.rows);
  scope.breaksAtCommit ||= inner.breaksAtCommit;
}

const STEPS = [
  ['statement', 8],
  ['side by side', 2],
  ['not awaited', 1.5],
  ['batch', 1],
  ['savepoint', 1.5],
  ['caught', 1.5],
  ['pause', 1],
  ['throw', 0.25],
];

async function runBody(action, place, scope, depth) {
  const { random } = action;
  for (let left = random.small(0, 7); left > 0; --left) {
    const step = random.weighted(STEPS);
    const which = random.chance(step === 'not awaited' ? 0.6 : 0.9) ? 'good' : 'all';
    const run = () => runStatement(action, place, scope, action.newStatement(which));
    switch (step) {
      case 'side by side':
        await Promise.all(Array.from({ length: random.int(2, 6) }, run));
        break;
      case 'not awaited':
        run().catch(() => {});
        break;
      case 'batch':
        await runBatch(action, place, scope);
        break;
      case 'savepoint':
        if (depth < MAX_DEPTH) await runSavepoint(action, place, scope, depth);
        break;
      case 'caught':
        await run().catch(() => {});
        break;
      case 'pause':
        await delay(random.small(0, 15));
        break;
      case 'throw':
        throw new Thrown('thrown by the function');
      default:
        await run();
    }
  }
}

/** @param {import('../random').Random} random */
function transactionOptions(random) {
  if (random.chance(0.6)) return undefined;
  return {
    isolationLevel: random.pick(['read committed', 'repeatable read', 'serializable']),
    ...(random.chance(0.6) && { retry: { serialization: random.int(1, 4) } }),
  };
}

async function transaction(action, place) {
  const { random } = action;
  const options = transactionOptions(random);
  /** @type {Scope[]} */
  const attempts = [];
  let late;
  let thrown;
  const { value, error } = await outcomeOf(
    place.on.transaction(async (tx) => {
      late = tx;
      const scope = new Scope();
      attempts.push(scope);
      try {
        await runBody(action, inside(place, tx, 'transaction'), scope, 0);
      } catch (caught) {
        thrown = caught;
        throw caught;
      }
      return attempts.length;
    }, options),
  );
  const { rows, hasFailed, breaksAtCommit } = attempts.pop() ?? new Scope();
  for (const attempt of attempts) action.openUnit(attempt.rows).told = 'absent';
  const isLoose = error?.message.startsWith('the transaction could not begin');
  const unit = action.openUnit(isLoose ? [] : rows);
  // Each statement may have been one of its own.
  if (isLoose) for (const row of rows) action.openUnit([row]).told = 'either';
  if (error !== undefined && error === thrown) {
    action.log(`transaction on ${place.name}: thrown ${error.message}`);
    action.round.journal.count('transaction', 'thrown');
    unit.told = 'absent';
  } else {
    const codes = breaksAtCommit ? [...CONFLICTS, DEFERRED] : CONFLICTS;
    action.settle('transaction', place, error, { unit, fails: hasFailed, codes });
  }
  if (error === undefined) {
    if (hasFailed || breaksAtCommit) {
      action.fault('a transaction was committed in which something has failed');
    }
    if (value !== attempts.length + 1) action.fault(`a transaction has returned ${value}`);
  }
  if (late !== undefined && random.chance(0.1)) await tooLate(action, place, late);
}

/**
 * A client's transaction is hit by cancel() somewhere: BEGIN, a statement, COMMIT or nothing. If it was
 * BEGIN, the connection is closed.
 */
async function cancelledTransaction(action, place) {
  const codes = new Set([...place.codes, '57014']);
  const within = placeWithin(place, { codes });
  Object.defineProperty(within, 'mayBeLost', { value: true });
  const over = transaction(action, within);
  await Promise.race([over, delay(action.random.small(0, 40))]);
  action.log('cancel');
  const { error } = await outcomeOf(place.on.cancel());
  action.settle('cancel()', within, error);
  await over;
  const { error: closed } = await outcomeOf(place.on.query('select 1'));
  if (closed !== undefined) place.isEnding = true;
}

/** What comes after the end is refused. */
async function tooLate(action, place, tx) {
  const statement = action.newStatement('writes');
  const unit = action.openUnit(statement.rows);
  const { error } = await outcomeOf(tx.query(statement.query));
  if (error === undefined) action.fault('a statement ran after the end of its transaction');
  action.settle('too late', place, error, { unit, fails: true });
}

/** @param {import('../places').Place} place @param {any} tx @param {string} what */
function inside(place, tx, what) {
  const codes = new Set([...place.codes, ...CANNOT_BE_HEALED]);
  return placeWithin(place, { on: tx, name: `${place.name} ${what}`, isShared: false, codes });
}

module.exports = { cancelledTransaction, transaction };
