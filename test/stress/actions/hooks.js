'use strict';

// Callers' own code that the driver asks: password functions, onConnect, verify, `log`, listeners of a
// pool, parsers and toPostgres(). It throws, rejects with anything, or queries from within.

const { inspect } = require('node:util');
const { setTimeout: delay } = require('node:timers/promises');
const { ConduitError } = require('../../..');
const { driverError } = require('../../support/driver-error');
const { outcomeOf } = require('../../support/outcomes');
const { calmOptions, withPool } = require('../calm');
const { Mine, amongOthers } = require('./throwing');

/** What somebody may reject with. */
const REASONS = [
  () => undefined,
  () => null,
  () => 'a text',
  () => 42,
  () => Symbol('a symbol'),
  () => new DOMException('timed out', 'TimeoutError'),
  () => Object.freeze(new Error('frozen')),
  () => Object.assign(new Error('with a code'), { code: 'ENOENT', outcome: 'committed' }),
  () =>
    Object.defineProperty(new Error('with a getter'), 'code', {
      get() {
        throw new Error('thrown by a getter');
      },
    }),
  () => Object.create(null),
  () => new Proxy({}, { get: () => 'trap', getPrototypeOf: () => Error.prototype }),
];

/** A hook that fails at some of its calls, in one of the ways that there are. */
function hookOf(random, reason, value, failsAt) {
  const how = random.pick(['rejects', 'throws', 'rejects late']);
  let calls = 0;
  return async () => {
    const isBad = failsAt(++calls);
    if (isBad && how === 'rejects late') await delay(5);
    if (isBad) throw reason;
    return value;
  };
}

/** A pool whose connections cannot be made, or only now and then. */
async function rejectingHooks(action) {
  const { random } = action;
  const period = random.pick([1, 2, 3]);
  const failsAt = (call) => call % period === 0;
  const name = random.pick(['password', 'onConnect', 'verify']);
  // To the callback of verify nothing is a success.
  const reasons = name === 'verify' ? REASONS.filter((make) => make()) : REASONS;
  const reason = random.pick(reasons)();
  action.round.journal.count('hook', name);
  action.log(`${name} fails with ${nameReason(reason)}, each ${period}th time`);
  const hook = hookOf(random, reason, name === 'password' ? 'secret' : undefined, failsAt);
  const given =
    name === 'verify'
      ? {
          verify: (_client, callback) => {
            hook().then(
              () => callback(),
              (error) => callback(error),
            );
          },
        }
      : { [name]: hook };
  const options = { ...calmOptions(random), ...given, maxUses: 2 };
  await withPool(action, 'pool with hooks', options, async (place) => {
    for (let left = random.int(1, 5); left > 0 && !action.entry.hasFault; --left) {
      const calls = Array.from({ length: random.int(1, 4) }, async () => {
        const id = action.ledger.newId();
        const unit = action.openUnit([[id, 1]]);
        const run = random.pick([
          () => place.on.query('insert into effects values ($1)', [id]),
          () => place.on.batch([{ text: 'insert into effects values ($1)', values: [id] }]),
          () => place.on.transaction((tx) => tx.query('insert into effects values ($1)', [id])),
        ]);
        const done = outcomeOf(run());
        const outcome = await action.inTime(`a query behind ${name}`, done);
        if (outcome === undefined) return;
        unit.told = 'committed';
        // A rejection may be with nothing: then there is no value either.
        if (outcome.value !== undefined) return;
        unit.told = 'absent';
        checkReason(action, name, outcome.error, reason);
      });
      await Promise.all(calls);
    }
  });
}

/** @param {import('../action').Action} action @param {string} name @param {any} error @param {unknown} reason */
function checkReason(action, name, error, reason) {
  const what = `${name} has failed with ${nameReason(reason)}`;
  // An error may be passed on, or a copy of it for each of those who wait.
  if (isOrdinary(reason) && isOrdinary(error) && error.message === reason.message) return;
  if (!(error instanceof ConduitError)) {
    action.fault(`${what}, and a query with ${nameReason(error)}`);
    return;
  }
  action.round.journal.count('hook', `told ${error.code}`);
  if (error.outcome !== 'not-run') action.fault(`${what}: the outcome is ${error.outcome}`);
  if (!Object.is(error.cause, reason)) {
    action.fault(`${what}: the cause is ${nameReason(error.cause)}`);
  }
  action.check(`${what}: the error can be printed`, () => {
    String(error);
    if (!(reason instanceof Object) || reason instanceof Error) inspect(error.message);
  });
}

/** @param {any} reason */
function isOrdinary(reason) {
  return reason instanceof Error;
}

/** @param {any} reason */
function nameReason(reason) {
  try {
    return `${typeof reason} ${String(reason)}`;
  } catch {
    return 'an object that cannot be printed';
  }
}

const EVENTS = ['connect', 'acquire', 'release', 'remove'];

/** Listeners of a pool and its `log` throw while others query; connections come and go. */
async function throwingEvents(action) {
  const { random, round } = action;
  const inLog = new Mine(action, 'log', 6);
  const options = {
    ...calmOptions(random),
    maxUses: random.pick([1, 3, 10]),
    idleTimeoutMillis: random.pick([1, 10000]),
    ...(random.chance(0.5) && { log: () => inLog.step() }),
  };
  await withPool(action, 'pool of throwing listeners', options, async (place) => {
    for (const event of EVENTS.filter(() => random.chance(0.5))) {
      const mine = new Mine(action, `a listener of ${event}`, 5);
      place.on.on(event, () => mine.step());
    }
    const onError = new Mine(action, 'a listener of error', 2);
    place.on.on('error', () => onError.step());
    await amongOthers(action, place, async () => {
      for (let left = random.int(1, 6); left > 0; --left) {
        const borrowed = action.inTime('connect()', outcomeOf(place.on.connect()));
        const { value: client, error } = (await borrowed) ?? {};
        action.settle('connect', place, error);
        if (client === undefined) continue;
        const pid = client.processID;
        client.release();
        if (!random.chance(0.3)) continue;
        // Idle or not, it is lost by this.
        place.mayBeLost = true;
        await round.outside.terminate(pid);
        await action.pause();
      }
    });
  });
}

/** Parsers and toPostgres() that query, or throw, or both. */
async function queriesFromWithin(action) {
  const { random } = action;
  await withPool(action, 'pool asked from within', calmOptions(random), async (place) => {
    /** @type {Promise<any>[]} */
    const inner = [];
    const ask = (part) => {
      if (inner.length < 40) inner.push(part.run(place, part.newStatement('writes')));
    };
    const reader = action.part(random.fork());
    const writer = action.part(random.fork());
    const types = {
      getTypeParser: () => (value) => {
        ask(reader);
        if (random.chance(0.2)) throw new Error('thrown by a parser');
        return Number(value);
      },
    };
    const once = async () => {
      const id = action.ledger.newId();
      const unit = action.openUnit([[id, 1]]);
      const throws = random.chance(0.2);
      const value = {
        toPostgres() {
          ask(writer);
          if (throws) throw new Error('thrown by toPostgres');
          return id;
        },
      };
      const text = `select remember($1) as id -- ${random.int(0, 5)}`;
      const { error } = await outcomeOf(place.on.query({ text, values: [value], types }));
      if (driverError(error)?.code === 'ERR_PG_CONDUIT_RESULT') unit.told = 'committed';
      else action.settle('from within', place, error, { unit, refused: throws });
    };
    await amongOthers(action, place, async () => {
      for (let left = random.int(1, 6); left > 0; --left) {
        const runs = Array.from({ length: random.int(1, 8) }, once);
        await action.inTime('queries from within', Promise.all(runs));
      }
      await action.inTime('what they have asked', Promise.all(inner));
    });
  });
}

module.exports = { queriesFromWithin, rejectingHooks, throwingEvents };
