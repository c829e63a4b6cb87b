'use strict';

// Borrowed clients that share connections, behind PgBouncer and when a standby takes over: there each has a connection,
// unless all connections are known to lead to one server that can write.

const assert = require('node:assert/strict');
const { setTimeout: delay } = require('node:timers/promises');
const pg = require('pg');
const { Pool } = require('../..');
const { startDatabase } = require('../../scripts/database');
const { outcomeOf } = require('../support/outcomes');
const { until } = require('../support/outside');
const { KINDS, startPooler, startServerBehind } = require('../support/poolers');
const { caughtUp, startStandby } = require('../support/standby');

const ONE = 'select 1 as one';

/** A client reads; it floats if it holds no connection then. @param {Pool} pool */
async function floats(pool) {
  const client = await pool.connect();
  try {
    await client.query(ONE);
    return pool.stats().leases.floating > 0;
  } finally {
    client.release();
  }
}

describe('Borrowed clients that share connections', function () {
  this.timeout(60_000);

  describe('behind PgBouncer', () => {
    /** @type {Awaited<ReturnType<typeof startServerBehind>>} */
    let server;
    before(async function () {
      // Where this file runs by itself, the newer PgBouncer may not have been compiled yet.
      this.timeout(600_000);
      for (const { find } of Object.values(KINDS)) find();
      server = await startServerBehind();
    });
    after(() => server?.stop());

    /** What a session remembers, and what it is asked for. @param {any} pool of either driver */
    async function talk(pool) {
      const client = await pool.connect();
      const said = [];
      for (const text of [
        ONE,
        "set application_name = 'mine'",
        ONE,
        "select current_setting('application_name') as name",
        'create temp table t as select 7 as i',
        'select i from t',
        'begin',
        "select set_config('a.b', 'c', true) as set",
        "select current_setting('a.b') as b",
        'commit',
        'select 1 / 0 as none',
        ONE,
      ]) {
        const { value, error } = await outcomeOf(client.query(text));
        said.push(value?.rows ?? error.code);
      }
      client.release();
      return said;
    }

    for (const poolMode of /** @type {const} */ (['session', 'transaction', 'statement'])) {
      for (const kind of [KINDS.old, KINDS.newer]) {
        it(`${kind.name} in ${poolMode} mode do not`, async () => {
          const pooler = await startPooler(server, kind, { poolMode, poolSize: 6 });
          const pool = new Pool({ ...pooler.config, max: 3 });
          for (let i = 0; i < 5; ++i) {
            await pool.query(ONE);
            assert.equal(await floats(pool), false);
            // The catalog is asked in the background.
            await delay(20);
          }
          const clients = await Promise.all([1, 2, 3].map(() => pool.connect()));
          assert.equal(pool.idleCount, 0);
          for (const client of clients) client.release();
          await pool.end();
          await pooler.stop();
        });
      }
    }

    it('in session mode they remember what clients of pg remember', async () => {
      const pooler = await startPooler(server, KINDS.newer, { poolMode: 'session', poolSize: 9 });
      const ours = new Pool({ ...pooler.config, max: 3 });
      const theirs = new pg.Pool({ ...pooler.config, max: 3 });
      await ours.query(ONE);
      const expected = await talk(theirs);
      const all = await Promise.all([1, 2, 3, 4, 5, 6].map(() => talk(ours)));
      for (const said of all) assert.deepEqual(said, expected);
      await Promise.all([ours.end(), theirs.end()]);
      await pooler.stop();
    });
  });

  describe('when a standby takes over', () => {
    /** @type {Awaited<ReturnType<typeof startDatabase>>} */
    let primary;
    /** @type {Awaited<ReturnType<typeof startStandby>>} */
    let standby;
    /** @type {Pool[]} */
    const pools = [];

    beforeEach(async () => {
      primary = await startDatabase({
        own: true,
        listen: true,
        settings: { log_min_messages: 'fatal' },
      });
      standby = await startStandby(primary, 'next');
    });
    afterEach(async () => {
      await Promise.all(pools.splice(0).map((pool) => pool.end()));
      await standby.stop();
      await primary.stop();
    });

    /** @param {Record<string, any>} [given] */
    async function openPool(given) {
      const { host, port, ...others } = primary.config;
      const pool = new Pool({
        ...others,
        host: `${host},${standby.config.host}`,
        port: `${port},${standby.config.port}`,
        max: 3,
        connectionTimeoutMillis: 20_000,
        waitForServer: true,
        ...given,
      });
      pool.on('error', () => {});
      pools.push(pool);
      await pool.query('create table if not exists notes (i int)');
      await until('reads float', async () => {
        await pool.query(ONE);
        return floats(pool);
      });
      return pool;
    }

    it('they do not while it is a standby', async () => {
      const pool = await openPool();
      const [floating, pinned] = [await pool.connect(), await pool.connect()];
      pinned.on('error', () => {});
      await floating.query(ONE);
      await pinned.query('insert into notes values (1)');
      await caughtUp(primary, standby.ask);
      await primary.stop();
      await until('it is noticed', async () => (await outcomeOf(pinned.query(ONE))).error);
      pinned.release(true);
      // It has a connection to the standby from here on.
      assert.deepEqual((await floating.query('select i from notes')).rows, [{ i: 1 }]);
      assert.deepEqual(pool.stats().leases, { floating: 0, pinned: 1 });
      const { error } = await outcomeOf(floating.query('insert into notes values (2)'));
      assert.equal(error.code, '25006');
      floating.release();
      assert.equal(await floats(pool), false);
    });

    it('they do again when it is the primary', async () => {
      const pool = await openPool({ target_session_attrs: 'read-write' });
      const client = await pool.connect();
      await client.query(ONE);
      await caughtUp(primary, standby.ask);
      await primary.stop();
      const reading = client.query(ONE);
      await standby.promote();
      await outcomeOf(reading);
      await client.query('insert into notes values (3)');
      client.release();
      assert.ok(await floats(pool));
      assert.deepEqual((await pool.query('select i from notes')).rows, [{ i: 3 }]);
    });
  });
});
