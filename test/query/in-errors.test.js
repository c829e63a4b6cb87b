'use strict';

// The option queryInErrors, which adds the text of the failed query to the error.

const assert = require('node:assert/strict');
const { endAll, newClient, newPool } = require('../support/connect');

/** @param {Promise<any>} promise @returns {Promise<any>} what it rejects with */
const reasonOf = (promise) =>
  promise.then(
    () => assert.fail('no error'),
    (error) => error,
  );

const TEXT = 'select 1 / $1::int as x';

describe('queryInErrors', () => {
  afterEach(endAll);

  it('is off by default: errors have no query text, as in pg', async () => {
    const pool = newPool();
    assert.equal('query' in (await reasonOf(pool.query(TEXT, [0]))), false);
  });

  it('adds the text to every kind of error, and never the values', async () => {
    for (const one of [
      await newClient({ queryInErrors: true }),
      newPool({ queryInErrors: true }),
    ]) {
      const byServer = await reasonOf(one.query(TEXT, ['0']));
      assert.equal(byServer.code, '22012');
      assert.equal(byServer.query, TEXT);
      const secret = await reasonOf(one.query(TEXT, ['secret'.repeat(3)]));
      assert.equal(secret.query, TEXT);
      const refused = await reasonOf(one.query(TEXT, ['a\0b']));
      assert.equal(refused.query, TEXT);
      assert.ok(!JSON.stringify(refused).includes('a\\u0000b'));
      const late = await reasonOf(one.query({ text: 'select pg_sleep(9)', timeoutMillis: 30 }));
      assert.equal(late.query, 'select pg_sleep(9)');
    }
  });

  it('adds the text that failed within a batch, a transaction or a stream', async () => {
    const pool = newPool({ queryInErrors: true });
    const inBatch = await reasonOf(pool.batch(['select 1', { text: TEXT, values: [0] }]));
    assert.deepEqual([inBatch.query, inBatch.index], [TEXT, 1]);
    const inTransaction = await reasonOf(pool.transaction((tx) => tx.query(TEXT, [0])));
    assert.equal(inTransaction.query, TEXT);
    const inStream = await reasonOf(pool.stream(TEXT, [0]).toArray());
    assert.equal(inStream.query, TEXT);
  });

  it('keeps the stack trace of the caller', async () => {
    const pool = newPool({ queryInErrors: true });
    async function caller() {
      await pool.query(TEXT, [0]);
    }
    assert.match((await reasonOf(caller())).stack, /at async caller/);
  });
});
