'use strict';

// Clients of one's own: borrowed from a pool, with what their sessions must not have from the last
// borrower, or made and ended by the action. What runs on them are the other actions.

const assert = require('node:assert/strict');
const { outcomeOf } = require('../../support/outcomes');
const { toldBy } = require('../ledger');
const { ClientPlace, newClientPlace } = require('../places');
const { pooler } = require('../pooler');
const { batch, burst, one, procedure } = require('./queries');
const { byCancel, bySignal, byTime } = require('./cancels');
const { copyFrom, copyRows, copyTo } = require('./copies');
const { cursor, stream } = require('./rows');
const { notify } = require('./notifications');
const { script } = require('./scripts');
const { cancelledTransaction, transaction } = require('./transactions');

/** What a session has of its own. Names of our statements are the driver's affair. */
const SESSION = {
  text: `select coalesce(current_setting('stress.mark', true), '') as mark,
    coalesce(current_setting('stress.setup', true), '') as setup,
    (select count(*)::int from pg_locks where locktype = 'advisory' and pid = pg_backend_pid()) as locks,
    (select count(*)::int from pg_prepared_statements where name not like 'pgc%') as prepared,
    (select count(*)::int from pg_prepared_statements where name like 'pgc%') as ours,
    (select count(*)::int from pg_class where relnamespace = pg_my_temp_schema() and relkind = 'r') as temporary,
    (select count(*)::int from pg_cursors where name <> '') as cursors,
    (select count(*)::int from pg_listening_channels()) as channels,
    pg_backend_pid() as pid`,
  prepare: false,
};

/** With much in flight. */
const MAX_UNCLOSED = 64;

const CLEAN = { mark: '', locks: 0, prepared: 0, temporary: 0, cursors: 0, channels: 0 };

/**
 * Nothing of another borrower is there.
 * @param {import('../action').Action} action
 * @param {import('../places').Place} place
 * @param {import('../places').PoolPlace} pool
 * @param {number} [unclosed] prepared statements that the cache has given up may still be there
 */
async function checkSession(action, place, pool, unclosed = MAX_UNCLOSED) {
  if (pooler.sharesSessions) return;
  const { value: result, error } = await outcomeOf(place.on.query(SESSION));
  action.settle('session', place, error);
  if (error !== undefined) return;
  const [{ ours, pid, setup, ...found }] = result.rows;
  action.log(`session of backend ${pid}`);
  if (pool.resets) action.check('session', () => assert.deepStrictEqual(found, CLEAN));
  if (pool.resets) {
    action.check('set up', () => assert.equal(setup, pool.hasSetUp ? 'done' : ''));
  }
  const { statementCacheSize } = place.options;
  if (ours > statementCacheSize + unclosed) {
    action.fault(`${ours} prepared statements, and room for ${statementCacheSize}`);
  }
}

/** What stays in a session until somebody resets it. */
async function pollute(action, place) {
  if (pooler.sharesSessions) return;
  const { random } = action;
  const id = action.ledger.newId();
  const text = random.pick([
    `set stress.mark = '${id}'`,
    `select set_config('stress.mark', '${id}', false)`,
    `select pg_advisory_lock(${id})`,
    `prepare stress_${id} as select ${id}`,
    `create temporary table stress_${id} (a int)`,
    `listen stress_${id}`,
    `begin; declare stress_${id} cursor with hold for select 1; commit`,
    `set stress.mark = '${id}'; select pg_advisory_lock(${id})`,
  ]);
  const { error } = await outcomeOf(place.on.query(text));
  action.settle('pollute', place, error, { commitsInside: text.startsWith('begin') });
}

const ENDINGS = [
  ['commit', 4],
  ['rollback', 2],
  ['left open', 2],
];

/**
 * A transaction by hand, one statement after the other or all at once.
 * @returns {Promise<boolean>} whether it may still be open
 */
async function byHand(action, place) {
  const { random } = action;
  const ids = Array.from({ length: random.int(1, 5) }, () => action.ledger.newId());
  const ending = random.weighted(ENDINGS);
  const texts = [
    'begin',
    ...ids.map((id) => `insert into effects values (${id})`),
    ...(random.chance(0.15) ? ['select 1 / 0'] : []),
    ...(ending === 'left open' ? [] : [ending]),
  ];
  /** @type {{ command?: string, error?: any }[]} */
  const outcomes = [];
  const send = async (text, index) => {
    try {
      outcomes[index] = await place.on.query(text);
    } catch (error) {
      outcomes[index] = { error };
    }
  };
  if (random.chance(0.5)) await Promise.all(texts.map(send));
  else {
    for (const [index, text] of texts.entries()) {
      // Without its transaction a statement would stand for itself.
      if (outcomes[0]?.error === undefined) await send(text, index);
      else outcomes[index] = { error: outcomes[0].error };
    }
  }
  for (const { error } of outcomes) {
    action.settle('by hand', place, error, { codes: ['22012', '25P02'] });
  }
  const [begun] = outcomes;
  const last = outcomes[outcomes.length - 1];
  const whole = action.openUnit();
  whole.told = toldOfBlock(ending, last);
  for (const [index, id] of ids.entries()) {
    const { error } = outcomes[index + 1];
    const isPart = begun.error === undefined && error === undefined;
    const unit = isPart ? whole : action.openUnit();
    unit.rows.set(id, 1);
    // Where nobody knows what BEGIN did, it may have stood for itself.
    if (!isPart) unit.told = error === undefined ? 'either' : toldBy(error);
  }
  return ending === 'left open' || outcomes.some(({ error }) => error !== undefined);
}

/** @param {string} ending @param {{ command?: string, error?: any }} last */
function toldOfBlock(ending, { command, error }) {
  if (ending !== 'commit') return 'absent';
  if (error !== undefined) return toldBy(error);
  return command === 'COMMIT' ? 'committed' : 'absent';
}

const ON_CLIENT = [
  [one, 6],
  [burst, 3],
  [batch, 2],
  [transaction, 3],
  [cancelledTransaction, 2],
  [byCancel, 2],
  [bySignal, 1],
  [byTime, 1],
  [cursor, 2],
  [stream, 1],
  [copyFrom, 1],
  [copyRows, 1],
  [copyTo, 1],
  [script, 1.5],
  [procedure, 0.5],
  [notify, 0.5],
  [pollute, 2],
];

async function useClient(action, place) {
  const { random } = action;
  for (let left = random.small(1, 7); left > 0; --left) {
    const run = random.weighted(ON_CLIENT);
    await run(action, place);
    if (random.chance(0.2)) await action.pause();
  }
}

async function borrow(action, pool) {
  const { random } = action;
  const { value: client, error } = await outcomeOf(pool.on.connect());
  action.settle('connect', pool, error);
  if (client === undefined) return;
  const { options, codes } = pool;
  const name = `client ${client.processID} of ${pool.name}`;
  const place = new ClientPlace(action.round, name, client, { options, codes });
  action.log(`borrowed ${name}`);
  await checkSession(action, place, pool);
  await useClient(action, place);
  const isOpen = random.chance(0.35) && (await byHand(action, place));
  if (!isOpen && random.chance(0.5)) await pollute(action, place);
  // What is in flight when it is given back is still answered, unless it is closed.
  const left =
    !isOpen && random.chance(0.1) ? action.run(place, action.newStatement('good')) : undefined;
  const how = random.weighted([
    [undefined, 8],
    [true, 1],
    [new Error('given up'), 1],
  ]);
  action.log(`release(${how ?? ''})`);
  if (how !== undefined) place.isEnding = true;
  client.release(how);
  if (random.chance(0.1)) {
    action.check('second release', () =>
      assert.throws(() => client.release(), { code: 'ERR_PG_CONDUIT_RELEASED' }),
    );
  }
  await left;
}

/** A client that comes and goes with the action. */
async function ownClient(action) {
  const { random } = action;
  const place = newClientPlace(action.round, `own client of ${action.name}`, random);
  const connected = place.on.connect();
  const early = random.chance(0.3) ? burst(action, place) : undefined;
  const { error } = await outcomeOf(connected);
  action.settle('connect alone', place, error);
  await early;
  const isUp = error === undefined;
  if (isUp && random.chance(0.5)) await useClient(action, place);
  const isOpen = isUp && random.chance(0.3) && (await byHand(action, place));
  // end() finishes what is in flight.
  const left = isUp && !isOpen && random.chance(0.3) ? burst(action, place) : undefined;
  if (random.chance(0.3)) await action.pause();
  // It may go on asking.
  place.isEnding = true;
  await place.on.end();
  await left;
}

/** Shared connections have nothing either. */
async function sharedSession(action, pool) {
  await checkSession(action, pool, pool);
}

module.exports = { borrow, checkSession, ownClient, sharedSession };
