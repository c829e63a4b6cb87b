'use strict';

// A server that does not read, and one that does not stop: the process goes on, what waits can be given
// up, and the pool is well again. By a scripted server.

const assert = require('node:assert/strict');
const { setTimeout: delay } = require('node:timers/promises');
const m = require('../support/messages');
const { ECHO } = require('../support/scripted-server');
const { allInTime, assertOwn, echo, inTime, useScript } = require('../support/scripts');

/** Of each flood that has been read. */
const MANY = 50;
const FLOODS = [
  ['notices', m.notice({ S: 'NOTICE', C: '00000', M: 'x'.repeat(100) })],
  ['settings', m.parameterStatus('application_name', 'x'.repeat(100))],
  ['notifications', m.notification(7, 'channel', 'x'.repeat(100))],
];

describe('A server', () => {
  const script = useScript();

  it('that never reads does not keep time limits from rejecting queries, sent or not', async () => {
    const pool = script.newPool({ syncGroup: 'off' });
    assertOwn(await inTime('a query', echo(pool, 1)), 1);
    for (const session of script.server.sessions) session.pause();
    const big = 'x'.repeat(1 << 20);
    const queries = Array.from({ length: 40 }, (_, i) =>
      pool.query({ text: ECHO, values: [i, big], timeoutMillis: 200 }),
    );
    const outcomes = await allInTime(queries);
    const told = { 'not-run': 0, unknown: 0, answered: 0 };
    outcomes.forEach(({ value, reason }, i) => {
      if (reason === undefined) {
        // The pool goes on elsewhere as soon as the first of them has waited for too long.
        assert.deepEqual(value.rows, [{ i, t: big }]);
        ++told.answered;
        return;
      }
      assert.equal(reason.code, 'ERR_PG_CONDUIT_QUERY_TIMEOUT', String(reason));
      ++told[reason.outcome];
    });
    // Those that wait for bytes to leave have surely not run.
    assert.ok(told['not-run'] + told.answered > 0 && told.unknown > 0, JSON.stringify(told));
    for (const session of script.server.sessions) session.end('reset');
    await script.recovers(pool);
  });

  it('that never reads and then closes makes sent queries unknown, and the others run elsewhere', async () => {
    const pool = script.newPool({ syncGroup: 'off' });
    assertOwn(await inTime('a query', echo(pool, 1)), 1);
    for (const session of script.server.sessions) session.pause();
    const big = 'x'.repeat(1 << 20);
    const queries = Array.from({ length: 40 }, (_, i) => pool.query(ECHO, [i, `${i}${big}`]));
    await delay(50);
    for (const session of script.server.sessions) session.end('reset');
    const outcomes = await allInTime(queries);
    outcomes.forEach(({ value, reason }, i) => {
      if (reason === undefined) assert.deepEqual(value.rows, [{ i, t: `${i}${big}` }]);
      else assert.equal(reason.outcome, 'unknown', String(reason));
    });
    assert.ok(outcomes.some(({ status }) => status === 'rejected'));
    assert.ok(outcomes.some(({ status }) => status === 'fulfilled'));
  });

  for (const [what, said] of FLOODS) {
    it(`that sends ${what} without end still gets its answers through`, async () => {
      const pool = script.newPool();
      assertOwn(await inTime('a query', echo(pool, 1)), 1);
      const flood = Buffer.concat(Array(MANY).fill(said));
      const timer = setInterval(() => {
        for (const session of script.server.sessions) if (!session.isFull) session.say(flood);
      }, 1);
      try {
        for (let i = 0; i < 5; ++i) {
          assertOwn(await inTime('a query', echo(pool, i)), i);
          await delay(5);
        }
      } finally {
        clearInterval(timer);
      }
      await script.recovers(pool);
      assert.equal(script.server.count, 1);
    });
  }
});
