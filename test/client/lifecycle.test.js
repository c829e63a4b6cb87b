'use strict';

// How processes, worker threads and objects end, with connections that are open, busy or
// being opened. In child processes, whose scripts are in support/fixtures/: a crash
// is then a failed test.

const assert = require('node:assert/strict');
const { once } = require('node:events');
const fs = require('node:fs');
const net = require('node:net');
const os = require('node:os');
const path = require('node:path');
const { setTimeout: delay } = require('node:timers/promises');
const nodeGypBuild = require('node-gyp-build');
const { Client, ConnectionError } = require('../..');
const { endAll, newPool, options } = require('../support/connect');
const {
  PATIENCE_MILLIS,
  Observer,
  applicationName,
  runFixture,
  until,
} = require('../support/outside');
const { IS_LONG, someOf } = require('../support/property');

const ROOT = path.join(__dirname, '..', '..');

/** Runs a fixture that must end well, without a word on stderr. */
async function run(name, args, nodeArgs) {
  const { code, signal, stdout, stderr } = await runFixture(name, { args, nodeArgs });
  assert.deepEqual({ code, signal, stderr }, { code: 0, signal: null, stderr: '' });
  return stdout.trim();
}

describe('at the end', function () {
  this.timeout(3 * PATIENCE_MILLIS);

  /** @type {Observer} */
  let observer;

  before(async () => {
    observer = await Observer.open();
  });
  after(() => observer.close());
  afterEach(endAll);

  /** @param {string} name application_name */
  const untilGone = (name) =>
    until('no backend is left', async () => !(await observer.backends(name)).length);

  describe('of a process', () => {
    for (const moment of ['connecting', 'unsent', 'sent', 'answered', 'in an exit listener']) {
      it(`process.exit() with queries in flight is clean (${moment})`, async () => {
        assert.equal(await run('exit-in-flight.js', [moment]), '');
      });
    }

    it('it exits by itself after client.end()', async () => {
      assert.equal(await run('ends-by-itself.js', ['ended']), 'done');
    });

    it('it exits by itself after client.unref()', async () => {
      assert.equal(await run('ends-by-itself.js', ['unref']), 'done');
    });

    for (const module of ['pg', '../../..']) {
      it(`it does not exit while the connection of an unreferenced client is open, as with pg (${module})`, async () => {
        const name = applicationName();
        const child = runFixture('forgotten.js', {
          args: [module, name],
          nodeArgs: ['--expose-gc'],
        });
        await until('it was forgotten', async () => {
          const [row] = await observer.ask(
            "select query from pg_stat_activity where application_name = $1 and state = 'idle'",
            [name],
          );
          return row?.query === "select 'forgotten'";
        });
        // Some collections long.
        await delay(1500);
        const [pid] = await observer.backends(name);
        assert.notEqual(pid, undefined);
        const locks = await observer.ask(
          "select 1 from pg_locks where locktype = 'advisory' and pid = $1",
          [pid],
        );
        assert.equal(locks.length, 1);
        await observer.terminate(pid);
        const { code, stdout } = await child;
        assert.deepEqual({ code, stdout }, { code: 0, stdout: '57P01\n' });
      });
    }

    it('it exits by itself if a client was never connected', async () => {
      assert.equal(await run('ends-by-itself.js', ['unused']), 'done');
    });

    it("lost connections without an 'error' listener do not end it", async () => {
      assert.equal(await run('no-error-listeners.js', []), 'unknown');
    });
  });

  describe('of worker threads', () => {
    it('four of them run 1,000 queries each', async () => {
      const name = applicationName();
      assert.equal(await run('workers.js', ['together', name]), '[1000,1000,1000,1000]');
      await untilGone(name);
    });

    it('the main thread continues with its own pool', async () => {
      const name = applicationName();
      assert.equal(await run('workers.js', ['with main', name]), '[1100,1000]');
      await untilGone(name);
    });

    it('those terminated at any moment leave no backend, and the process continues', async () => {
      const name = applicationName();
      const count = IS_LONG ? 20 : 4;
      const answers = await run('workers.js', ['terminated', name, String(count)]);
      assert.equal(answers, String(50 * count));
      await untilGone(name);
    });

    for (const what of ['unread commands', 'unread answers']) {
      it(`those terminated while JavaScript runs, with ${what}, do not disturb others`, async () => {
        const name = applicationName();
        assert.equal(await run('workers.js', [what, name]), '150');
        await untilGone(name);
      });
    }

    it('those that end while they connect leave no backend', async () => {
      const name = applicationName();
      const codes = JSON.parse(await run('workers.js', ['while connecting', name]));
      assert.deepEqual(codes, [0, 0, 0, 1, 1, 1, 1, 1, 1]);
      await untilGone(name);
    });
  });

  describe('of clients without references', () => {
    const SCENARIOS = [
      ['an idle one keeps its connection, and the locks of its session', 'idle', '3 open, 3 locks'],
      ['a busy one settles its queries', 'busy', 'answered,answered,answered, 3 open'],
      ['a closed one is collected, however it was closed', 'ended', 'collected'],
      ['a connecting one still connects', 'connecting', 'connected'],
      ['a listening one is kept', 'listening', 'heard,heard,heard'],
      [
        'an ended one is not kept by its errors',
        'with errors kept',
        Array(3).fill('22012,ERR_PG_CONDUIT_PARAMETER').join(),
      ],
      [
        'a stream or cursor abandoned in the middle of its rows keeps no connection',
        'in the middle of rows',
        '1',
      ],
      ['a stream that is being read is kept', 'while somebody reads', '2000'],
      [
        'those of an unreferenced pool are closed, and the pool is collected',
        'of a pool',
        'closed',
      ],
    ];
    for (const [what, scenario, outcome] of someOf(SCENARIOS)) {
      it(what, async () => {
        const name = applicationName();
        assert.equal(await run('collected.js', [scenario, name], ['--expose-gc']), outcome);
        await untilGone(name);
      });
    }
  });

  describe('of a query', () => {
    const KINDS = ['rows', 'errors', 'names of columns', 'notices', 'notifications'];
    for (const what of someOf(KINDS, 3)) {
      it(`${what} that are kept do not keep the large row that came with them`, async () => {
        const { each, row } = JSON.parse(await run('kept.js', [what], ['--expose-gc']));
        // Itself, and the chunk of text that it stands in: 8 KiB.
        assert.ok(each < row / 4, `${each} bytes for each`);
      });
    }
  });

  if (process.platform === 'linux') {
    it('no file descriptor is left of 100 connections', async () => {
      const { before, after } = JSON.parse(await run('descriptors.js', []));
      assert.equal(after, before);
    });
  }

  it('the driver may have been loaded more than once in a thread', async () => {
    const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'conduit-copy-'));
    try {
      const addon = path.relative(ROOT, nodeGypBuild.path(ROOT));
      for (const name of ['lib', 'package.json', addon]) {
        fs.cpSync(path.join(ROOT, name), path.join(folder, name), { recursive: true });
      }
      fs.symlinkSync(path.join(ROOT, 'node_modules'), path.join(folder, 'node_modules'));
      assert.equal(await run('twice.js', [folder]), '3000');
    } finally {
      fs.rmSync(folder, { recursive: true });
    }
  });

  describe('of a client', () => {
    it('end() aborts a connection attempt', async () => {
      const name = applicationName();
      for (let i = 0; i < 10; ++i) {
        const client = new Client(options({ application_name: name }));
        const connected = client.connect();
        const query = client.query('select 1');
        const outcomes = Promise.allSettled([connected, query]);
        for (let turns = 0; turns < i; ++turns) await new Promise(setImmediate);
        await client.end();
        // It may just have been made, and the query sent.
        const [{ status: connecting }] = await outcomes;
        const expected = connecting === 'rejected' ? ['not-run'] : ['not-run', 'unknown'];
        for (const { status, reason } of await outcomes) {
          if (status === 'rejected') {
            assert.ok(reason instanceof ConnectionError, String(reason));
            assert.ok(expected.includes(reason.outcome), reason.outcome);
          } else assert.ok(i > 0);
        }
        await assert.rejects(client.query('select 1'), ConnectionError);
      }
      await untilGone(name);
    });

    it('end() aborts the connection to a server that accepts but does not answer', async () => {
      const server = net.createServer();
      server.listen(0, '127.0.0.1');
      await once(server, 'listening');
      try {
        const { port } = server.address();
        const client = new Client({ host: '127.0.0.1', port, sslmode: 'disable' });
        const rejected = assert.rejects(client.connect(), ConnectionError);
        const [socket] = await once(server, 'connection');
        socket.resume();
        const closed = once(socket, 'close');
        await client.end();
        await rejected;
        await closed;
      } finally {
        server.close();
      }
    });

    it('end() finishes what is in flight with the option pipeline, and can be called again', async () => {
      const client = new Client(options({ pipeline: true }));
      await client.connect();
      const queries = Array.from({ length: 100 }, (_, i) =>
        client.query('select $1::int as i', [i]).then(({ rows }) => rows[0].i),
      );
      await Promise.all([client.end(), client.end()]);
      assert.deepEqual(
        await Promise.all(queries),
        Array.from({ length: 100 }, (_, i) => i),
      );
      await client.end();
      await assert.rejects(client.query('select 1'), ConnectionError);
    });

    it('end() before connect() leaves nothing', async () => {
      const client = new Client(options());
      await client.end();
      await assert.rejects(client.query('select 1'), ConnectionError);
    });

    it('pools that are opened and ended leave no backends', async () => {
      const name = applicationName();
      for (let i = 0; i < 10; ++i) {
        const pool = newPool({ application_name: name, max: 5 });
        const queries = Array.from({ length: 5 }, () => pool.query('select pg_sleep(0.01)'));
        await pool.end();
        await Promise.all(queries);
      }
      await untilGone(name);
    });
  });
});
