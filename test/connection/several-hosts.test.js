'use strict';

// What libpq brings beside what pg has: several hosts, the one that will do among them, password
// files, a limit for each address. On two servers of its own, one of which only reads.

const assert = require('node:assert/strict');
const fs = require('node:fs');
const net = require('node:net');
const os = require('node:os');
const path = require('node:path');
const { Client, Pool } = require('../..');
const { startDatabase } = require('../../scripts/database');
const { withEnvironment } = require('../support/process');
const { connectError } = require('../support/outcomes');
const { until } = require('../support/outside');
const { deadPort, listen } = require('../support/ports');

describe('several hosts', function () {
  this.timeout(60_000);

  /** @type {Awaited<ReturnType<typeof startDatabase>>} */
  let writer;
  /** @type {Awaited<ReturnType<typeof startDatabase>>} */
  let reader;
  let both;

  before(async () => {
    const hba = 'local all all trust\nhost all all all scram-sha-256';
    writer = await startDatabase({ own: true, listen: true, hba });
    reader = await startDatabase({
      own: true,
      listen: true,
      hba,
      settings: { default_transaction_read_only: 'on' },
    });
    for (const { config, socketDirectory } of [writer, reader]) {
      const client = new Client({ ...config, host: socketDirectory });
      await client.connect();
      await client.query('set default_transaction_read_only = off');
      await client.query("create role alice login password 'secret'");
      await client.end();
    }
    both = {
      host: '127.0.0.1,127.0.0.1',
      port: `${reader.config.port},${writer.config.port}`,
      user: 'alice',
      password: 'secret',
      database: writer.config.database,
    };
  });

  after(async () => {
    await writer?.stop();
    await reader?.stop();
  });

  /** Which of the servers answers. */
  async function portOf(config) {
    const client = new Client(config);
    try {
      await client.connect();
      const { rows } = await client.query("select current_setting('port')::int as port");
      return rows[0].port;
    } finally {
      await client.end();
    }
  }

  it('are tried in their order', async () => {
    assert.equal(await portOf(both), reader.config.port);
    const port = `${await deadPort()},${writer.config.port}`;
    assert.equal(await portOf({ ...both, port }), writer.config.port);
    const { user, password, database } = both;
    const hosts = `127.0.0.1:${await deadPort()},127.0.0.1:${writer.config.port}`;
    const url = `postgresql://${user}:${password}@${hosts}/${database}`;
    assert.equal(await portOf(url), writer.config.port);
  });

  it('are skipped until one matches target_session_attrs', async () => {
    const expected = { 'read-write': writer, 'read-only': reader, primary: reader, any: reader };
    for (const [target, { config }] of Object.entries(expected)) {
      assert.equal(await portOf({ ...both, target_session_attrs: target }), config.port, target);
    }
    const url = `postgresql://alice:secret@127.0.0.1:${reader.config.port},127.0.0.1:${writer.config.port}/${both.database}`;
    assert.equal(await portOf(`${url}?target_session_attrs=read-write`), writer.config.port);
    const none = await connectError({ ...both, target_session_attrs: 'standby' });
    assert.match(none.message, /not in hot standby/);
    const wrong = await connectError({ ...both, target_session_attrs: 'writer' });
    assert.match(wrong.message, /invalid target_session_attrs/);
  });

  it('work for a pool that writes', async () => {
    const pool = new Pool({ ...both, target_session_attrs: 'read-write', max: 3 });
    const results = await Promise.all(
      Array.from({ length: 5 }, () => pool.query("select current_setting('port')::int as port")),
    );
    for (const { rows } of results) assert.deepEqual(rows, [{ port: writer.config.port }]);
    await pool.end();
  });

  it('are taken in random order with load_balance_hosts', async () => {
    const seen = new Set();
    // That one is not seen in so many: 2^-40.
    for (let attempt = 0; attempt < 40 && seen.size < 2; ++attempt) {
      seen.add(await portOf({ ...both, load_balance_hosts: 'random' }));
    }
    assert.deepEqual(seen, new Set([writer.config.port, reader.config.port]));
  });

  it('each have their password from the password file, unless a function returns one', async () => {
    const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'conduit-'));
    const passfile = path.join(folder, 'passwords');
    const lines = [reader, writer].map(({ config }) => `127.0.0.1:${config.port}:*:alice:secret\n`);
    fs.writeFileSync(passfile, lines.join(''), { mode: 0o600 });
    const config = { ...both, password: undefined };
    try {
      assert.equal(await portOf({ ...config, passfile }), reader.config.port);
      await withEnvironment({ PGPASSFILE: passfile }, async () => {
        assert.equal(await portOf(config), reader.config.port);
        assert.equal(await portOf({ ...config, password: () => undefined }), reader.config.port);
        assert.equal(await portOf({ ...config, password: async () => null }), reader.config.port);
        const error = await connectError({ ...config, password: () => 'wrong' });
        assert.equal(error.code, '28P01');
      });
      await withEnvironment({ PGPASSWORD: 'secret' }, async () =>
        assert.equal(await portOf(config), reader.config.port),
      );
    } finally {
      fs.rmSync(folder, { recursive: true });
    }
  });

  it('that do not answer are skipped after connect_timeout', async () => {
    const silent = net.createServer((socket) => socket.on('error', () => {}));
    const port = await listen(silent);
    const config = { host: '127.0.0.1', port, user: 'x' };
    try {
      for (const given of [{ connect_timeout: 1 }, { connect_timeout: '1' }]) {
        const error = await connectError({ ...config, ...given });
        assert.deepEqual([error.message, error.code], ['timeout expired', 'ETIMEDOUT']);
        assert.match(error.detail, /1000 ms \(connect_timeout\)/);
      }
      await withEnvironment({ PGCONNECT_TIMEOUT: '1' }, async () => {
        const error = await connectError({ ...config, host: '127.0.0.1,127.0.0.1' });
        assert.match(error.detail, /2000 ms \(connect_timeout\)/);
      });
    } finally {
      silent.close();
    }
  });

  describe('of which one accepts connections and stays mute', () => {
    /** @type {net.Server} */
    let mute;
    /** @type {Set<net.Socket>} */
    let sockets;
    let contacts;
    let config;
    beforeEach(async () => {
      contacts = 0;
      sockets = new Set();
      mute = net.createServer((socket) => {
        ++contacts;
        sockets.add(socket.on('error', () => {}));
      });
      const port = `${await listen(mute)},${writer.config.port}`;
      config = { ...both, port, target_session_attrs: 'read-write' };
    });
    afterEach(() => {
      for (const socket of sockets) socket.destroy();
      mute.close();
    });

    for (const [name, given] of Object.entries({
      'after connect_timeout': { connect_timeout: 1 },
      'after its share of connectionTimeoutMillis': { connectionTimeoutMillis: 3000 },
    })) {
      it(`go on to the next one ${name}, and try that one last from then on`, async () => {
        assert.equal(await portOf({ ...config, ...given }), writer.config.port);
        assert.equal(contacts, 1);
        for (let i = 0; i < 3; ++i) {
          assert.equal(await portOf({ ...config, ...given }), writer.config.port);
        }
        assert.equal(contacts, 1);
      });
    }

    it('and none of the others will do, say why of each', async () => {
      const port = `${config.port.split(',')[0]},${await deadPort()}`;
      const error = await connectError({ ...config, port, connect_timeout: 1 });
      assert.match(
        error.message,
        /connect ETIMEDOUT 127.0.0.1:\d+, connect ECONNREFUSED 127.0.0.1:/,
      );
      assert.equal(error.code, 'ETIMEDOUT');
      assert.equal(error.errors.length, 2);
    });

    it('serve a pool, whose further connections do not wait for it', async () => {
      const pool = new Pool({ ...config, connect_timeout: 1, max: 4 });
      const ports = await Promise.all(
        Array.from({ length: 8 }, () =>
          pool.query("select current_setting('port')::int as port, pg_sleep(0.05)"),
        ),
      );
      for (const { rows } of ports) assert.equal(rows[0].port, writer.config.port);
      await pool.end();
    });

    it('are left alone once the client is ended', async () => {
      const client = new Client({ ...config, connect_timeout: 1 });
      const connected = client.connect().catch((error) => error);
      await until('it was contacted', () => contacts === 1);
      await client.end();
      assert.match((await connected).message, /Connection terminated/);
      const observer = new Client({
        ...writer.config,
        host: writer.socketDirectory,
      });
      await observer.connect();
      const { rows } = await observer.query(
        "select count(*)::int as n from pg_stat_activity where usename = 'alice'",
      );
      await observer.end();
      assert.equal(rows[0].n, 0);
    });
  });

  it('are not asked further when one refuses the password, as by libpq', async () => {
    const error = await connectError({ ...both, password: 'wrong' });
    assert.equal(error.code, '28P01');
  });

  it('go on to the next one when one closes the connection at once', async () => {
    const closing = net.createServer((socket) => socket.on('error', () => {}).destroy());
    try {
      const port = `${await listen(closing)},${writer.config.port}`;
      assert.equal(await portOf({ ...both, port }), writer.config.port);
    } finally {
      closing.close();
    }
  });

  it('are taken in a second pass if none is a standby: prefer-standby', async () => {
    const config = { ...both, target_session_attrs: 'prefer-standby' };
    assert.equal(await portOf(config), reader.config.port);
    const port = `${await deadPort()},${writer.config.port}`;
    assert.equal(await portOf({ ...config, port }), writer.config.port);
    const wrong = await connectError({ ...config, password: 'wrong' });
    assert.equal(wrong.code, '28P01');
  });
});
