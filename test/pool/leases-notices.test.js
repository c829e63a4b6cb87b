'use strict';

// Borrowed clients that share connections, and that listen for notices: each hears what an exclusive client of `pg`
// hears, and keeps no connection for it.

const assert = require('node:assert/strict');
const pg = require('pg');
const { binding } = require('../../lib/native');
const { connectionString } = require('../support/connect');
const { until } = require('../support/outside');
const { floatingPool, usePools } = require('../support/pools');
const { cannotRun } = require('../support/cannot-run');

// The server gives notice of a stop word when it plans, right behind the Sync before.
const READ = "select plainto_tsquery('english', $1)::text as q, $2::int as i";
const NOTICED = 'the';
const CALLERS = 40;
const QUERIES = 30;

/** What a caller asks for: words with and without a notice, the same for both drivers. @param {number} caller */
function* wordsOf(caller) {
  for (let i = 0; i < QUERIES; ++i) yield (caller * 7 + i * i) % 3 === 0 ? NOTICED : 'cat';
}

/** @param {any} client @param {number} caller @returns {Promise<string[]>} what it hears and is told, in order */
async function record(client, caller) {
  /** @type {string[]} */
  const heard = [];
  const listener = (/** @type {any} */ { severity, message }) =>
    heard.push(`${severity} ${message}`);
  client.on('notice', listener);
  let i = 0;
  for (const word of wordsOf(caller)) {
    const { rows } = await client.query(READ, [word, i++]);
    heard.push(`row ${rows[0].q} ${rows[0].i}`);
  }
  client.off('notice', listener);
  return heard;
}

describe('A borrowed client that listens for notices', function () {
  this.timeout(20_000);

  usePools();

  before(function () {
    if (!binding.placesNotices) {
      cannotRun(this, 'a system libpq does not tell which query a notice is about');
    }
  });

  it('hears its own, in their place, among others on the same connections', async () => {
    const pool = await floatingPool({ max: 2, multiplex: 'reads' }, [
      READ.replace('$1', "'cat'").replace('$2', '1'),
    ]);
    for (let i = 0; i < 20; ++i) await pool.query(READ, ['cat', i]);
    const theirs = new pg.Client(connectionString());
    await theirs.connect();
    const clients = await Promise.all(Array.from({ length: CALLERS }, () => pool.connect()));
    let isOver = false;
    const neighbours = Promise.all(
      Array.from({ length: 20 }, async (_, i) => {
        while (!isOver) await pool.query(READ, [i % 2 ? NOTICED : 'cat', i]);
      }),
    );
    const recorded = await Promise.all(clients.map(record));
    isOver = true;
    await neighbours;
    assert.deepEqual(pool.stats().leases, { floating: CALLERS, pinned: 0 });
    for (const client of clients) client.release();
    for (let caller = 0; caller < CALLERS; ++caller) {
      assert.deepEqual(recorded[caller], await record(theirs, caller), `caller ${caller}`);
    }
    await theirs.end();
  });

  it('hears of a query also if it begins to listen while that is in flight', async () => {
    const pool = await floatingPool({}, [READ.replace('$1', "'cat'").replace('$2', '1')]);
    for (let i = 0; i < 3; ++i) await pool.query(READ, ['cat', i]);
    const client = await pool.connect();
    const answer = client.query(READ, [NOTICED, 1]);
    /** @type {string[]} */
    const heard = [];
    client.on('notice', ({ severity }) => heard.push(severity));
    await answer;
    assert.deepEqual(heard, ['NOTICE']);
    assert.equal(pool.stats().leases.pinned, 0);
    client.release();
  });

  it('hears of what runs on its connection while it has one', async () => {
    const pool = await floatingPool();
    const client = await pool.connect();
    /** @type {string[]} */
    const heard = [];
    client.on('notice', ({ message }) => heard.push(message));
    await client.query("do $$ begin raise notice 'mine'; end $$");
    await until('it is heard', () => heard.length === 1);
    assert.equal(pool.stats().leases.pinned, 1);
    client.release();
    assert.deepEqual(heard, ['mine']);
  });
});
