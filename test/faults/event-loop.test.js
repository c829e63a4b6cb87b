'use strict';

// The event loop is blocked while answers arrive: what is there wins over the timers that have run out
// meanwhile, all of which fire before anything is read.

const assert = require('node:assert/strict');
const { setImmediate: nextTurn, setTimeout: delay } = require('node:timers/promises');
const { blockThread } = require('../support/blocked');
const { endAll, newClient, newPool, options } = require('../support/connect');
const { Client } = require('../..');
const { applicationName } = require('../support/outside');
const { usePools, PID, pidOf } = require('../support/pools');
const { IS_FULL } = require('../support/property');

/** Timers of the tests run out within the block. */
const TIMEOUT_MILLIS = 200;
const BLOCK_MILLIS = 1000;

/**
 * Blocks it between the turn in which something was sent and the one in which it could be read.
 * @param {number} millis
 */
async function block(millis) {
  await delay(20);
  // Behind reading, and before the timers.
  await nextTurn();
  blockThread(millis);
}

describe('After the event loop was blocked', function () {
  this.timeout(30000);

  const observer = usePools();
  afterEach(endAll);

  let blockMillis = IS_FULL ? 5000 : BLOCK_MILLIS;

  for (const kind of ['client', 'pool']) {
    it(`answers that have arrived win over timeoutMillis, on a ${kind}`, async () => {
      const one = kind === 'client' ? await newClient() : newPool({ max: 1 });
      await one.query('select 1');
      const text =
        "select n, repeat('x', 1000) as t, pg_sleep(0.05) from generate_series(1, $1::int) n";
      for (const rows of [1, 3]) {
        const answer = one.query({ text, values: [rows], timeoutMillis: TIMEOUT_MILLIS });
        await block(blockMillis);
        assert.equal((await answer).rows.length, rows);
        blockMillis = BLOCK_MILLIS;
      }
    });
  }

  it('a large answer that has arrived wins, although it takes many reads', async () => {
    const client = await newClient();
    const text = "select pg_sleep(0.05), repeat('x', 1000000) as t";
    const answer = client.query({ text, timeoutMillis: TIMEOUT_MILLIS });
    await block(BLOCK_MILLIS);
    assert.equal((await answer).rows[0].t.length, 1000000);
  });

  it('answers that have arrived win over query_timeout for each of many queries', async () => {
    const pool = newPool({ max: 2, query_timeout: TIMEOUT_MILLIS });
    await pool.query('select 1');
    const answers = Array.from({ length: 50 }, (_, i) => pool.query('select $1::int as i', [i]));
    answers.push(pool.query('select pg_sleep(0.05), 50 as i'));
    await block(BLOCK_MILLIS);
    const rows = (await Promise.all(answers)).map((answer) => answer.rows[0].i);
    assert.deepEqual(
      rows,
      Array.from({ length: 51 }, (_, i) => i),
    );
  });

  it('a query without an answer is rejected', async () => {
    const client = await newClient();
    const answer = client.query({ text: 'select pg_sleep(30)', timeoutMillis: TIMEOUT_MILLIS });
    const rejected = assert.rejects(answer, { code: 'ERR_PG_CONDUIT_QUERY_TIMEOUT' });
    await block(BLOCK_MILLIS);
    await rejected;
  });

  it('a connection that is being opened wins over connectionTimeoutMillis', async () => {
    const client = new Client(options({ connectionTimeoutMillis: TIMEOUT_MILLIS }));
    const connected = client.connect();
    await nextTurn();
    blockThread(BLOCK_MILLIS);
    await connected;
    await client.end();
  });

  it('a query of a pool that waits for a new or a busy connection wins over connectionTimeoutMillis', async () => {
    const pool = newPool({ max: 1, connectionTimeoutMillis: TIMEOUT_MILLIS });
    const first = pool.query('select 1 as n');
    const borrowed = pool.connect();
    await nextTurn();
    blockThread(BLOCK_MILLIS);
    assert.deepEqual((await first).rows, [{ n: 1 }]);
    const client = await borrowed;
    const waiting = pool.query('select 2 as n');
    const answer = client.query('select pg_sleep(0.05)').finally(() => client.release());
    await block(BLOCK_MILLIS);
    await answer;
    assert.deepEqual((await waiting).rows, [{ n: 2 }]);
  });

  it('no connection with an answer that has arrived is closed as idle', async () => {
    const name = applicationName();
    const pool = newPool({ max: 1, idleTimeoutMillis: TIMEOUT_MILLIS, application_name: name });
    const pid = pidOf(await pool.query(PID));
    const answer = pool.query(`${PID}, pg_sleep(0.05)`);
    await block(BLOCK_MILLIS);
    assert.equal(pidOf(await answer), pid);
    assert.equal(pidOf(await pool.query(PID)), pid);
    assert.deepEqual(await observer.backends(name), [pid]);
  });
});
