'use strict';

// LISTEN and NOTIFY: whoever listens hears what is sent, once and in order, or is told of a gap.

const { setTimeout: delay } = require('node:timers/promises');
const { outcomeOf } = require('../../support/outcomes');

const CHANNELS = ['stress_a', 'Stress "B"', 'stress_ç'];
const PATIENCE_MILLIS = 30000;

/** Sends one, in one of the ways that there are. */
async function notify(action, place) {
  const { random, round } = action;
  const channel = random.pick(CHANNELS);
  const id = action.ledger.newId();
  const unit = action.openUnit();
  const note = round.notices.send(channel, id, unit);
  const { error } = await outcomeOf(
    place.isShared && random.chance(0.5)
      ? place.on.notify(channel, String(id))
      : place.on.query('select pg_notify($1, $2)', [channel, String(id)]),
  );
  action.settle('notify', place, error, { unit });
  note.settledAt = round.notices.now();
}

/** In a transaction, with rows: heard if they are there. */
async function notifyInTransaction(action, place) {
  const { random, round } = action;
  const channel = random.pick(CHANNELS);
  const id = action.ledger.newId();
  const unit = action.openUnit([[id, 1]]);
  const note = round.notices.send(channel, id, unit);
  const thrown = random.chance(0.3) ? new Error('thrown to be rolled back') : undefined;
  const { error } = await outcomeOf(
    place.on.transaction(async (tx) => {
      await tx.query('insert into effects values ($1)', [id]);
      await tx.query('select pg_notify($1, $2)', [channel, String(id)]);
      if (thrown !== undefined) throw thrown;
    }),
  );
  if (error !== undefined && error === thrown) unit.told = 'absent';
  else {
    const codes = ['0A000', '26000'];
    action.settle('notify in transaction', place, error, { unit, codes, fails: true });
  }
  note.settledAt = round.notices.now();
}

/** Listens for a while. */
async function listen(action, place) {
  const { random, round } = action;
  const { notices } = round;
  const channel = random.pick(CHANNELS);
  const subscriber = notices.subscribe(action.name, channel);
  const { value: subscription, error } = await outcomeOf(
    place.on.listen(channel, (payload) => subscriber.hear(payload), {
      onGap() {
        action.log('gap');
        subscriber.gaps.push(notices.now());
      },
    }),
  );
  subscriber.listensAt = notices.now();
  action.settle('listen', place, error);
  if (subscription === undefined) return;
  await delay(random.small(0, 400));
  if (random.chance(0.7)) await hearLast(action, place, subscriber);
  if (subscriber.gaps.length > 0) round.journal.count('listen', 'gap');
  subscriber.endsAt = notices.now();
  await subscription.unlisten();
}

/** Waits for a notification from outside, so that all before it must have been heard. */
async function hearLast(action, place, subscriber) {
  const { round } = action;
  const deadline = performance.now() + PATIENCE_MILLIS;
  while (performance.now() < deadline) {
    const settledBefore = round.notices.now();
    const id = action.ledger.newId();
    const unit = action.openUnit();
    const note = round.notices.send(subscriber.channel, id, unit);
    await round.outside.ask('select pg_notify($1, $2)', [subscriber.channel, String(id)]);
    unit.told = 'committed';
    note.settledAt = round.notices.now();
    // Long enough for a notification that is not lost.
    for (let left = 100; left > 0; --left) {
      if (place.isEnding) return;
      if (subscriber.heard.some(({ payload }) => payload === String(id))) {
        subscriber.completeAt = settledBefore;
        return;
      }
      await delay(5);
    }
  }
  action.fault('a subscription is deaf');
}

module.exports = { listen, notify, notifyInTransaction };
