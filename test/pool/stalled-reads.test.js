'use strict';

// Reads of a pool behind a statement that waits for a lock: they are asked again on another connection. Those of borrowed
// clients are in leases-attacks.test.js.

const assert = require('node:assert/strict');
const { setTimeout: delay } = require('node:timers/promises');
const pg = require('pg');
const ours = require('../..');
const { options } = require('../support/connect');
const { useCosts } = require('../support/costs');
const { Observer, until } = require('../support/outside');
const { newPool, usePools } = require('../support/pools');

const READ = 'select n from stalled where id = $1';
const UPDATE = 'update stalled set n = n + 1 where id = $1 returning n';

describe('A read of a pool behind a statement that waits for a lock', function () {
  this.timeout(20_000);

  /** @type {Observer} */
  let holder;
  // Before the pools are ended.
  afterEach(() => holder.close());
  usePools();
  beforeEach(async () => {
    holder = await Observer.open(options());
    await holder.ask('drop table if exists stalled');
    await holder.ask('create table stalled as select i as id, 0 as n from generate_series(1, 9) i');
    await holder.ask('begin');
    await holder.ask('select from stalled where id = 1 for update');
  });

  /** Where the database's names are known, and with them what only reads. @param {Record<string, any>} [given] */
  async function openPool(given) {
    const pool = newPool({ max: 3, ...given });
    await pool.query(READ, [2]);
    return pool;
  }

  for (const [name, { Pool }] of /** @type {[string, any][]} */ ([
    ['pg', pg],
    ['pg-conduit', ours],
  ])) {
    it(`is answered although whoever holds the lock waits for it: ${name}`, async () => {
      const pool = new Pool(options({ max: 3 }));
      try {
        for (let i = 0; i < 5; ++i) await pool.query(READ, [2]);
        const updated = pool.query(UPDATE, [1]);
        const { rows } = await pool.query(READ, [1]);
        assert.deepEqual(rows, [{ n: 0 }]);
        await holder.ask('commit');
        assert.deepEqual((await updated).rows, [{ n: 1 }]);
      } finally {
        await pool.end();
      }
    });
  }

  describe('on a busy pool', () => {
    useCosts();

    it('is answered, like all of the others', async () => {
      const pool = await openPool();
      await Promise.all([3, 4, 5].map((id) => pool.query(UPDATE, [id])));
      const updated = pool.query(UPDATE, [1]);
      const reads = Array.from({ length: 100 }, (_, i) => pool.query(READ, [1 + (i % 9)]));
      assert.equal((await Promise.all(reads)).length, 100);
      await holder.ask('commit');
      assert.deepEqual((await updated).rows, [{ n: 1 }]);
    });

    it('is answered in its own form', async () => {
      const pool = await openPool();
      const types = { getTypeParser: () => (/** @type {any} */ text) => `<${text}>` };
      const updated = pool.query(UPDATE, [1]);
      const results = await Promise.all([
        pool.query({ text: READ, values: [1], rowMode: 'array' }),
        pool.query({ text: READ, values: [1], types }),
        pool.query({ name: 'of-stalled', text: READ, values: [1] }),
        pool.query({
          text: 'select id from stalled where id < $1 order by id',
          values: [4],
          rowMode: 'columns',
        }),
      ]);
      assert.deepEqual(results[0].rows, [[0]]);
      assert.deepEqual(results[1].rows, [{ n: '<0>' }]);
      assert.deepEqual(results[2].rows, [{ n: 0 }]);
      assert.deepEqual([...results[3].columns[0].values], [1, 2, 3]);
      await holder.ask('commit');
      await updated;
    });

    it('is answered where it was sent later: connections open slowly', async () => {
      const pool = newPool({ max: 2, onConnect: () => delay(100) });
      const updated = pool.query(UPDATE, [1]);
      const reads = Array.from({ length: 30 }, (_, i) => pool.query(READ, [1 + (i % 9)]));
      assert.equal((await Promise.all(reads)).length, 30);
      await holder.ask('commit');
      await updated;
    });

    it('is answered although it has the text of a read that is slow', async () => {
      const pool = await openPool({ max: 2 });
      const text = 'select sum(a * $1::bigint) from generate_series(1, $2::int) a';
      for (let i = 0; i < 5; ++i) await pool.query(text, [1, 1]);
      let isSlowDone = false;
      const slow = pool.query(text, [1, 12_000_000]).then(() => (isSlowDone = true));
      await Promise.all(Array.from({ length: 20 }, () => pool.query(text, [1, 1])));
      assert.equal(isSlowDone, false);
      await slow;
      await holder.ask('rollback');
    });

    it('takes no place of those who wait (maxWaiting)', async () => {
      const pool = newPool({ max: 2, maxWaiting: 1 });
      await pool.query(READ, [2]);
      const client = await pool.connect();
      const updated = pool.query(UPDATE, [1]);
      const read = pool.query(READ, [1]);
      await delay(100);
      assert.equal(pool.waitingCount, 0);
      client.release();
      await read;
      await holder.ask('commit');
      await updated;
    });

    it('is not asked again if it is more than a read', async () => {
      const pool = await openPool({ max: 2 });
      const updated = pool.query(UPDATE, [1]);
      const others = [2, 3].map((id) => pool.query(UPDATE, [id]));
      await delay(150);
      await holder.ask('commit');
      await Promise.all([updated, ...others]);
      const { rows } = await pool.query('select id, n from stalled where id < 4 order by id');
      assert.deepEqual(
        rows.map(({ n }) => n),
        [1, 1, 1],
      );
    });

    it('waits with the others where no connection may be opened', async () => {
      const pool = await openPool({ max: 1 });
      const updated = pool.query(UPDATE, [1]);
      const read = pool.query(READ, [1]);
      await delay(150);
      assert.equal(pool.waitingCount, 0);
      await holder.ask('commit');
      await updated;
      assert.deepEqual((await read).rows, [{ n: 1 }]);
    });

    for (const onConnect of [undefined, () => delay(50)]) {
      const how = onConnect === undefined ? 'at once' : 'slowly';
      it(`is answered while the pool ends, for few connections: they open ${how}`, async () => {
        const pool = await openPool({ onConnect });
        let opened = 0;
        pool.on('connect', () => ++opened);
        const updated = pool.query(UPDATE, [1]);
        const reads = Array.from({ length: 40 }, () => pool.query(READ, [1]));
        const ended = pool.end();
        assert.equal((await Promise.all(reads)).length, 40);
        await delay(100);
        assert.ok(opened <= 6, `${opened} were opened`);
        await holder.ask('commit');
        await updated;
        await ended;
        assert.equal(pool.totalCount, 0);
      });
    }

    it('leaves a pool that can end, and nothing that is counted twice', async () => {
      const pool = await openPool();
      const updated = pool.query(UPDATE, [1]);
      await Promise.all([1, 2, 3].map((id) => pool.query(READ, [id])));
      await holder.ask('commit');
      await updated;
      await until('nothing is in flight', () => pool.idleCount === pool.totalCount);
      await pool.end();
      assert.equal(pool.totalCount, 0);
    });
  });
});
