'use strict';

// What `using` and `await using` call at the end of a block. The symbols are called by name: not
// every supported version of Node.js has the syntax.

const assert = require('node:assert/strict');
const { Client, ConnectionError, PoolError } = require('../..');
const { newClient, options } = require('../support/connect');
const { errorOf } = require('../support/outcomes');
const { PID, newPool, pidOf, usePools } = require('../support/pools');

describe('disposal', function () {
  this.timeout(15000);

  usePools();

  describe('of a client', () => {
    it('finishes what is in flight, and closes its connection', async () => {
      const client = await newClient();
      const query = client.query('select pg_sleep(0.02), 1 as one');
      assert.equal(await client[Symbol.asyncDispose](), undefined);
      assert.equal((await query).rows[0].one, 1);
      assert.ok((await errorOf(client.query('select 1'))) instanceof ConnectionError);
    });

    it('does nothing to a client that has ended, was lost or never connected', async () => {
      const ended = await newClient();
      await ended.end();
      await ended[Symbol.asyncDispose]();
      await ended[Symbol.asyncDispose]();
      const lost = await newClient();
      await errorOf(lost.query('select pg_terminate_backend(pg_backend_pid())'));
      await lost[Symbol.asyncDispose]();
      await new Client(options())[Symbol.asyncDispose]();
    });

    it('does not exist for `using`, which does not wait', async () => {
      assert.equal((await newClient())[Symbol.dispose], undefined);
    });
  });

  describe('of a checked-out client', () => {
    for (const symbol of [Symbol.dispose, Symbol.asyncDispose]) {
      it(`releases it to the pool, by ${symbol.description}`, async () => {
        const pool = newPool({ max: 1 });
        const client = await pool.connect();
        await client.query('begin');
        await client[symbol]();
        const { rows } = await pool.query('select pg_backend_pid() as pid');
        assert.equal(rows[0].pid, client.processID);
        await pool.query('vacuum pg_catalog.pg_am');
      });

      it(`does nothing after release(), by ${symbol.description}`, async () => {
        const pool = newPool({ max: 1 });
        const client = await pool.connect();
        // What `using` does: it looks the method up at once, and calls it at the end of the block.
        const dispose = client[symbol];
        client.release();
        const next = await pool.connect();
        assert.equal(next, client);
        await dispose.call(client);
        await dispose.call(client);
        const waiting = pool.query(PID);
        assert.equal(pool.waitingCount, 1, 'the next borrower still has it');
        next.release();
        assert.equal(pidOf(await waiting), client.processID);
      });
    }

    it("emits 'release' as release() does", async () => {
      const pool = newPool({ max: 1 });
      const released = [];
      pool.on('release', (error, client) => released.push([error, client]));
      const client = await pool.connect();
      client[Symbol.dispose]();
      assert.deepEqual(released, [[undefined, client]]);
    });
  });

  describe('of a pool', () => {
    it('ends it, after all earlier calls are done', async () => {
      const pool = newPool({ max: 2 });
      const transaction = pool.transaction((tx) => tx.query('select pg_sleep(0.02), 1 as one'));
      const query = pool.query('select 1 as one');
      assert.equal(await pool[Symbol.asyncDispose](), undefined);
      assert.equal((await transaction).rows[0].one, 1);
      assert.equal((await query).rows[0].one, 1);
      assert.equal(pool.totalCount, 0);
      assert.ok((await errorOf(pool.query('select 1'))) instanceof PoolError);
    });

    it('waits for an end() that is under way, and does nothing after it', async () => {
      const pool = newPool({ max: 1 });
      const client = await pool.connect();
      const ended = pool.end();
      const disposed = pool[Symbol.asyncDispose]().then(() => assert.equal(pool.totalCount, 0));
      assert.equal(pool.totalCount, 1);
      client.release();
      await Promise.all([ended, disposed]);
      await pool[Symbol.asyncDispose]();
      assert.ok((await errorOf(pool.end())) instanceof PoolError);
    });
  });
});
