'use strict';

// Scenarios after the tests of pg-pool, which its package does not bring along: with pg-pool on `pg`, with pg-pool on our
// Client, and with our Pool. Each must report the same.

const assert = require('node:assert/strict');
const net = require('node:net');
const { once } = require('node:events');
const { setTimeout: delay } = require('node:timers/promises');
const pg = require('pg');
const StockPool = require('pg-pool');
const conduit = require('../..');
const { options } = require('../support/connect');

/** @type {Record<string, (given: Record<string, any>) => any>} */
const MAKERS = {
  'pg-pool on pg': (given) => new StockPool({ Client: pg.Client, ...given }),
  'pg-pool on our Client': (given) => new StockPool({ Client: conduit.Client, ...given }),
  'our Pool': (given) => new conduit.Pool(given),
};

/** @type {{ ending: boolean, end: () => Promise<void> }[]} */
let opened = [];

/**
 * @param {(context: { pool: any, log: any[], make: (given: any) => any }) => Promise<void>} scenario
 * @param {Record<string, any>} [given]
 */
async function sameInAll(scenario, given) {
  const logs = {};
  for (const [name, maker] of Object.entries(MAKERS)) {
    const make = (/** @type {Record<string, any>} */ more) => {
      const pool = maker({ ...options(), ...more });
      opened.push(pool);
      return pool;
    };
    const log = (logs[name] = []);
    await scenario({ pool: make({ ...given }), log, make });
  }
  for (const [name, log] of Object.entries(logs)) {
    assert.deepEqual(log, logs['pg-pool on pg'], name);
  }
  assert.notEqual(logs['pg-pool on pg'].length, 0);
}

/** @param {Promise<any>} promise */
const messageOf = (promise) =>
  promise.then(
    () => 'fulfilled',
    (error) => error.message,
  );

/** Not once(), which an `error` event rejects. */
const happens = (emitter, event) =>
  new Promise((resolve) => {
    emitter.once(event, resolve);
  });

const countsOf = ({ totalCount, idleCount, waitingCount }) => [totalCount, idleCount, waitingCount];

describe('what users of pg-pool rely on:', () => {
  afterEach(async () => {
    const pools = opened;
    opened = [];
    await Promise.all(pools.map((pool) => pool.ending || pool.end()));
  });

  it('connect() with a promise and a callback, and release', async () => {
    await sameInAll(async ({ pool, log }) => {
      const client = await pool.connect();
      log.push(countsOf(pool), (await client.query('select $1::text as name', ['hi'])).rows);
      client.release();
      await new Promise((resolve) => {
        pool.connect((error, lent, release) => {
          log.push(error, typeof release, lent.release === release);
          lent.query('select 1 as one', (failure, { rows }) => {
            log.push(failure, rows);
            release();
            resolve();
          });
        });
      });
      log.push(pool.waitingCount);
    });
  });

  it('query() with a promise and a callback, and their errors', async () => {
    await sameInAll(async ({ pool, log }) => {
      log.push((await pool.query('select $1::int as i', [1])).rows);
      for (const args of [
        ['select 1 as one'],
        ['select $1::int as i', [2]],
        ['nonsense'],
        [{ text: 'select 3 as i' }],
      ]) {
        const called = new Promise((resolve) => {
          log.push(pool.query(...args, (error, result) => resolve(error?.code ?? result.rows)));
        });
        log.push(await called);
      }
      log.push(await messageOf(pool.query('select nonsense')));
      log.push(
        await new Promise((resolve) => {
          pool.query((error) => resolve(error.message));
        }),
      );
    });
  });

  it('the events connect, acquire, release and remove', async () => {
    await sameInAll(async ({ pool, log }) => {
      for (const event of ['connect', 'acquire', 'release', 'remove']) {
        pool.on(event, (...args) => log.push([event, args.length]));
      }
      const first = await pool.connect();
      first.release();
      const second = await pool.connect();
      await second.query('select pg_backend_pid()');
      const removed = happens(pool, 'remove');
      second.release(true);
      await removed;
      log.push(pool.totalCount);
    });
  });

  it('a client that is released twice, or with an error', async () => {
    await sameInAll(async ({ pool, log }) => {
      const client = await pool.connect();
      client.release();
      assert.throws(() => client.release(), /Release called on client/);
      const broken = await pool.connect();
      // Ours has a connection from here on.
      await broken.query('select pg_backend_pid()');
      const removed = happens(pool, 'remove');
      broken.release(new Error('broken'));
      await removed;
      log.push((await pool.query('select 1 as one')).rows);
    });
  });

  it('connectionTimeoutMillis before a server that says nothing', async () => {
    const sockets = new Set();
    const silent = net.createServer((socket) => sockets.add(socket)).listen(0, '127.0.0.1');
    await once(silent, 'listening');
    const { port } = /** @type {net.AddressInfo} */ (silent.address());
    const url = `postgres://127.0.0.1:${port}/x`;
    try {
      await sameInAll(
        async ({ pool, log }) => {
          log.push(await messageOf(pool.connect()), await messageOf(pool.query('select 1')));
          log.push(
            await new Promise((resolve) => {
              pool.connect((error, client) => resolve([error.message, client]));
            }),
          );
          log.push(pool.waitingCount);
          await pool.end();
        },
        { connectionString: url, connectionTimeoutMillis: 60, max: 1, ssl: false },
      );
    } finally {
      for (const socket of sockets) socket.destroy();
      silent.close();
    }
  });

  it('connectionTimeoutMillis while all clients are lent', async () => {
    await sameInAll(
      async ({ pool, log }) => {
        const client = await pool.connect();
        log.push(await messageOf(pool.connect()), await messageOf(pool.query('select 1')));
        log.push(pool.waitingCount);
        const waiting = pool.query('select 1 as one');
        log.push(pool.waitingCount);
        client.release();
        log.push((await waiting).rows);
      },
      // Longer than a busy machine takes to connect, which pg-pool counts, too.
      { connectionTimeoutMillis: 250, max: 1 },
    );
  });

  it('max, and those who wait, in their order', async () => {
    await sameInAll(
      async ({ pool, log }) => {
        const client = await pool.connect();
        const done = ['a', 'b', 'c'].map((name) =>
          pool.query('select $1::text as name', [name]).then(({ rows }) => log.push(rows[0].name)),
        );
        log.push(pool.waitingCount);
        client.release();
        await Promise.all(done);
        log.push(pool.totalCount, pool.waitingCount);
      },
      { max: 1 },
    );
  });

  it('idleTimeoutMillis and maxUses', async () => {
    await sameInAll(async ({ log, make }) => {
      const idle = make({ idleTimeoutMillis: 20 });
      const removed = happens(idle, 'remove');
      await idle.query('select 1');
      await removed;
      log.push(countsOf(idle));
      const used = make({ maxUses: 2, max: 1 });
      const pids = [];
      for (let use = 0; use < 4; ++use) {
        const client = await used.connect();
        pids.push((await client.query('select pg_backend_pid() as pid')).rows[0].pid);
        client.release();
        await delay(20);
      }
      log.push(pids[0] === pids[1], pids[1] === pids[2], pids[2] === pids[3]);
    });
  });

  it('an idle client that is lost', async () => {
    await sameInAll(async ({ pool, log, make }) => {
      const client = await pool.connect();
      const { rows } = await client.query('select pg_backend_pid() as pid');
      client.release();
      const told = new Promise((resolve) => {
        pool.once('error', (error, lost) => resolve([error.code, lost === error.client]));
      });
      const removed = happens(pool, 'remove');
      await make({}).query('select pg_terminate_backend($1)', [rows[0].pid]);
      log.push(await told);
      await removed;
      log.push(countsOf(pool), (await pool.query('select 1 as one')).rows);
    });
  });

  it('a lent client that is lost in the middle of a query', async () => {
    await sameInAll(async ({ pool, log }) => {
      const client = await pool.connect();
      client.on('error', () => {});
      const failed = client.query('select pg_terminate_backend(pg_backend_pid())');
      const ended = happens(client, 'end');
      log.push(await failed.catch(({ code }) => code));
      await ended;
      client.release();
      await delay(20);
      log.push(pool.totalCount, (await pool.query('select 1 as one')).rows);
    });
  });

  it('verify and onConnect', async () => {
    await sameInAll(async ({ log, make }) => {
      const verified = make({
        verify: (client, callback) => {
          client.query('select 1 / 0', callback);
        },
      });
      log.push(await messageOf(verified.connect()), await messageOf(verified.query('select 1')));
      log.push(countsOf(verified));
      const hooked = make({ onConnect: (client) => client.query("set work_mem to '5MB'") });
      log.push((await hooked.query('show work_mem')).rows);
      const failing = make({ onConnect: () => Promise.reject(new Error('not today')) });
      log.push(await messageOf(failing.connect()));
    });
  });

  it('the end', async () => {
    await sameInAll(async ({ pool, log, make }) => {
      await pool.query('select 1');
      log.push(pool.ending, pool.ended);
      const ended = pool.end();
      log.push(pool.ending);
      await ended;
      log.push(pool.ended, countsOf(pool));
      log.push(await messageOf(pool.end()), await messageOf(pool.connect()));
      log.push(await messageOf(pool.query('select 1')));
      const waiting = make({ max: 1 });
      const client = await waiting.connect();
      const over = waiting.end().then(() => log.push('over'));
      log.push((await client.query('select 1 as one')).rows);
      client.release();
      await over;
    });
  });

  it('a Promise of the user, and log', async () => {
    await sameInAll(async ({ log, make }) => {
      class Own extends Promise {}
      const pool = make({ Promise: Own });
      const borrowed = pool.connect();
      log.push(pool.query('select 1') instanceof Own, borrowed instanceof Own);
      (await borrowed).release();
      const lines = [];
      const logging = make({ log: (line) => lines.push(line) });
      await logging.query('select 1');
      log.push(lines.includes('new client connected'));
    });
  });

  it('one after the other, who all get the same session while others are idle', async () => {
    await sameInAll(async ({ pool, log }) => {
      const clients = await Promise.all([1, 2, 3].map(() => pool.connect()));
      for (const client of clients) client.release();
      const pids = new Set();
      for (let i = 0; i < 6; ++i) {
        const client = await pool.connect();
        await client.query('begin');
        pids.add((await client.query('select pg_backend_pid() as pid')).rows[0].pid);
        await client.query('commit');
        client.release();
      }
      log.push(pids.size);
    });
  });
});
