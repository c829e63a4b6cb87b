'use strict';

// Who takes a connection of a pool alone, and waits: leases, transaction(), streams, COPY and what runs alone are ranked
// by the time of their calls, and only the oldest `max` have a connection, as in `pg`. So nobody waits for a
// connection of those who wait for them, unless they did with `pg`.

const assert = require('node:assert/strict');
const { setTimeout: delay } = require('node:timers/promises');
const pg = require('pg');
const { connectionString } = require('../support/connect');
const { errorOf } = require('../support/outcomes');
const { until } = require('../support/outside');
const { ONE, PID, floatingPool, newPool, poolError, usePools } = require('../support/pools');
const { Proxy } = require('../support/proxy');

const INSERT = 'insert into conduit_test.notes values (1)';
const LARGE = "select repeat('x', 1000) from generate_series(1, 50000)";

/** A promise, and what resolves it. */
function gate() {
  let open = () => {};
  const opened = new Promise((resolve) => {
    open = () => resolve(undefined);
  });
  return { open, opened };
}

describe('A pool that ranks those who take a connection alone', function () {
  this.timeout(20_000);

  const observer = usePools();

  before(() => observer.ask('create table conduit_test.notes (i int)'));

  /** Ways to have a connection alone until `opened`, and to tell that it is there. */
  const HOLDERS = {
    'transaction()': (pool, opened) =>
      pool.transaction(async (tx) => {
        await tx.query(ONE);
        await opened;
      }),
    'stream()': async (pool, opened) => {
      for await (const row of pool.stream(LARGE)) {
        assert.ok(row);
        await opened;
        break;
      }
    },
    'copyFrom()': async (pool, opened) => {
      const copy = pool.copyFrom('copy conduit_test.notes from stdin');
      copy.write('1\n');
      await opened;
      await new Promise((resolve, reject) => {
        copy.on('error', reject).end(() => resolve(undefined));
      });
    },
    'copyTo()': async (pool, opened) => {
      for await (const chunk of pool.copyTo(`copy (${LARGE}) to stdout`)) {
        assert.ok(chunk);
        await opened;
        break;
      }
    },
    'a borrowed client': async (pool, opened) => {
      const client = await pool.connect();
      await client.query('begin');
      await opened;
      await client.query('commit');
      client.release();
    },
  };

  /**
   * Somebody has borrowed a client, has read, and holds a mutex of the application, for which all others wait.
   * @param {any} pool with max: 2
   * @param {(pool: any, opened: Promise<any>) => Promise<any>} hold
   * @returns {Promise<string[]>} what has happened, in its order
   */
  async function behindMutex(pool, hold) {
    /** @type {string[]} */
    const order = [];
    const mutex = gate();
    const owner = await pool.connect();
    await owner.query(ONE);
    const others = [1, 2].map((i) => hold(pool, mutex.opened).then(() => order.push(`other ${i}`)));
    await delay(30);
    // Or the test would hang, too.
    const giveUp = setTimeout(() => mutex.open(), 2000);
    await owner.query(INSERT);
    clearTimeout(giveUp);
    order.push('owner');
    owner.release();
    mutex.open();
    await Promise.all(others);
    return order.map((what) => what.split(' ')[0]);
  }

  for (const [name, hold] of Object.entries(HOLDERS)) {
    it(`gives a connection to who borrowed before ${name}, as pg does`, async () => {
      assert.deepEqual(await behindMutex(await floatingPool({ max: 2 }), hold), [
        'owner',
        'other',
        'other',
      ]);
    });
  }

  it('is like pg in that', async () => {
    const pool = new pg.Pool({ connectionString: connectionString(), max: 2 });
    const order = await behindMutex(pool, HOLDERS['a borrowed client']);
    await pool.end();
    assert.deepEqual(order, ['owner', 'other', 'other']);
  });

  it('counts a transaction() that had a connection before anybody borrowed', async () => {
    const pool = await floatingPool({ max: 2 });
    const mutex = gate();
    // It has one of two connections when there is no lease yet.
    const begun = gate();
    const transaction = pool.transaction(async (tx) => {
      await tx.query(ONE);
      begun.open();
      await mutex.opened;
    });
    await begun.opened;
    const [owner, younger] = await Promise.all([pool.connect(), pool.connect()]);
    const begin = younger.query('begin');
    await delay(20);
    await owner.query(INSERT);
    mutex.open();
    await transaction;
    assert.equal((await begin).command, 'BEGIN');
    owner.release();
    younger.release();
  });

  it('counts clients that were borrowed while none could be shared', async () => {
    const pool = newPool({ max: 2 });
    const first = await pool.connect();
    await first.query(ONE);
    const owner = await pool.connect();
    const younger = await pool.connect();
    assert.equal(pool.stats().leases.floating, 2);
    const begin = younger.query('begin');
    await delay(20);
    await owner.query(INSERT);
    first.release();
    assert.equal((await begin).command, 'BEGIN');
    owner.release();
    younger.release();
  });

  /** Two clients that float, and are the oldest. */
  async function openFull(given) {
    const pool = await floatingPool({ max: 2, ...given });
    const clients = await Promise.all([pool.connect(), pool.connect()]);
    return { pool, clients };
  }

  it('lets the next one begin when one of the oldest is released', async () => {
    const { pool, clients } = await openFull();
    let hasBegun = false;
    const running = pool.transaction(async (tx) => {
      hasBegun = true;
      await tx.query(INSERT);
    });
    await delay(20);
    assert.equal(hasBegun, false);
    assert.equal(pool.waitingCount, 1);
    assert.equal(pool.stats().waitingCount, 1);
    clients[1].release();
    await running;
    assert.equal(pool.waitingCount, 0);
    clients[0].release();
    assert.deepEqual(pool.stats().leases, { floating: 0, pinned: 0 });
  });

  it('lets the next one begin when a transaction has ended, or has failed', async () => {
    const { pool, clients } = await openFull();
    clients[0].release();
    /** @type {number[]} */
    const order = [];
    const run = (i) =>
      pool
        .transaction(async (tx) => {
          await tx.query(PID);
          order.push(i);
          if (i % 2 === 1) throw new Error('mine');
        })
        .catch(() => {});
    await Promise.all([0, 1, 2, 3].map(run));
    assert.deepEqual(order, [0, 1, 2, 3]);
    clients[1].release();
  });

  it('lets the next one begin when the connection of one is lost', async () => {
    const { pool, clients } = await openFull();
    clients[0].release();
    const lost = gate();
    const doomed = errorOf(
      pool.transaction(async (tx) => {
        const { rows } = await tx.query(PID);
        await observer.terminate(rows[0].pid);
        // It stays in its function, without a connection.
        await lost.opened;
        await tx.query(ONE);
      }),
    );
    assert.equal((await pool.transaction((tx) => tx.query(ONE))).rows.length, 1);
    lost.open();
    assert.ok((await doomed).outcome);
    clients[1].release();
  });

  const ALONE = "select pg_sleep(0) from set_config('a.b', 'c', true)";

  it('has no place for what was given up while it waited', async () => {
    const { pool, clients } = await openFull();
    const signal = AbortSignal.timeout(20);
    const error = await errorOf(pool.query(ONE, [], { signal }));
    assert.equal(error.outcome, 'not-run');
    assert.equal(pool.waitingCount, 0);
    const stream = pool.stream(LARGE);
    stream.read();
    stream.destroy();
    await until('nobody waits', () => pool.waitingCount === 0);
    // Had one of them a place, this one would be too young.
    const next = pool.transaction((tx) => tx.query(ONE));
    clients[0].release();
    await next;
    clients[1].release();
  });

  it('waits no longer than connectionTimeoutMillis, for its turn and a connection together', async () => {
    const { pool, clients } = await openFull({ connectionTimeoutMillis: 300 });
    await clients[0].query('begin');
    await clients[1].query('begin');
    const since = performance.now();
    const younger = await pool.connect();
    const refused = [
      errorOf(younger.query('begin')),
      errorOf(pool.transaction((tx) => tx.query(ONE))),
      errorOf(pool.query(ALONE)),
    ];
    await delay(200);
    // Its turn comes, and a connection does not: what was left behind keeps it busy.
    clients[0].query('select pg_sleep(1)').catch(() => {});
    clients[0].release();
    for (const error of await Promise.all(refused)) {
      assert.ok(poolError('ERR_PG_CONDUIT_POOL_TIMEOUT')(error));
    }
    const millis = performance.now() - since;
    assert.ok(millis > 280 && millis < 480, `${millis} ms`);
    clients[1].release();
    younger.release();
  });

  it('counts who waits for a turn for maxWaiting', async () => {
    const { pool, clients } = await openFull({ maxWaiting: 1 });
    const first = pool.transaction((tx) => tx.query(ONE));
    const refused = poolError('ERR_PG_CONDUIT_POOL_FULL');
    assert.ok(refused(await errorOf(pool.transaction((tx) => tx.query(ONE)))));
    assert.ok(refused(await errorOf(pool.query(ONE, [], { signal: AbortSignal.timeout(999) }))));
    assert.equal(pool.waitingCount, 1);
    clients[0].release();
    await first;
    clients[1].release();
  });

  it('ends when those who wait for a turn have had it', async () => {
    const { pool, clients } = await openFull();
    const running = pool.transaction((tx) => tx.query(INSERT));
    const ended = pool.end();
    clients[0].release();
    assert.equal((await running).command, 'INSERT');
    clients[1].release();
    await ended;
  });

  it('rejects who waits for a turn, too, when no connection can be made any more', async () => {
    const proxy = await Proxy.open();
    const pool = await floatingPool(proxy.options({ max: 2 }));
    const clients = await Promise.all([pool.connect(), pool.connect(), pool.connect()]);
    const waiting = [
      clients[2].query('begin'),
      pool.transaction((tx) => tx.query(ONE)),
      pool.query(ONE, [], { signal: AbortSignal.timeout(9999) }),
    ].map(errorOf);
    await proxy.close();
    await until('all connections are lost', () => pool.totalCount === 0);
    waiting.push(errorOf(clients[0].query('begin')));
    for (const error of await Promise.all(waiting)) {
      assert.equal(error.code, 'ECONNREFUSED');
      assert.equal(error.outcome, 'not-run');
    }
    assert.equal(pool.waitingCount, 0);
    for (const client of clients) client.release();
  });

  for (const given of [{ max: 1 }, { multiplex: 'off' }, { resetQuery: '' }]) {
    it(`serves in the order of the calls with ${JSON.stringify(given)}, where nobody shares`, async () => {
      const pool = newPool({ max: 2, ...given });
      /** @type {number[]} */
      const order = [];
      const call = (/** @type {number} */ i) =>
        i % 2 === 0
          ? pool.transaction(() => Promise.resolve(order.push(i)))
          : pool.connect().then((client) => {
              order.push(i);
              client.release();
            });
      await Promise.all([0, 1, 2, 3, 4, 5, 6, 7].map(call));
      assert.deepEqual(order, [0, 1, 2, 3, 4, 5, 6, 7]);
    });
  }
});
