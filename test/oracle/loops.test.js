'use strict';

// Callers that rely on a client being a session: they read, compute and write under some mutex, many at a time. No
// update may be lost, and none may wait for ever. A pool of `pg` does the same beside ours. PG_CONDUIT_TEST_POOL has
// options of the pool.

const assert = require('node:assert/strict');
const pg = require('pg');
const { Pool } = require('../..');
const { startDatabase } = require('../../scripts/database');
const { withBorrowed } = require('../support/borrow');
const { givenPoolOptions } = require('../support/given-pool');
const { Observer } = require('../support/outside');
const { IS_LONG, TIMES } = require('../support/property');

const CALLERS = 20;
const ROUNDS = (IS_LONG ? 40 : 4) * TIMES;
const READ = 'select n from counter where id = 1';

/** @param {any} client */
async function increment(client, suffix = '') {
  const { rows } = await client.query(READ + suffix);
  await client.query('update counter set n = $1 where id = 1', [rows[0].n + 1]);
}

/** @param {any} client @param {string} lock @param {string} unlock */
async function between(client, lock, unlock) {
  await client.query(lock);
  await increment(client);
  await client.query(unlock);
}

/** Again for each serialization failure. @param {any} client */
async function incrementSerializably(client) {
  for (;;) {
    try {
      await client.query('begin isolation level serializable');
      await increment(client);
      await client.query('commit');
      return;
    } catch (error) {
      await client.query('rollback');
      if (/** @type {any} */ (error).code !== '40001') throw error;
    }
  }
}

/** Again until nobody came between. @param {any} client */
async function compareAndSwap(client) {
  for (;;) {
    const { rows } = await client.query(READ);
    const { rowCount } = await client.query(
      'update counter set n = n + 1 where id = 1 and n = $1',
      [rows[0].n],
    );
    if (rowCount === 1) return;
  }
}

/** @type {Record<string, { turn: (client: any) => Promise<void>, max?: number }>} */
const MUTEXES = {
  'a pool of one': { turn: (client) => increment(client), max: 1 },
  'a session lock': {
    turn: (client) => between(client, 'select pg_advisory_lock(1)', 'select pg_advisory_unlock(1)'),
  },
  'a session lock, asked for until it is there': {
    async turn(client) {
      for (let isMine = false; !isMine;) {
        const { rows } = await client.query('select pg_try_advisory_lock(2) as mine');
        isMine = rows[0].mine;
      }
      await increment(client);
      await client.query('select pg_advisory_unlock(2)');
    },
  },
  'a session lock that goes with the client': {
    async turn(client) {
      await client.query('select pg_advisory_lock(3)');
      await increment(client);
      client.release(true);
    },
  },
  'a lock inside a function': {
    turn: (client) => between(client, 'select take()', 'select give()'),
  },
  'a lock of a transaction': {
    async turn(client) {
      await client.query('begin');
      await between(client, 'select pg_advisory_xact_lock(5)', 'commit');
    },
  },
  'a locked row': {
    async turn(client) {
      await client.query('begin');
      await increment(client, ' for update');
      await client.query('commit');
    },
  },
  'a locked row, all sent at once': {
    async turn(client) {
      const [, { rows }] = await Promise.all([
        client.query('begin'),
        client.query(`${READ} for update`),
      ]);
      await Promise.all([
        client.query('update counter set n = $1 where id = 1', [rows[0].n + 1]),
        client.query('commit'),
      ]);
    },
  },
  'a locked table': {
    async turn(client) {
      await client.query('begin');
      await between(client, 'lock table counter in exclusive mode', 'commit');
    },
  },
  'a row that only one can insert': {
    async turn(client) {
      await client.query('begin');
      await client.query("insert into mutex values ('mine')");
      await increment(client);
      await client.query("delete from mutex where name = 'mine'");
      await client.query('commit');
    },
  },
  'serializable transactions': { turn: incrementSerializably },
  'compare and swap': { turn: compareAndSwap },
};

const DRIVERS = { ours: Pool, 'of pg': pg.Pool };

describe('Loops that read, compute and write', function () {
  this.timeout(120_000);
  /** @type {Awaited<ReturnType<typeof startDatabase>>} */
  let database;
  /** @type {Observer} */
  let observer;
  /** @type {any} */
  let pool;

  before(async () => {
    database = await startDatabase({ own: true });
    observer = await Observer.open(database.connectionString);
    await observer.ask(`
      create table counter (id int primary key, n int);
      create table mutex (name text primary key);
      create function take() returns void language plpgsql as $$ begin perform pg_advisory_lock(4); end $$;
      create function give() returns void language plpgsql as $$ begin perform pg_advisory_unlock(4); end $$;`);
  });
  beforeEach(() => observer.ask('delete from counter; insert into counter values (1, 0)'));
  afterEach(() => pool.end());
  after(async () => {
    // A session of `pg` may be open a little longer than its pool, and would report the stop as an error.
    await observer?.untilAlone();
    await observer?.client.end();
    await database?.stop();
  });

  /** @param {(client: any) => Promise<void>} turn */
  async function call(turn) {
    for (let left = ROUNDS; left > 0; --left) await withBorrowed(pool, turn);
  }

  for (const [whose, SomePool] of Object.entries(DRIVERS)) {
    for (const [mutex, { turn, max = 3 }] of Object.entries(MUTEXES)) {
      it(`lose nothing under ${mutex}: a pool ${whose}`, async () => {
        const given = SomePool === Pool ? givenPoolOptions() : {};
        const config = { connectionString: database.connectionString, ...given, max };
        pool = new /** @type {any} */ (SomePool)(config);
        await Promise.all(Array.from({ length: CALLERS }, () => call(turn)));
        const [{ n }] = await observer.ask(READ);
        assert.equal(n, CALLERS * ROUNDS);
      });
    }
  }
});
