'use strict';

// How calls fail that wait for a connection while the server refuses new ones: with the reason that `pg`
// gives, and only those that could not be served in time. On a server of its own with room for a few
// connections.

const assert = require('node:assert/strict');
const { once } = require('node:events');
const net = require('node:net');
const { mock } = require('node:test');
const { setTimeout: delay } = require('node:timers/promises');
const pg = require('pg');
const ours = require('../..');
const { startDatabase } = require('../../scripts/database');
const { errorOf, outcomeOf } = require('../support/outcomes');
const { until } = require('../support/outside');
const { deadPort, listen } = require('../support/ports');
const { warningsOf } = require('../support/process');

/** For users without privileges: the room that tests fill. */
const ROOM = 4;
const GUEST = { user: 'guest', password: 'geheim' };
const BORROWERS = 12;

describe('calls that wait while the server refuses connections', function () {
  this.timeout(30_000);

  /** @type {Awaited<ReturnType<typeof startDatabase>>} */
  let database;
  /** Ends after each test. @type {{ end: () => any }[]} */
  let opened = [];
  /** @type {any[]} */
  let borrowed = [];

  before(async () => {
    database = await startDatabase({
      own: true,
      listen: true,
      settings: { log_min_messages: 'fatal' },
      hba: 'local all all trust\nhost all guest all scram-sha-256\nhost all all all trust',
    });
    const client = new pg.Client(database.config);
    await client.connect();
    await client.query(`create role guest login password 'geheim' connection limit ${ROOM}`);
    await client.end();
  });
  after(() => database.stop());
  afterEach(async () => {
    for (const client of borrowed) client.release(true);
    borrowed = [];
    await Promise.all(opened.map((one) => one.end()));
    opened = [];
    await untilGone();
  });

  /** No connection of a test is left to the next one. */
  async function untilGone() {
    const client = new pg.Client(database.config);
    await client.connect();
    await until('the guest has no connection left', async () => {
      const { rows } = await client.query("select 1 from pg_stat_activity where usename = 'guest'");
      return rows.length === 0;
    });
    await client.end();
  }

  /** @param {any} driver @param {Record<string, any>} [given] */
  function newPool(driver, given) {
    const pool = new driver.Pool({ ...database.config, ...GUEST, ...given });
    opened.push(pool);
    return pool;
  }

  /** As many borrowers at once, who keep what they get. @param {any} pool */
  function borrowAll(pool) {
    return Array.from({ length: BORROWERS }, async () => {
      const client = await pool.connect();
      borrowed.push(client);
      return client;
    });
  }

  /** Errors of both drivers. @param {(driver: any) => Promise<any>} run */
  async function errorsOf(run) {
    return [await run(pg), await run(ours)];
  }

  describe('after connectionTimeoutMillis, with waitForServer', () => {
    /** @param {any} error @param {any} expected that of pg @param {string} code */
    function assertTold(error, expected, code) {
      assert.equal(error.message, expected.message);
      assert.equal(error.code, code);
      assert.equal(error.outcome, 'not-run');
      assert.match(error.detail, /within 1000 ms \(connectionTimeoutMillis\)/);
      assert.doesNotMatch(error.detail, /did not answer/);
    }

    it('are rejected with the message of pg if nothing listens on the port', async () => {
      const port = await deadPort();
      const given = { port, connectionTimeoutMillis: 1000, waitForServer: true };
      for (const use of [(pool) => pool.query('select 1'), (pool) => pool.connect()]) {
        const [expected, error] = await errorsOf((driver) => errorOf(use(newPool(driver, given))));
        assert.equal(expected.code, 'ECONNREFUSED');
        assertTold(error, expected, 'ECONNREFUSED');
      }
      const listening = newPool(ours, given).listen('a', () => {});
      const error = await errorOf(listening);
      assertTold(error, { message: `connect ECONNREFUSED 127.0.0.1:${port}` }, 'ECONNREFUSED');
    });

    it('are rejected with a hint if the server is full', async () => {
      const full = newPool(ours);
      borrowed.push(...(await Promise.all(Array.from({ length: ROOM }, () => full.connect()))));
      const [expected, error] = await errorsOf((driver) =>
        errorOf(
          newPool(driver, { connectionTimeoutMillis: 1000, waitForServer: true }).query('select 1'),
        ),
      );
      assert.equal(expected.code, '53300');
      assertTold(error, expected, '53300');
      assert.match(error.hint, /lower the max/);
    });

    it('are rejected with that reason also if the pool has connections, all of them in use', async () => {
      const pool = newPool(ours, { max: 20, connectionTimeoutMillis: 1000 });
      const outcomes = await Promise.all(borrowAll(pool).map(outcomeOf));
      const errors = outcomes.flatMap(({ error }) => error ?? []);
      assert.equal(errors.length, BORROWERS - ROOM);
      for (const error of errors) {
        assertTold(error, { message: 'too many connections for role "guest"' }, '53300');
        assert.match(error.detail, /^no connection was free \(of 4\)/);
      }
    });

    it('are rejected for a server that does not answer, whatever the reason was earlier', async () => {
      const port = await deadPort();
      const pool = newPool(ours, { port, connectionTimeoutMillis: 1000 });
      assert.equal((await errorOf(pool.query('select 1'))).code, 'ECONNREFUSED');
      const sockets = new Set();
      const mute = net.createServer((socket) => sockets.add(socket.on('error', () => {})));
      await listen(mute, port);
      opened.push({ end: () => mute.close() });
      // No refusal is as young as a wait and a pause between attempts.
      await delay(1500);
      for (let wait = 1; wait <= 2; ++wait) {
        const error = await errorOf(pool.query('select 1'));
        assert.equal(error.message, 'Connection terminated due to connection timeout');
        assert.match(error.detail, /the server did not answer within 1000 ms/);
      }
      for (const socket of sockets) socket.destroy();
    });

    for (const [what, given, message] of [
      ['a wrong password', { password: 'wrong' }, /^password authentication failed/],
      ['no password', { password: undefined }, /^no password supplied/],
      ['a password of the wrong type', { password: () => 5 }, /^Password must be a string/],
    ]) {
      it(`are rejected at once because of ${what}, since waiting does not help`, async () => {
        const pool = newPool(ours, {
          ...given,
          connectionTimeoutMillis: 20_000,
          waitForServer: true,
        });
        const began = performance.now();
        const error = await errorOf(pool.query('select 1'));
        assert.match(error.message, message);
        assert.equal(error.outcome, 'not-run');
        assert.ok(performance.now() - began < 10_000);
      });
    }
  });

  describe('without connectionTimeoutMillis', () => {
    it('are rejected by pg, but wait for released connections here', async () => {
      const rejected = await Promise.all(borrowAll(newPool(pg, { max: 20 })).map(outcomeOf));
      const refusals = rejected.flatMap(({ error }) => error ?? []);
      assert.deepEqual(new Set(refusals.map(({ code }) => code)), new Set(['53300']));
      assert.equal(refusals.length, BORROWERS - ROOM);
      for (const client of borrowed.splice(0)) client.release(true);
      await untilGone();

      const pool = newPool(ours, { max: 20 });
      const answers = Array.from({ length: BORROWERS }, async () => {
        const client = await pool.connect();
        try {
          return (await client.query('select pg_sleep(0.05), 1 as one')).rows[0].one;
        } finally {
          client.release();
        }
      });
      assert.deepEqual(await Promise.all(answers), Array(BORROWERS).fill(1));
    });

    it('cause one warning after they have waited for a second', async () => {
      const pool = newPool(ours, { max: 20 });
      const all = borrowAll(pool);
      const warnings = await warningsOf(async () => {
        await once(process, 'warning');
        // Longer than the pause between two attempts.
        await delay(1500);
      });
      assert.deepEqual(
        warnings.map(({ name, code }) => [name, code]),
        [['PoolRefusedWarning', 'PG_CONDUIT_POOL_REFUSED']],
      );
      const [{ message, detail }] = warnings;
      assert.equal(
        message,
        'a pool can make no further connection: too many connections for role "guest" (53300). ' +
          'It has 4 of at most 20, and callers wait for one: 8',
      );
      assert.match(detail, /lower the max/);
      assert.match(detail, /connectionTimeoutMillis/);
      // Nobody was sent away.
      while (borrowed.length > 0) {
        borrowed.shift().release();
        await delay(1);
      }
      await Promise.all(all);
    });

    it('cause another warning if the server has accepted a connection in between', async () => {
      const other = newPool(ours);
      borrowed.push(await other.connect());
      const pool = newPool(ours, { max: 20 });
      const all = borrowAll(pool);
      const warnings = await warningsOf(async () => {
        await once(process, 'warning');
        // It follows as soon as the pool has grown, since the others have waited long enough.
        const again = once(process, 'warning');
        borrowed.shift().release(true);
        await until('the pool has grown', () => borrowed.length === ROOM);
        await again;
      });
      assert.deepEqual(
        warnings.map(({ message }) => message.split('It has ')[1]),
        [
          '3 of at most 20, and callers wait for one: 9',
          '4 of at most 20, and callers wait for one: 8',
        ],
      );
      while (borrowed.length > 0) {
        borrowed.shift().release();
        await delay(1);
      }
      await Promise.all(all);
    });

    it('cause no warning if they are served within a second', async () => {
      // Which it is by this clock, on a busy machine too.
      const { now } = performance;
      const began = performance.now();
      mock.method(performance, 'now', () => began + (now.call(performance) - began) / 100);
      const pool = newPool(ours, { max: 20 });
      const warnings = await warningsOf(async () => {
        const queries = Array.from({ length: 20 }, () => pool.query('select pg_sleep(0.02)'));
        await Promise.all(queries);
      });
      mock.restoreAll();
      assert.deepEqual(warnings, []);
    });
  });
});
