'use strict';

// With `maxInFlight: 1`, as behind an old PgBouncer, nothing is sent on a connection before all that was sent is answered.

const assert = require('node:assert/strict');
const { Client, Pool } = require('../..');
const { outcomeOf } = require('../support/outcomes');
const { Proxy } = require('../support/proxy');

const SYNC = Buffer.from('S\0\0\0\x04', 'latin1');

describe('With one query in flight at a time', function () {
  this.timeout(20_000);

  /** @type {Proxy} */
  let proxy;
  /** @type {{ end: () => Promise<void> }[]} */
  const opened = [];
  /** Syncs that were sent and not answered, at most. */
  let most = 0;

  beforeEach(async () => {
    proxy = await Proxy.open();
    let unanswered = 0;
    most = 0;
    proxy.change = (type, bytes) => {
      // The first one says that the session has begun.
      if (type === 'Z') unanswered = Math.max(0, unanswered - 1);
      return bytes;
    };
    proxy.changeRequest = (bytes) => {
      for (let at = bytes.indexOf(SYNC); at >= 0; at = bytes.indexOf(SYNC, at + 1)) ++unanswered;
      most = Math.max(most, unanswered);
      return bytes;
    };
  });

  afterEach(async () => {
    await Promise.all(opened.splice(0).map((one) => one.end()));
    await proxy.close();
  });

  function newPool(given) {
    const pool = new Pool(proxy.options({ max: 1, maxInFlight: 1, ...given }));
    opened.push(pool);
    return pool;
  }

  it('queries, batches, transactions, streams and COPY are answered', async () => {
    const pool = newPool();
    await pool.query('create table turns (a int, f float8)');
    const acts = [
      (i) => pool.query('insert into turns values ($1, $2)', [i, i / 3]),
      (i) => pool.query('select f, $1::int as i from turns limit 3', [i]),
      (i) => pool.batch([{ text: 'insert into turns values ($1)', values: [i] }, 'select 1']),
      (i) =>
        pool.transaction((tx) =>
          Promise.all([tx.query('select $1::int', [i]), tx.query('select 2')]),
        ),
      () => pool.copyRows('turns', ['a'], [[1], [2]]),
      async () => {
        const client = await pool.connect();
        const all = [client.query('begin'), client.query('select 1'), client.query('commit')];
        await Promise.all(all).finally(() => client.release());
      },
      async () => {
        for await (const row of pool.stream('select a from turns limit 5')) assert.ok(row);
      },
    ];
    await Promise.all(Array.from({ length: 140 }, (_, i) => acts[i % acts.length](i)));
    await pool.query('drop table turns');
    assert.equal(most, 1);
  });

  it('no statement of our own stands beside a query', async () => {
    // Each text is prepared at its first use, and closed soon; what floats look like is asked for.
    const pool = newPool({ statementCacheSize: 2, prepareThreshold: 1 });
    const texts = Array.from({ length: 6 }, (_, k) => `select $1::float8 / 3 as f, ${k} as k`);
    await Promise.all(
      Array.from({ length: 120 }, async (_, i) => {
        const { rows } = await pool.query(texts[i % texts.length], [i]);
        assert.deepEqual(rows, [{ f: i / 3, k: i % texts.length }]);
      }),
    );
    await Promise.all(Array.from({ length: 20 }, () => pool.query(texts[0], [1])));
    await pool.batch(['select 1', 'select 2']);
    await pool.batch(['select 1', 'select 2']);
    assert.equal(most, 1);
  });

  it('queries of a client wait for each other', async () => {
    const client = new Client(proxy.options({ maxInFlight: 1 }));
    opened.push(client);
    await client.connect();
    await Promise.all(Array.from({ length: 20 }, (_, i) => client.query('select $1::int', [i])));
    assert.equal(most, 1);
  });

  it('a query that is sent again, because a value may have been refused for an old type, is told its error', async () => {
    const pool = newPool();
    const text = 'select $1::int as i';
    for (let round = 0; round < 3; ++round) {
      assert.deepEqual((await pool.query(text, [1])).rows, [{ i: 1 }]);
      const all = ['a', 2, 'b', 3].map((value) => outcomeOf(pool.query(text, [value])));
      const codes = (await Promise.all(all)).map(({ error }) => error?.code);
      assert.deepEqual(codes, ['22P02', undefined, '22P02', undefined]);
    }
    assert.equal(most, 1);
  });

  it('a query that is cancelled takes no other with it', async () => {
    const pool = newPool();
    const signal = AbortSignal.timeout(100);
    const texts = [{ text: 'select pg_sleep(10)', signal }, 'select 1', 'select 2'];
    const outcomes = await Promise.all(texts.map((query) => outcomeOf(pool.query(query))));
    assert.deepEqual(
      outcomes.map(({ error }) => error === undefined),
      [false, true, true],
    );
    assert.equal(most, 1);
  });

  it('end() waits for what is held back', async () => {
    const pool = newPool();
    const all = Array.from({ length: 10 }, (_, i) => pool.query('select $1::int as i', [i]));
    await opened.pop()?.end();
    const results = await Promise.all(all);
    assert.deepEqual(
      results.map(({ rows }) => rows[0].i),
      Array.from({ length: 10 }, (_, i) => i),
    );
  });
});
