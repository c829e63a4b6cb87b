'use strict';

// Giving up: by a signal, a time limit or client.cancel(), before it is sent, while it runs, or too late.

const { setTimeout: delay } = require('node:timers/promises');
const { outcomeOf } = require('../../support/outcomes');
const { CANNOT_BE_HEALED } = require('../places');

/** @param {import('../action').Action} action */
function slowStatement(action) {
  const { random } = action;
  const id = action.ledger.newId();
  const seconds = random.small(0, 120) / 1000;
  const isRead = random.chance(0.3);
  return {
    kind: isRead ? 'given up read' : 'given up insert',
    query: isRead
      ? { text: 'select $1::int as id, pg_sleep($2)::text as s', values: [id, seconds] }
      : {
          text: 'with s as (select pg_sleep($2)) insert into effects select $1 from s returning id',
          values: [id, seconds],
        },
    rows: isRead ? [] : [[id, 1]],
    check({ rows }) {
      if (rows.length !== 1 || rows[0].id !== id) throw new Error(JSON.stringify(rows));
    },
  };
}

async function bySignal(action, place) {
  const { random } = action;
  const controller = new AbortController();
  const many = random.chance(0.3) ? random.int(2, 6) : 1;
  if (random.chance(0.05)) controller.abort();
  const { signal } = controller;
  const promises = Array.from({ length: many }, () => {
    const statement = random.chance(0.3) ? action.newStatement() : slowStatement(action);
    return action.run(place, statement, {
      more: { signal },
      aborts: true,
      codes: CANNOT_BE_HEALED,
    });
  });
  const over = Promise.all(promises);
  if (random.chance(0.8)) {
    await Promise.race([over, delay(random.small(0, 100))]);
    action.log('abort');
    controller.abort();
  }
  await over;
}

async function byTime(action, place) {
  const { random } = action;
  const timeoutMillis = random.small(1, 100);
  const promises = [];
  for (let left = random.small(1, 8); left > 0; --left) {
    const statement = random.chance(0.5) ? action.newStatement() : slowStatement(action);
    promises.push(action.run(place, statement, { more: { timeoutMillis }, timesOut: true }));
  }
  await Promise.all(promises);
}

/** On a client: whatever runs is hit, what comes behind the cancel is not. */
async function byCancel(action, place) {
  const { random } = action;
  const promises = [];
  for (let left = random.small(1, 5); left > 0; --left) {
    const statement = random.chance(0.3) ? action.newStatement() : slowStatement(action);
    promises.push(action.run(place, statement, { aborts: true }));
  }
  const over = Promise.all(promises);
  await Promise.race([over, delay(random.small(0, 60))]);
  const cancelled = place.on.cancel();
  action.log('cancel');
  // Sent while the cancel is under way, so it must not be hit.
  if (random.chance(0.5)) promises.push(action.run(place, action.newStatement()));
  const { error } = await outcomeOf(cancelled);
  action.settle('cancel()', place, error);
  if (random.chance(0.5)) promises.push(action.run(place, action.newStatement()));
  await Promise.all(promises);
}

module.exports = { byCancel, bySignal, byTime };
