'use strict';

// Borrowed clients that share connections when connections are lost: while they float, while they are pinned, in and
// outside of transactions, and when the server starts again. Each beside `pg`, whose clients have a connection
// all the time. Afterwards nothing waits, and no connection is missing.

const assert = require('node:assert/strict');
const { setTimeout: delay } = require('node:timers/promises');
const pg = require('pg');
const { startDatabase } = require('../../scripts/database');
const { endAll, newPool } = require('../support/connect');
const { outcomeOf } = require('../support/outcomes');
const { Observer, applicationName, seen, until } = require('../support/outside');
const { ONE, PID } = require('../support/pools');
const { Proxy } = require('../support/proxy');

const MAX = 2;
const INSERT = 'insert into notes values (1)';
const COUNT = 'select max(i) from generate_series(1, $1::int) as i';
const LONG = [300_000_000];
const LONG_INSERT = `${INSERT} returning (select max(j) from generate_series(1, ${LONG[0]}) as j)`;

describe('A borrowed client that shares connections, when connections are lost:', function () {
  this.timeout(30_000);

  /** @type {Awaited<ReturnType<typeof startDatabase>>} */
  let server;
  /** @type {Observer} */
  let observer;
  /** @type {Proxy} */
  let proxy;
  /** @type {pg.Pool[]} */
  const pgPools = [];

  before(async () => {
    server = await startDatabase({ own: true, settings: { log_min_messages: 'fatal' } });
    observer = await Observer.open(server.config);
    await observer.ask('create table notes (i int)');
  });
  after(async () => {
    await observer.close();
    await server.stop();
  });
  beforeEach(async () => {
    proxy = await Proxy.open(server.config);
  });
  afterEach(async () => {
    await endAll();
    await Promise.all(pgPools.splice(0).map((pool) => pool.end()));
    await proxy.close();
  });

  /** @returns {Promise<any>} whose clients float with ONE and COUNT */
  async function openOurs(given) {
    const pool = newPool(proxy.options({ max: MAX, multiplex: 'reads', options: '', ...given }));
    pool.on('error', () => {});
    await pool.query(COUNT, [1]);
    await until('reads float', async () => {
      await pool.query(ONE);
      const client = await pool.connect();
      await client.query(ONE);
      const { floating } = pool.stats().leases;
      client.release();
      return floating === 1;
    });
    return pool;
  }

  function openPg(given) {
    const pool = new pg.Pool(proxy.options({ max: MAX, options: '', ...given }));
    pool.on('error', () => {});
    pgPools.push(pool);
    return pool;
  }

  /** How connections are lost. @type {Record<string, (name: string) => Promise<void>>} */
  const LOSSES = {
    'the server ends them': async (name) => {
      for (const pid of await observer.backends(name)) await observer.terminate(pid);
    },
    'the network cuts them': async () => proxy.sever(),
    'the server starts again': async () => {
      await observer.close();
      await server.restart();
      observer = await Observer.open(server.config);
    },
  };

  const running = (name) =>
    until('it runs', async () => {
      const rows = await observer.ask(
        "select from pg_stat_activity where application_name = $1 and state = 'active'",
        [name],
      );
      return rows.length > 0;
    });

  /** What becomes of a client: the outcome of what it has in flight, or does next. */
  const SITUATIONS = {
    'with a read in flight': async (client, lose, name) => {
      const outcome = outcomeOf(client.query(COUNT, LONG));
      await running(name);
      await lose();
      return [await outcome];
    },
    'with a write in flight': async (client, lose, name) => {
      const outcome = outcomeOf(client.query(LONG_INSERT));
      await running(name);
      await lose();
      return [await outcome];
    },
    'pinned, with nothing in flight': async (client, lose) => {
      await client.query(INSERT);
      await lose();
      return [await outcomeOf(client.query(ONE)), await outcomeOf(client.query(INSERT))];
    },
    'in a transaction, with nothing in flight': async (client, lose) => {
      await client.query('begin');
      await client.query(INSERT);
      await lose();
      return [await outcomeOf(client.query(INSERT)), await outcomeOf(client.query('commit'))];
    },
    'in a transaction, with a write in flight': async (client, lose, name) => {
      await client.query('begin');
      // What `commit` meets depends on whether the end of the connection has been seen.
      const gone = seen(client, 'error');
      const outcome = outcomeOf(client.query(LONG_INSERT));
      await running(name);
      await lose();
      const first = await outcome;
      await gone;
      return [first, await outcomeOf(client.query('commit'))];
    },
    'pinned, with two statements in flight': async (client, lose, name) => {
      await client.query(INSERT);
      const outcomes = [outcomeOf(client.query(COUNT, LONG)), outcomeOf(client.query(PID))];
      await running(name);
      await lose();
      return Promise.all(outcomes);
    },
  };

  /**
   * @param {any} pool
   * @param {(client: any, lose: () => Promise<void>, name: string) => Promise<any[]>} use
   * @param {(name: string) => Promise<void>} lose
   * @param {string} name
   */
  async function loseWith(pool, use, lose, name) {
    const client = await pool.connect();
    let events = 0;
    client.on('error', () => ++events);
    const loseAll = async () => {
      await lose(name);
      await delay(50);
    };
    const outcomes = await use(client, loseAll, name);
    return { client, events, errors: outcomes.map(({ error }) => error) };
  }

  /** Nothing waits, and all `max` connections can be had. @param {any} pool @param {string} name */
  async function assertWhole(pool, name) {
    assert.equal(pool.waitingCount, 0);
    assert.deepEqual(pool.stats().leases, { floating: 0, pinned: 0 });
    // Without a connection connect() would wait for one.
    await pool.query(ONE);
    const clients = await Promise.all(Array.from({ length: MAX + 1 }, () => pool.connect()));
    const begun = clients.map((client) => client.query('begin'));
    await Promise.all(begun.slice(0, MAX));
    for (const client of clients) client.release();
    assert.equal((await begun[MAX]).command, 'BEGIN');
    await until('all are idle', () => pool.idleCount === pool.totalCount);
    assert.ok(pool.totalCount <= MAX);
    await pool.end();
    // What the network has cut still counts, unless it is stopped.
    await LOSSES['the server ends them'](name);
    await until('all are closed', async () => (await observer.backends(name)).length === 0);
  }

  for (const [how, lose] of Object.entries(LOSSES)) {
    describe(how, () => {
      for (const [when, use] of Object.entries(SITUATIONS)) {
        it(`${when}, it is told what a client of pg is told`, async () => {
          const [name, other] = [applicationName(), applicationName()];
          const pool = await openOurs({ application_name: name });
          const mine = await loseWith(pool, use, lose, name);
          const like = openPg({ application_name: other });
          const theirs = await loseWith(like, use, lose, other);
          assert.deepEqual(
            mine.errors.map((error) => error?.message),
            theirs.errors.map((error) => error?.message),
          );
          for (const { outcome } of mine.errors) assert.ok(outcome);
          mine.client.release();
          theirs.client.release();
          await assertWhole(pool, name);
          await LOSSES['the server ends them'](other);
        });
      }

      it('while it floats with a read in flight, it goes on with another connection', async () => {
        const name = applicationName();
        const pool = await openOurs({ application_name: name });
        const { client, events } = await loseWith(
          pool,
          SITUATIONS['with a read in flight'],
          lose,
          name,
        );
        assert.equal(events, 0);
        assert.deepEqual(pool.stats().leases, { floating: 1, pinned: 0 });
        assert.equal((await client.query(ONE)).rows[0].one, 1);
        assert.equal((await client.query(INSERT)).rowCount, 1);
        client.release();
        await assertWhole(pool, name);
      });

      it('while it floats with nothing in flight, it does not notice', async () => {
        const name = applicationName();
        const pool = await openOurs({ application_name: name });
        const notice = async (client, loseAll) => {
          await client.query(ONE);
          await loseAll();
          return [await outcomeOf(client.query(ONE)), await outcomeOf(client.query(INSERT))];
        };
        const { client, events, errors } = await loseWith(pool, notice, lose, name);
        assert.equal(events, 0);
        assert.deepEqual(errors, [undefined, undefined]);
        client.release();
        await assertWhole(pool, name);
      });

      it('it makes room for those who wait for their turn', async () => {
        const name = applicationName();
        // Time enough for the server to come back.
        const pool = await openOurs({
          application_name: name,
          connectionTimeoutMillis: 20_000,
          waitForServer: true,
        });
        const clients = await Promise.all(Array.from({ length: 5 }, () => pool.connect()));
        for (const client of clients) client.on('error', () => {});
        await Promise.all(clients.slice(0, MAX).map((client) => client.query('begin')));
        const waiting = clients.slice(MAX).map((client) => client.query(INSERT));
        await lose(name);
        // Those that have lost their connections are still out.
        await Promise.all(waiting.slice(0, MAX));
        for (const client of clients) client.release();
        await Promise.all(waiting);
        await assertWhole(pool, name);
      });
    });
  }

  it('it may be released where it is told', async () => {
    const name = applicationName();
    const pool = await openOurs({ application_name: name });
    const client = await pool.connect();
    const released = new Promise((resolve) => {
      client.on('error', (error) => resolve(client.release(error)));
    });
    await client.query('begin');
    proxy.sever();
    await released;
    await assertWhole(pool, name);
  });
});
