'use strict';

// lib/pool/pool.js without a server, with one that refuses connections, and with one that goes
// down: nothing hangs, every error says whether its query may have run, and the pool
// recovers with the server. On a server of its own.

const assert = require('node:assert/strict');
const { once } = require('node:events');
const net = require('node:net');
const { ConnectionError, DatabaseError, Pool } = require('../..');
const { startDatabase } = require('../../scripts/database');
const { useCosts } = require('../support/costs');
const { Observer, applicationName, seen, until } = require('../support/outside');
const { PID } = require('../support/pools');
const { NOWHERE, deadPort, listen } = require('../support/ports');

describe('Pool during an outage', function () {
  this.timeout(20000);

  /** @type {Awaited<ReturnType<typeof startDatabase>>} */
  let database;
  /** @type {Pool[]} */
  let pools = [];
  /** @type {net.Server[]} */
  let servers = [];
  const sockets = new Set();
  const observers = [];

  before(async () => {
    database = await startDatabase({
      own: true,
      listen: true,
      settings: { log_min_messages: 'fatal' },
      hba: [
        'local all all trust',
        'host all stranger 127.0.0.1/32 scram-sha-256',
        'host all all 127.0.0.1/32 trust',
      ].join('\n'),
    });
  });
  after(() => database.stop());
  afterEach(async () => {
    for (const server of servers) server.close();
    for (const socket of sockets) socket.destroy();
    servers = [];
    await Promise.all(pools.map((pool) => pool.end()));
    pools = [];
    await Promise.all(observers.splice(0).map((observer) => observer.close().catch(() => {})));
  });

  /** @param {Record<string, any>} [options] */
  function newPool(options) {
    const pool = new Pool({ ...database.config, ...options });
    pools.push(pool);
    return pool;
  }

  /** @param {(socket: net.Socket) => void} onConnection */
  function newServer(onConnection) {
    const server = net.createServer((socket) => {
      sockets.add(socket);
      socket.on('error', () => {});
      socket.on('close', () => sockets.delete(socket));
      onConnection(socket);
    });
    servers.push(server);
    return server;
  }

  /** Passes everything on to the database. */
  function newProxy() {
    return newServer((socket) => {
      const upstream = net.connect(database.config.port, database.config.host);
      sockets.add(upstream);
      upstream.on('error', () => {});
      socket.pipe(upstream).pipe(socket);
    });
  }

  async function observe() {
    const observer = await Observer.open(database.config);
    observers.push(observer);
    return observer;
  }

  describe('rejects', () => {
    for (const [code, target] of [
      ['ENOENT', async () => ({ host: NOWHERE })],
      ['ECONNREFUSED', async () => ({ port: await deadPort() })],
    ]) {
      it(`queries and connect() with ${code}, each with an error of its own`, async () => {
        const pool = newPool(await target());
        // One after the other: none of them waits for a server that may come.
        for (let i = 0; i < 5; ++i) {
          await assert.rejects(pool.query('select 1'), (error) => {
            assert.ok(error instanceof ConnectionError, String(error));
            assert.equal(error.code, code);
            assert.equal(error.syscall, 'connect');
            assert.equal(error.outcome, 'not-run');
            return true;
          });
        }
        const outcomes = await Promise.allSettled([
          ...Array.from({ length: 50 }, () => pool.query('select 1')),
          pool.connect(),
          pool.query('vacuum'),
        ]);
        const reasons = outcomes.map(({ reason }) => reason);
        assert.ok(reasons.every((reason) => reason.code === code));
        assert.equal(new Set(reasons).size, reasons.length, 'each has an error of its own');
        assert.equal(pool.waitingCount, 0);
        await until('no connection is counted any more', () => pool.totalCount === 0);
      });
    }

    it('with the error of the server about the user or the database', async () => {
      for (const [options, sqlstate] of [
        [{ user: 'stranger', password: 'wrong' }, '28P01'],
        [{ user: 'nobody_of_this_name' }, '28000'],
        [{ database: 'no_such_database' }, '3D000'],
        [{ database: 'no_such_database', connectionTimeoutMillis: 15000 }, '3D000'],
      ]) {
        const pool = newPool(options);
        const outcomes = await Promise.allSettled([
          pool.query('select 1'),
          pool.query('select 1'),
          pool.connect(),
        ]);
        for (const { reason } of outcomes) {
          assert.ok(reason instanceof DatabaseError, String(reason));
          assert.equal(reason.code, sqlstate);
          assert.equal(reason.outcome, 'not-run');
        }
      }
    });

    it("without an 'error' event, which could end the process", async () => {
      const pool = newPool({ host: NOWHERE });
      assert.equal(pool.listenerCount('error'), 0);
      await assert.rejects(pool.query('select 1'), { code: 'ENOENT' });
      await pool.end();
      pools = [];
    });

    it('with a timeout, when the server accepts but does not answer', async () => {
      const port = await listen(newServer(() => {}));
      const pool = newPool({ port, sslmode: 'disable', connectionTimeoutMillis: 300 });
      const outcomes = await Promise.allSettled([pool.query('select 1'), pool.connect()]);
      for (const { reason } of outcomes) {
        assert.ok(
          ['ETIMEDOUT', 'ERR_PG_CONDUIT_POOL_TIMEOUT'].includes(reason.code),
          String(reason.code),
        );
        assert.equal(reason.outcome, 'not-run');
      }
    });

    it('calls of a pool with waitForServer after connectionTimeoutMillis, with the reason', async () => {
      const pool = newPool({
        port: await deadPort(),
        connectionTimeoutMillis: 300,
        waitForServer: true,
      });
      const outcomes = await Promise.allSettled([pool.query('select 1'), pool.connect()]);
      for (const { reason } of outcomes) {
        assert.equal(reason.code, 'ECONNREFUSED');
        assert.equal(reason.outcome, 'not-run');
        assert.match(reason.detail, /^no connection could be made within 300 ms/);
      }
    });
  });

  describe('waits, with waitForServer, within connectionTimeoutMillis', () => {
    it('for a server that starts, which then answers all queries', async () => {
      const port = await deadPort();
      const pool = newPool({
        port,
        sslmode: 'disable',
        max: 3,
        connectionTimeoutMillis: 15000,
        waitForServer: true,
      });
      const queries = Array.from({ length: 20 }, (_, i) =>
        pool.query('select $1::int as i', [i]).then(({ rows }) => rows[0].i),
      );
      const borrowed = pool.connect().then((client) => client.release());
      await until('an attempt has failed', () => pool.totalCount === 0);
      assert.equal(pool.waitingCount, 21);
      const server = newProxy();
      await listen(server, port);
      assert.deepEqual(
        await Promise.all(queries),
        Array.from({ length: 20 }, (_, i) => i),
      );
      await borrowed;
    });

    it('with one attempt at a time', async () => {
      const max = 5;
      let open = 0;
      let attempts = 0;
      const crowds = [];
      const port = await listen(
        newServer((socket) => {
          ++open;
          // How many are tried at once before the first has failed is the pool's own affair.
          if (++attempts > max) crowds.push(open);
          socket.on('close', () => --open);
          // Held for a while, so that attempts can overlap.
          socket.once('data', () => setTimeout(() => socket.destroy(), 20));
        }),
      );
      const pool = newPool({
        port,
        sslmode: 'disable',
        max,
        connectionTimeoutMillis: 15000,
        waitForServer: true,
      });
      const queries = Array.from({ length: 20 }, () => pool.query('select 1'));
      const settled = Promise.allSettled(queries);
      await until('several attempts have been made', () => crowds.length >= 3);
      assert.deepEqual(new Set(crowds), new Set([1]));
      // With no time to wait any more nothing of it may hang.
      for (const server of servers) server.close();
      servers = [];
      const real = newProxy();
      await listen(real, port);
      assert.ok((await settled).every(({ status }) => status === 'fulfilled'));
    });
  });

  describe('survives', () => {
    /** @param {any} error of a query whose connection went away, or could not be made */
    function assertToldOutcome(error) {
      assert.ok(error instanceof ConnectionError || error instanceof DatabaseError, String(error));
      assert.ok(['unknown', 'not-run'].includes(error.outcome), String(error.outcome));
    }

    it('a restart of the server under load', async () => {
      const pool = newPool({ max: 3 });
      await pool.query(PID);
      let running = true;
      let answered = 0;
      const failures = [];
      const load = Array.from({ length: 30 }, async () => {
        while (running) {
          try {
            await pool.query('select $1::int as i', [1]);
            ++answered;
          } catch (error) {
            failures.push(error);
          }
        }
      });
      await until('the load runs', () => answered > 1000);
      await database.restart();
      const before = answered;
      await until('queries are answered again', () => answered > before + 1000);
      running = false;
      await Promise.all(load);
      assert.ok(failures.length > 0);
      for (const error of failures) assertToldOutcome(error);
      assert.ok(pool.totalCount <= 3);
      await Promise.all(Array.from({ length: 100 }, () => pool.query('select 1')));
    });

    it('a restart while idle, without an error', async () => {
      const pool = newPool({ max: 3 });
      await Promise.all([1, 2, 3].map(() => pool.query('select pg_sleep(0.02)')));
      await database.restart();
      await until('the pool has noticed', () => pool.totalCount === 0);
      assert.equal((await pool.query('select 1 as one')).rows[0].one, 1);
    });

    describe('with so little work in front that all of it is sent', () => {
      useCosts();

      it('the loss of a busy connection: only its queries are rejected', async () => {
        const observer = await observe();
        const pool = newPool({ max: 1 });
        const errors = [];
        pool.on('error', (error) => errors.push(error));
        const { pid } = (await pool.query(PID)).rows[0];
        const queries = [
          pool.query('select pg_sleep(60)'),
          ...Array.from({ length: 10 }, () => pool.query(PID)),
        ];
        const settled = Promise.allSettled(queries);
        await observer.untilAsleep(pid);
        await observer.terminate(pid);
        for (const { reason } of await settled) {
          assert.ok(reason instanceof ConnectionError, String(reason));
          assert.equal(reason.outcome, 'unknown');
          assert.equal(reason.cause.code, '57P01');
        }
        assert.notEqual((await pool.query(PID)).rows[0].pid, pid);
      });
    });

    it("the loss of an idle connection, without an 'error' listener", async () => {
      const observer = await observe();
      const pool = newPool({ max: 1 });
      const { pid } = (await pool.query(PID)).rows[0];
      const removed = seen(pool, 'remove');
      await observer.terminate(pid);
      await removed;
      assert.equal(pool.totalCount, 0);
      assert.notEqual((await pool.query(PID)).rows[0].pid, pid);
    });

    it("the loss of an idle connection, with an 'error' event", async () => {
      const observer = await observe();
      const pool = newPool({ max: 1 });
      const { pid } = (await pool.query(PID)).rows[0];
      const emitted = once(pool, 'error');
      await observer.terminate(pid);
      const [error, client] = await emitted;
      assert.ok(error instanceof ConnectionError);
      assert.equal(error.cause.code, '57P01');
      assert.equal(client.processID, pid);
      await pool.query('select 1');
    });

    it('the loss of a checked-out connection: its client emits an error, and may be released', async () => {
      const observer = await observe();
      const pool = newPool({ max: 1 });
      const client = await pool.connect();
      const emitted = once(client, 'error');
      await observer.terminate(client.processID);
      const [error] = await emitted;
      assert.equal(error.cause.code, '57P01');
      await assert.rejects(client.query('select 1'), (reason) => {
        assert.ok(reason instanceof ConnectionError);
        assert.equal(reason.outcome, 'not-run');
        return true;
      });
      client.release();
      assert.notEqual((await pool.query(PID)).rows[0].pid, client.processID);
      assert.equal(pool.totalCount, 1);
    });

    it('the loss of a checked-out connection before its release, with other calls waiting', async () => {
      const observer = await observe();
      const pool = newPool({ max: 1 });
      const client = await pool.connect();
      const queries = [1, 2, 3].map(() => pool.query(PID));
      const next = pool.connect();
      const ended = seen(client, 'end');
      await observer.terminate(client.processID);
      await ended;
      // What cannot be used any more must not keep others waiting.
      await Promise.all(queries);
      (await next).release();
      client.release();
    });

    it('kill -9 of a backend with 100 queries in flight', async () => {
      const name = applicationName();
      const pool = newPool({ max: 1, application_name: name });
      const { pid } = (await pool.query(PID)).rows[0];
      const observer = await observe();
      const queries = Array.from({ length: 100 }, (_, i) =>
        pool.query(i === 50 ? 'select pg_sleep(60)' : 'select $1::int as i', i === 50 ? [] : [i]),
      );
      const settled = Promise.allSettled(queries);
      await observer.untilAsleep(pid);
      process.kill(pid, 'SIGKILL');
      const outcomes = await settled;
      for (const [i, { status, value, reason }] of outcomes.entries()) {
        if (i < 50) {
          assert.equal(status, 'fulfilled', `query ${i} was answered before`);
          assert.deepEqual(value.rows, [{ i }]);
        } else {
          assert.equal(status, 'rejected');
          assert.ok(reason instanceof ConnectionError);
          assert.equal(reason.outcome, 'unknown');
        }
      }
      // The server restarts itself meanwhile.
      const again = await until('the pool works again', () => pool.query(PID).catch(() => null));
      assert.notEqual(again.rows[0].pid, pid);
    });

    it('many lost connections under load, and can be ended afterwards', async () => {
      const name = applicationName();
      const observer = await observe();
      const pool = newPool({ max: 4, application_name: name });
      let running = true;
      let answered = 0;
      const load = Array.from({ length: 20 }, async () => {
        while (running) {
          await pool.query('select $1::int', [1]).then(
            () => ++answered,
            (error) => assertToldOutcome(error),
          );
        }
      });
      for (let round = 0; round < 10; ++round) {
        const before = answered;
        await until('there are answers', () => answered > before + 50);
        for (const pid of await observer.backends(name)) await observer.terminate(pid);
      }
      running = false;
      await Promise.all(load);
      await pool.end();
      pools = [];
      await until('no backend is left', async () => !(await observer.backends(name)).length);
    });
  });
});
