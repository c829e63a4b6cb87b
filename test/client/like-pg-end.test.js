'use strict';

// end() of a client, with `pg` and with this driver: what is in flight is rejected, and when the promise resolves the
// server has ended the session. Then the end of a pool, which waits for that as well.

const assert = require('node:assert/strict');
const net = require('node:net');
const pg = require('pg');
const ours = require('../..');
const { options } = require('../support/connect');
const { errorOf } = require('../support/outcomes');
const { Observer, applicationName, runProgram } = require('../support/outside');
const { listen } = require('../support/ports');
const { Proxy } = require('../support/proxy');

const COUNT = 20;

describe('end()', function () {
  this.timeout(20_000);

  /** @type {Observer} */
  let observer;
  before(async () => {
    observer = await Observer.open(options());
  });
  after(() => observer.close());

  for (const [name, driver, path] of /** @type {[string, any, string][]} */ ([
    ['pg', pg, require.resolve('pg')],
    ['pg-conduit', ours, require.resolve('../..')],
  ])) {
    describe(`of a client of ${name}`, () => {
      /** @param {Record<string, any>} [given] */
      async function connect(given) {
        const client = new driver.Client(options(given));
        await client.connect();
        return client;
      }

      it('resolves when the server has ended the session', async () => {
        const application_name = applicationName();
        const clients = await Promise.all(
          Array.from({ length: COUNT }, () => connect({ application_name })),
        );
        await Promise.all(clients.map((client) => client.end()));
        assert.deepEqual(await observer.backends(application_name), []);
      });

      it('rejects what is in flight', async () => {
        const client = await connect();
        const errors = Promise.all(
          ['select pg_sleep(60)', 'select 1'].map((text) => errorOf(client.query(text))),
        );
        await client.end();
        for (const { message } of await errors) assert.equal(message, 'Connection terminated');
        const { message } = await errorOf(client.query('select 1'));
        assert.equal(message, 'Client was closed and is not queryable');
        await client.end();
      });

      it('finishes what is in flight with the option pipeline', async () => {
        const client = await connect({ pipeline: true });
        const answers = [1, 2].map((i) => client.query('select $1::int as i', [i]));
        await client.end();
        const results = await Promise.all(answers);
        assert.deepEqual(
          results.map(({ rows }) => rows[0].i),
          [1, 2],
        );
      });

      for (const text of [
        'client.connect(); client.end();',
        'client.connect(); client.end().then(() => client.end());',
        'client.end().then(() => client.end());',
      ]) {
        it(`lets a process exit quietly that does not wait: ${text}`, async () => {
          const program = `const { Client } = require(${JSON.stringify(path)});
            const client = new Client(${JSON.stringify(options())}); ${text}`;
          const { code, stderr } = await runProgram(process.execPath, ['-e', program]);
          assert.deepEqual({ code, stderr }, { code: 0, stderr: '' });
        });
      }
    });
  }

  it('of a client that waits for what it is connected to still rejects connect()', async () => {
    const client = new ours.Client(options());
    const connected = errorOf(client.connect());
    await client.end();
    assert.equal((await connected).message, 'Connection terminated');
  });

  it('of a pool resolves when the server has ended the sessions', async () => {
    const application_name = applicationName();
    const pool = new ours.Pool(options({ application_name, max: COUNT, multiplex: 'off' }));
    const clients = await Promise.all(Array.from({ length: COUNT }, () => pool.connect()));
    for (const client of clients) client.release();
    await pool.end();
    assert.deepEqual(await observer.backends(application_name), []);
  });

  it('does not wait for ever for a server that cannot be reached', async () => {
    const proxy = await Proxy.open();
    const client = new ours.Client(proxy.options());
    await client.connect();
    proxy.hold();
    await client.end();
    await proxy.close();
  });

  for (const multiplex of ['off', 'reads']) {
    it(`ends, while it connects, what was opened for it: multiplex ${multiplex}`, async () => {
      const sockets = new Set();
      const server = net.createServer((socket) => {
        sockets.add(socket);
        socket.on('error', () => {});
        socket.on('close', () => sockets.delete(socket));
      });
      const port = await listen(server);
      const client = new ours.Client({ host: '127.0.0.1', port, user: 'x', multiplex, ssl: false });
      const connected = errorOf(client.connect());
      await new Promise((resolve) => {
        server.once('connection', resolve);
      });
      await client.end();
      assert.equal((await connected).message, 'Connection terminated');
      server.close();
    });

    it(`has waited, when it resolves, for what was opened for a client that it ends: multiplex ${multiplex}`, async () => {
      const application_name = applicationName();
      const client = new ours.Client(options({ application_name, multiplex }));
      const connected = client.connect().catch(() => {});
      // It is connected, and what is known of the server is still to be found out.
      while ((await observer.backends(application_name)).length === 0);
      await client.end();
      await connected;
      assert.deepEqual(await observer.backends(application_name), []);
    });
  }
});
