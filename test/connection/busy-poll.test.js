'use strict';

// The event loop stays awake for an answer that is expected soon (`busyPollMicros`). Node.js counts the turns of its loop: one
// that stays awake makes many of them for an answer, one that sleeps one or two.

const assert = require('node:assert/strict');
const { performance } = require('node:perf_hooks');
const { setTimeout: delay } = require('node:timers/promises');
const { cannotRun } = require('../support/cannot-run');
const { endAll, newClient, newPool } = require('../support/connect');

const TIMES = 100;
/** At a time: more than may be expected while the loop stays awake for as long as it may. */
const CALLERS = 8;
/** Of an answer for which nobody stays awake: it is read, delivered and asked for. */
const FEW_TURNS = 4;
/** Fewer than it makes if it stays awake for one answer. */
const MANY_TURNS = 200;

/** Sooner than the loop would sleep with MOST. */
const SOON = 'select count(*) from generate_series(1, 4000)';
const LATE = 'select pg_sleep(0.003)';
const MOST = 1000;

function countTurns() {
  // Its type does not tell of it yet.
  return /** @type {any} */ (performance.nodeTiming).uvMetricsInfo.loopCount;
}

/** @param {{ query: (text: string) => Promise<unknown> }} client @param {string} text @returns {Promise<number>} turns for an answer */
async function turnsFor(client, text) {
  const before = countTurns();
  for (let i = 0; i < TIMES; ++i) await client.query(text);
  return (countTurns() - before) / TIMES;
}

describe('The event loop', function () {
  this.timeout(30_000);

  before(function () {
    const isCounted = 'uvMetricsInfo' in performance.nodeTiming;
    if (!isCounted) cannotRun(this, 'its Node.js does not count the turns of the event loop');
  });
  afterEach(endAll);

  it('stays awake for an answer that comes soon', async () => {
    const client = await newClient({ busyPollMicros: MOST });
    const turns = await turnsFor(client, SOON);
    assert.ok(turns > FEW_TURNS, String(turns));
  });

  it('stays awake for those of a pool, too', async () => {
    const pool = newPool({ busyPollMicros: MOST });
    const turns = await turnsFor(pool, SOON);
    assert.ok(turns > FEW_TURNS, String(turns));
  });

  it('sleeps with busyPollMicros: 0', async () => {
    const client = await newClient({ busyPollMicros: 0 });
    const turns = await turnsFor(client, SOON);
    assert.ok(turns < FEW_TURNS, String(turns));
  });

  it('sleeps while the server has more to do, since a later answer delays nobody then', async () => {
    const client = await newClient({ busyPollMicros: MOST });
    /** @type {number[]} */
    const turns = [];
    let before = countTurns();
    const call = async () => {
      while (turns.length < TIMES) {
        await client.query(SOON);
        turns.push(countTurns() - before);
        before = countTurns();
      }
    };
    await Promise.all(Array.from({ length: CALLERS }, call));
    // Not of all together: if this process has to wait for a core, the server runs out of work.
    const median = turns.sort((a, b) => a - b)[turns.length >> 1];
    assert.ok(median < FEW_TURNS, String(median));
  });

  it('sleeps if answers come late', async () => {
    const client = await newClient({ busyPollMicros: MOST });
    await turnsFor(client, LATE);
    // Now one in 257 is tried, which takes some thousand turns.
    const turns = await turnsFor(client, LATE);
    assert.ok(turns < MANY_TURNS, String(turns));
  });

  it('serves timers and the rest meanwhile', async () => {
    const client = await newClient({ busyPollMicros: MOST });
    let turns = 0;
    let isOver = false;
    const onTurn = () => {
      ++turns;
      if (!isOver) setImmediate(onTurn);
    };
    onTurn();
    await turnsFor(client, SOON);
    isOver = true;
    assert.ok(turns > TIMES, String(turns));
  });

  it('sleeps while nothing is in flight', async () => {
    const client = await newClient({ busyPollMicros: MOST });
    await client.query('select 1');
    const before = countTurns();
    await delay(100);
    // Whatever else the process does may wake it.
    const turns = countTurns() - before;
    assert.ok(turns < MANY_TURNS, String(turns));
  });
});
