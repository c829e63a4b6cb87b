'use strict';

// When a pool closes connections by itself: idle ones, those used maxUses times, or too old ones; and that a
// process can end then.

const assert = require('node:assert/strict');
const { PATIENCE_MILLIS, applicationName, runFixture, seen, until } = require('../support/outside');
const { PID, newPool, pidOf, pidsOf, usePools } = require('../support/pools');

// What fixtures/pool-exit.js says.
const USES = 'queries\na client\na statement alone\n';

describe('Pool', function () {
  // A query in the wrong place waits for ever.
  this.timeout(3 * PATIENCE_MILLIS);

  const observer = usePools();

  describe('closes connections', () => {
    it('after idleTimeoutMillis', async () => {
      const name = applicationName();
      const pool = newPool({ application_name: name, idleTimeoutMillis: 50 });
      let removed = 0;
      pool.on('remove', () => ++removed);
      await Promise.all([1, 2, 3].map(() => pool.query('select pg_sleep(0.02)')));
      await until('the pool is empty', () => pool.totalCount === 0);
      assert.equal(removed, 3);
      await until('the backends are gone', async () => !(await observer.backends(name)).length);
      await pool.query('select 1');
    });

    it('but not while they are busy or checked out', async () => {
      const pool = newPool({ max: 2, idleTimeoutMillis: 20 });
      const client = await pool.connect();
      const busy = pool.query('select pg_backend_pid() as pid, pg_sleep(0.3)');
      const spare = seen(pool, 'remove');
      await busy;
      await spare;
      assert.equal(pool.totalCount, 1);
      assert.equal(pidOf(await client.query(PID)), client.processID);
      client.release();
    });

    it('but keeps min of them', async () => {
      const pool = newPool({ min: 1, max: 3, idleTimeoutMillis: 40, multiplex: 'off' });
      const kept = new Set();
      for (let round = 0; round < 3; ++round) {
        const clients = await Promise.all([1, 2, 3].map(() => pool.connect()));
        const pids = clients.map(({ processID }) => processID);
        for (const client of clients) client.release();
        assert.equal(new Set(pids).size, 3);
        await until('all but one are gone', () => pool.totalCount <= 1);
        assert.equal(pool.totalCount, 1);
        if (round > 0) assert.ok(pids.some((pid) => kept.has(pid)));
        kept.add(pool.stats().connections[0].processID);
      }
    });

    it('after maxUses, one after the other', async () => {
      const pool = newPool({ max: 1, maxUses: 3 });
      const pids = [];
      for (let i = 0; i < 9; ++i) pids.push(pidOf(await pool.query(PID)));
      assert.equal(new Set(pids).size, 3);
      assert.deepEqual(
        pids,
        [0, 3, 6].flatMap((first) => Array(3).fill(pids[first])),
      );
    });

    it("after maxUses, which does not count queries of a 'connect' listener", async () => {
      const pool = newPool({ max: 1, maxUses: 2 });
      pool.on('connect', (client) => {
        for (let i = 0; i < 3; ++i) client.query("set application_name = 'set up'");
      });
      const pids = [];
      for (let i = 0; i < 4; ++i) pids.push(pidOf(await pool.query(PID)));
      assert.equal(new Set(pids).size, 2);
      (await pool.connect()).release();
    });

    it('after maxUses, under load', async () => {
      const pool = newPool({ max: 2, maxUses: 5 });
      const pids = await pidsOf(Array.from({ length: 60 }, () => pool.query(PID)));
      const uses = new Map();
      for (const pid of pids) uses.set(pid, (uses.get(pid) ?? 0) + 1);
      assert.ok(Math.max(...uses.values()) <= 5, [...uses.values()].join());
      assert.ok(uses.size >= 12);
    });

    for (const maxUses of [1, 2]) {
      it(`after maxUses: ${maxUses}, without starving connect() under load`, async () => {
        const pool = newPool({ max: 1, maxUses });
        let queries = 0;
        let isOver = false;
        const ask = async () => {
          while (!isOver) {
            await pool.query('select 1');
            queries += 1;
          }
        };
        const asking = [ask(), ask()];
        const client = await pool.connect();
        assert.ok(queries < 20, `${queries} queries went before`);
        isOver = true;
        client.release();
        await Promise.all(asking);
      });
    }

    it('after maxUses, when they are checked out', async () => {
      const pool = newPool({ max: 1, maxUses: 2 });
      const pids = [];
      for (let i = 0; i < 4; ++i) {
        const client = await pool.connect();
        pids.push(pidOf(await client.query(PID)));
        client.release();
      }
      assert.deepEqual(pids, [pids[0], pids[0], pids[2], pids[2]]);
      assert.notEqual(pids[0], pids[2]);
    });

    it('after maxUses, which counts a checkout as one use, however many queries it runs', async () => {
      const pool = newPool({ max: 1, maxUses: 2 });
      const pids = [];
      for (let i = 0; i < 4; ++i) {
        const client = await pool.connect();
        pids.push(client.processID);
        for (let n = 0; n < 3 * i; ++n) await client.query('select 1');
        client.release();
      }
      assert.deepEqual(pids, [pids[0], pids[0], pids[2], pids[2]]);
      assert.notEqual(pids[0], pids[2]);
    });

    it('after maxLifetimeSeconds, but never with a query in flight', async () => {
      const pool = newPool({ max: 1, maxLifetimeSeconds: 1 });
      const first = pidOf(await pool.query(PID));
      let running = true;
      const failures = [];
      const load = (async () => {
        while (running) {
          await Promise.all([1, 2, 3].map(() => pool.query(PID))).catch((error) =>
            failures.push(error),
          );
        }
      })();
      await until('it was renewed', async () => pidOf(await pool.query(PID)) !== first);
      running = false;
      await load;
      assert.deepEqual(failures, []);
    });

    it('after maxLifetimeSeconds, though it is lent from one to the next without a pause', async () => {
      const pool = newPool({ max: 2, maxLifetimeSeconds: 1 });
      const pids = new Set();
      const work = async () => {
        while (pids.size <= 2) {
          const { rows } = await pool.transaction((tx) => tx.query(PID));
          pids.add(rows[0].pid);
        }
      };
      await Promise.all(Array.from({ length: 6 }, work));
    });

    it('so that a process with allowExitOnIdle ends by itself', async () => {
      const ended = await runFixture('pool-exit.js', {
        args: ['{"allowExitOnIdle":true,"idleTimeoutMillis":0}'],
      });
      assert.deepEqual(ended, { code: 0, signal: null, stdout: USES, stderr: '' });
    });

    it('and one with allowExitOnIdle that awaits pool.end() goes on behind it', async () => {
      const ended = await runFixture('pool-end-on-idle.js');
      assert.deepEqual(ended, { code: 0, signal: null, stdout: 'ended\n', stderr: '' });
    });

    describe('late, so that a process that does not call pool.end()', () => {
      /** @param {string} besides @param {object} [given] @param {string} [driver] */
      const forget = async (besides, given = {}, driver = '../../..') => {
        const waits = { idleTimeoutMillis: 400, ...given };
        const args = [driver, JSON.stringify(waits), besides];
        const { code, stdout } = await runFixture('forgotten-end.js', { args });
        assert.equal(code, 0);
        return stdout.trim().split('\n');
      };

      it('has a connection among its active resources, as with pg', async () => {
        const [listed] = await forget('nothing', {}, 'pg');
        assert.match(listed, /^\["(?:Pipe|TCPSocket)Wrap"\]$/);
        assert.deepEqual(await forget('nothing'), [listed]);
        // All connections are one there.
        assert.deepEqual(await forget('another pool'), [listed]);
        assert.deepEqual(await forget('a subscription'), [listed]);
      });

      it('has none with allowExitOnIdle, or after pool.end()', async () => {
        assert.deepEqual(await forget('nothing', { allowExitOnIdle: true }), ['[]']);
        assert.deepEqual(await forget('its end'), ['[]']);
      });

      const given = { leakWarningMillis: 60 };
      const WARNING =
        'PoolLeakWarning PG_CONDUIT_POOL_LEAK a pool was idle for so long (leakWarningMillis) and is all that ' +
        'keeps the process alive: call pool.end() when it is not needed any more, or set allowExitOnIdle true';

      it('is warned once with leakWarningMillis, with the stack trace of new Pool()', async () => {
        const [, ...warnings] = await forget('nothing', given);
        assert.deepEqual(warnings, [WARNING]);
        const [, ...both] = await forget('another pool', given);
        assert.deepEqual(both, [WARNING, WARNING]);
      });

      it('is not warned without it', async () => {
        assert.equal((await forget('nothing')).length, 1);
      });

      for (const besides of [
        ...['a timer', 'a server', 'a subscription', 'a client that listens'],
        ...['queries now and then', 'its end'],
      ]) {
        it(`is not warned while something else keeps it alive: ${besides}`, async () => {
          const waits = { ...given, idleTimeoutMillis: 200 };
          assert.equal((await forget(besides, waits)).length, 1);
        });
      }

      it('is warned of a checked-out client, and not of the pool', async () => {
        const [, ...warnings] = await forget('a client that is lent', given);
        assert.equal(warnings.length, 1);
        assert.match(warnings[0], /was borrowed and not given back/);
      });
    });

    it('so that a process without it ends after idleTimeoutMillis', async () => {
      const ended = await runFixture('pool-exit.js', { args: ['{"idleTimeoutMillis":200}'] });
      // On a busy machine some are idle for as long between two uses.
      const lines = ended.stdout.split(/(?<=\n)/);
      assert.equal(lines.at(-1), 'removed\n');
      const uses = lines.filter((line) => line !== 'removed\n').join('');
      assert.deepEqual(
        { ...ended, stdout: uses },
        { code: 0, signal: null, stdout: USES, stderr: '' },
      );
    });
  });
});
