'use strict';

// Networks that fall silent or become slow: time limits and TCP's own options end the wait, others go on,
// and full buffers on both sides come to no standstill.

const assert = require('node:assert/strict');
const { execFileSync, spawn, spawnSync } = require('node:child_process');
const { once } = require('node:events');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { setTimeout: delay } = require('node:timers/promises');
const { Client, ConnectionError } = require('../..');
const { startDatabase } = require('../../scripts/database');
const { cannotRun } = require('../support/cannot-run');
const { newClient, newPool } = require('../support/connect');
const { errorOf } = require('../support/outcomes');
const { until } = require('../support/outside');
const { PID, pidOf, usePools } = require('../support/pools');
const { IS_FULL } = require('../support/property');
const { Proxy } = require('../support/proxy');

describe('When the network', function () {
  this.timeout(IS_FULL ? 300000 : 60000);

  usePools();
  /** @type {Proxy} */
  let proxy;
  beforeEach(async () => {
    proxy = await Proxy.open();
  });
  afterEach(() => proxy.close());

  const behind = (given) => proxy.options(given);

  describe('falls silent without closing connections,', () => {
    it('time limits reject queries on a shared connection, and the pool continues', async () => {
      const pool = newPool(behind({ max: 3 }));
      await Promise.all([1, 2, 3].map(() => pool.query('select pg_sleep(0.05)')));
      proxy.hold();
      const text = 'select 1';
      const errors = await Promise.all([
        errorOf(pool.query({ text, timeoutMillis: 200 })),
        errorOf(pool.query({ text: 'select 2', query_timeout: 200 })),
      ]);
      for (const error of errors) {
        assert.equal(error.code, 'ERR_PG_CONDUIT_QUERY_TIMEOUT');
        assert.equal(error.outcome, 'unknown');
      }
      // Those that have not been tried yet hear nothing either; what comes once the network is
      // back passes by those that have something in flight.
      proxy.release();
      await Promise.all(Array.from({ length: 50 }, () => pool.query(text)));
      await until('all are idle', () => pool.idleCount === pool.totalCount);
    });

    it('a signal rejects a query, and its connection is replaced', async () => {
      const pool = newPool(behind({ max: 1 }));
      const pid = pidOf(await pool.query(PID));
      proxy.hold();
      const error = await errorOf(
        pool.query({ text: 'select 1', signal: AbortSignal.timeout(200) }),
      );
      assert.equal(error.name, 'AbortError');
      assert.equal(error.outcome, 'unknown');
      proxy.release();
      assert.notEqual(pidOf(await pool.query(PID)), pid);
    });

    it('a client whose query is aborted is closed, with an error event', async () => {
      const client = await newClient(behind());
      proxy.hold();
      const error = await errorOf(client.query({ text: 'select 1', timeoutMillis: 200 }));
      assert.equal(error.code, 'ERR_PG_CONDUIT_QUERY_TIMEOUT');
      assert.equal(error.outcome, 'unknown');
      assert.equal((await errorOf(client.query('select 1'))).outcome, 'not-run');
    });

    it('connect() rejects after connectionTimeoutMillis', async () => {
      proxy.hold();
      const client = new Client(behind({ connectionTimeoutMillis: 200 }));
      assert.equal((await errorOf(client.connect())).code, 'ETIMEDOUT');
      await client.end();
      const pool = newPool(behind({ connectionTimeoutMillis: 200 }));
      const error = await errorOf(pool.query('select 1'));
      assert.equal(error.code, 'ERR_PG_CONDUIT_POOL_TIMEOUT');
      assert.equal(error.outcome, 'not-run');
      proxy.release();
      assert.deepEqual((await pool.query('select 1 as one')).rows, [{ one: 1 }]);
    });
  });

  it('resets a connection, answers that have arrived before are used', async () => {
    const ask = async () => {
      const client = await newClient(behind());
      const answer = await client.query("select repeat('x', 10000) as t");
      await client.query('select 1').catch(() => {});
      return answer.rows[0].t.length;
    };
    const ends = [];
    let total = 0;
    proxy.change = (type, bytes) => {
      total += bytes.length;
      if (type === 'Z') ends.push(total);
      return bytes;
    };
    await ask();
    // After the handshake, the probe of the way there and back, and the first query.
    const [, , afterBytes] = ends;
    proxy.change = undefined;
    proxy.cut = { direction: 'toDriver', afterBytes, by: 'RST' };
    assert.equal(await ask(), 10000);
  });

  describe('is slow', () => {
    /** Of which everybody has many in flight, in both directions. */
    const LARGE = 'x'.repeat(20000);
    const COUNT = IS_FULL ? 10000 : 1500;
    /** Of the process; the long form moves 400 MB. */
    const MAX_GROWTH_MIB = 256;
    const TEXT = 'select $1::int as n, $2::text as t';

    for (const kind of /** @type {const} */ (['client', 'pool'])) {
      it(`${COUNT} large queries on a ${kind} complete, with all buffers full`, async () => {
        const one = kind === 'pool' ? newPool(behind({ max: 1 })) : await newClient(behind());
        await one.query(TEXT, [0, LARGE]);
        globalThis.gc?.();
        const before = process.memoryUsage().rss;
        let peak = before;
        let bad = 0;
        let answered = 0;
        const answers = Array.from({ length: COUNT }, (_, n) =>
          one.query(TEXT, [n, LARGE]).then(({ rows: [row] }) => {
            if (row.n !== n || row.t !== LARGE) ++bad;
            if (++answered % 50 === 0) peak = Math.max(peak, process.memoryUsage().rss);
          }),
        );
        await until('answers come', () => answered > 10);
        proxy.hold();
        await delay(300);
        proxy.release();
        proxy.bytesPerSecond = 100e6;
        await Promise.all(answers);
        assert.equal(bad, 0);
        const growthMiB = Math.round((peak - before) / 2 ** 20);
        if (IS_FULL) console.log(`      grows by ${growthMiB} MiB`);
        assert.ok(growthMiB < MAX_GROWTH_MIB, `${growthMiB} MiB`);
      });
    }
  });

  if (process.platform === 'linux') {
    describe('drops every packet', () => {
      /** @type {Awaited<ReturnType<typeof startDatabase>>} */
      let database;
      let folder = '';
      /** @type {import('node:child_process').ChildProcess} */
      let relay;
      let port = 0;

      before(async function () {
        folder = fs.mkdtempSync(path.join(os.tmpdir(), 'conduit-mute-'));
        execFileSync(process.env.CC || 'cc', [
          ...['-O2', '-o', path.join(folder, 'mute')],
          path.join(__dirname, '..', 'native', 'mute.c'),
        ]);
        if (spawnSync(path.join(folder, 'mute'), ['check']).status !== 0) {
          cannotRun(this, 'only root may make the kernel drop packets (SO_ATTACH_FILTER)');
        }
        database = await startDatabase({ own: true, listen: true });
      });
      after(async () => {
        await database?.stop();
        fs.rmSync(folder, { recursive: true, force: true });
      });
      beforeEach(async () => {
        relay = spawn(path.join(folder, 'mute'), [String(database.config.port)], {
          stdio: ['pipe', 'pipe', 'inherit'],
        });
        const [line] = await once(relay.stdout, 'data');
        port = Number(line);
      });
      afterEach(() => relay.stdin.end());

      /** @param {Record<string, any>} given */
      async function connect(given) {
        const client = new Client({ ...database.config, port, sslmode: 'disable', ...given });
        await client.connect();
        const lost = new Promise((resolve) => {
          client.once('error', resolve);
        });
        return { client, lost };
      }

      const mute = async () => {
        const muted = once(relay.stdout, 'data');
        const ended = once(relay, 'exit').then(([code]) => assert.fail(`the relay ended: ${code}`));
        relay.kill('SIGUSR1');
        await Promise.race([muted, ended]);
        ended.catch(() => {});
      };

      for (const idle of [{ keepalives_idle: 1 }, { keepAliveInitialDelayMillis: 1000 }]) {
        it(`keepalives detect it on an idle connection: ${Object.keys(idle)}`, async () => {
          const { client, lost } = await connect({
            ...idle,
            keepalives_interval: 1,
            keepalives_count: 1,
          });
          // Of what is in flight keepalives take no care.
          await client.query('select 1');
          await mute();
          // Without these options it takes two hours.
          const error = await lost;
          assert.ok(error instanceof ConnectionError);
          assert.equal(error.code, 'ETIMEDOUT');
          await client.end();
        });
      }

      it('tcp_user_timeout detects it while a query is in flight', async () => {
        const { client } = await connect({ tcp_user_timeout: 500 });
        await mute();
        // Without it the system tries for a quarter of an hour.
        const error = await errorOf(client.query('select 1'));
        assert.ok(error instanceof ConnectionError);
        assert.equal(error.code, 'ETIMEDOUT');
        assert.equal(error.outcome, 'unknown');
        await client.end();
      });
    });
  }
});
