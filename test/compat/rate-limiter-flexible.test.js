'use strict';

// rate-limiter-flexible: counters in a table, one statement each.

const assert = require('node:assert/strict');
const { Client, Pool } = require('pg');
const { RateLimiterPostgres } = require('rate-limiter-flexible');
const { MANY, atOnce, errorOf, useTool } = require('./support/tool');

describe('rate-limiter-flexible', () => {
  const tool = useTool('rate-limiter-flexible', { requirers: [] });
  let pool;

  before(() => {
    pool = new Pool({ connectionString: tool.url, max: 5 });
  });

  tool.close(() => pool.end());

  /** @param {any} storeClient @param {Record<string, unknown>} options @returns {Promise<any>} */
  function open(storeClient, options) {
    return new Promise((resolve, reject) => {
      const given = { storeClient, storeType: 'client', duration: 60, ...options };
      const limiter = new RateLimiterPostgres(given, (error) =>
        error ? reject(error) : resolve(limiter),
      );
    });
  }

  it('counts many at once, and refuses what is too much', async () => {
    const limiter = await open(pool, { points: MANY - 1, tableName: 'limits' });
    const answers = await atOnce((i) =>
      limiter.consume('one').then(
        () => i,
        (error) => error,
      ),
    );
    const refused = answers.filter((answer) => typeof answer !== 'number');
    assert.equal(refused.length, 1);
    assert.equal(refused[0].remainingPoints, 0);
    assert.equal((await limiter.get('one')).consumedPoints, MANY);
    assert.equal(await limiter.delete('one'), true);
    assert.equal(await limiter.get('one'), null);
    await limiter.block('two', 60);
    assert.equal((await errorOf(limiter.consume('two'))).remainingPoints, 0);
  });

  it('counts on a client, too', async () => {
    const client = new Client(tool.url);
    await client.connect();
    const limiter = await open(client, { points: 2, tableName: 'others' });
    assert.equal((await limiter.consume('one')).remainingPoints, 1);
    assert.equal((await limiter.penalty('one', 3)).consumedPoints, 4);
    clearTimeout(limiter._clearExpiredTimeoutId);
    await client.end();
  });

  it('reports what the server says', async () => {
    const limiter = await open(pool, { points: 1, tableName: 'dropped' });
    await pool.query('drop table dropped');
    assert.equal((await errorOf(limiter.consume('one'))).code, '42P01');
  });
});
