'use strict';

// The option `stream`, sockets that are not libpq's: on a client of `pg` and on one of ours, in the clear and with TLS over
// it, and what only Node.js can do with `ssl`.

const assert = require('node:assert/strict');
const cluster = require('node:cluster');
const { randomBytes } = require('node:crypto');
const { once } = require('node:events');
const fs = require('node:fs');
const net = require('node:net');
const os = require('node:os');
const { Duplex } = require('node:stream');
const { setTimeout: delay } = require('node:timers/promises');
const tls = require('node:tls');
const pg = require('pg');
const conduit = require('../..');
const { TlsServer } = require('../support/tls-server');

const DRIVERS = [pg, conduit];

/** A tunnel, as that of an ssh library: a Duplex that is no socket and is connected. */
class Tunnel extends Duplex {
  #socket;

  /** @param {net.NetConnectOpts} to */
  constructor(to) {
    super();
    this.#socket = net.connect(to);
    this.#socket.on('data', (chunk) => this.push(chunk) || this.#socket.pause());
    this.#socket.on('end', () => this.push(null));
    this.#socket.on('error', (error) => this.destroy(error));
    this.#socket.on('close', () => this.destroy());
  }

  _read() {
    this.#socket.resume();
  }

  _write(chunk, _encoding, callback) {
    this.#socket.write(chunk, callback);
  }

  _final(callback) {
    this.#socket.end(callback);
  }

  _destroy(error, callback) {
    this.#socket.destroy();
    callback(error);
  }
}

const foldersOfPumps = () =>
  fs.readdirSync(os.tmpdir()).filter((name) => name.startsWith('pg-conduit-socket-'));

describe('a socket that is not of libpq', () => {
  /** @type {TlsServer} */
  let server;
  /** @type {any[]} */
  let opened = [];
  /** @type {Record<string, any>} without TLS */
  let clear;
  /** @type {string[]} of other processes */
  let foldersBefore;

  before(async function start() {
    this.timeout(60_000);
    foldersBefore = foldersOfPumps();
    server = await TlsServer.start();
    const { config, socketDirectory } = server.database;
    clear = { ...config, host: socketDirectory, ssl: false };
  });
  after(() => server.stop());
  afterEach(async () => {
    const all = opened;
    opened = [];
    await Promise.all(all.map((one) => one.end().catch(() => {})));
    await delay(5);
    const left = foldersOfPumps().filter((name) => !foldersBefore.includes(name));
    assert.deepEqual(left, []);
  });

  /** @param {any} driver @param {Record<string, any>} given */
  async function connect(driver, given) {
    const client = new driver.Client(given);
    client.on('error', () => {});
    opened.push(client);
    await client.connect();
    return client;
  }

  it('is asked for once for each connection, connected, and used', async () => {
    for (const driver of DRIVERS) {
      const made = [];
      const stream = () => {
        made.push(new net.Socket());
        return made.at(-1);
      };
      const client = await connect(driver, { ...clear, stream });
      assert.deepEqual((await client.query('select $1::int as i', [1])).rows, [{ i: 1 }]);
      assert.equal(made.length, 1);
      await client.end();
      const pool = new driver.Pool({ ...clear, stream, max: 2 });
      opened.push(pool);
      const numbers = await Promise.all(
        Array.from({ length: 50 }, (_, i) => pool.query('select $1::int as i', [i])),
      );
      assert.deepEqual(
        numbers.map(({ rows }) => rows[0].i),
        Array.from({ length: 50 }, (_, i) => i),
      );
    }
  });

  it('may be a stream of any kind, and need not be connected by us', async () => {
    const path = `${clear.host}/.s.PGSQL.${clear.port}`;
    const client = await connect(conduit, { ...clear, stream: () => new Tunnel({ path }) });
    assert.deepEqual((await client.query('select 1 as i')).rows, [{ i: 1 }]);
    const socket = net.connect({ path });
    await once(socket, 'connect');
    const other = await connect(conduit, { ...clear, stream: socket });
    assert.deepEqual((await other.query('select 2 as i')).rows, [{ i: 2 }]);
  });

  it('carries much in both directions, and COPY', async () => {
    const path = `${clear.host}/.s.PGSQL.${clear.port}`;
    const client = await connect(conduit, { ...clear, stream: () => new Tunnel({ path }) });
    const bytes = randomBytes(8 << 20);
    const { rows } = await client.query('select $1::bytea as b', [bytes]);
    assert.ok(rows[0].b.equals(bytes));
    await client.query('create temp table t (i int)');
    const numbers = Array.from({ length: 20_000 }, (_, i) => [i]);
    assert.equal((await client.copyRows('t', ['i'], numbers)).rowCount, 20_000);
    let sum = 0;
    for await (const { i } of client.stream('select i from t')) sum += i;
    assert.equal(sum, (20_000 * 19_999) / 2);
  });

  it('stops the server while nobody reads', async () => {
    const path = `${clear.host}/.s.PGSQL.${clear.port}`;
    let read = 0;
    const stream = () => {
      const tunnel = new Tunnel({ path });
      tunnel.on('data', (chunk) => (read += chunk.length));
      return tunnel;
    };
    const client = await connect(conduit, { ...clear, stream });
    const rows = client.stream("select repeat('x', 10000) from generate_series(1, 20000)");
    await once(rows, 'readable');
    await delay(200);
    assert.ok(read < 20e6, String(read));
    rows.destroy();
  });

  it('is asked for once more to cancel', async () => {
    let made = 0;
    const stream = () => {
      ++made;
      return new net.Socket();
    };
    const client = await connect(conduit, { ...clear, stream });
    const sleeping = client.query('select pg_sleep(60)').catch(({ code }) => code);
    await delay(20);
    await client.cancel();
    assert.equal(await sleeping, '57014');
    assert.equal(made, 2);
    assert.deepEqual((await client.query('select 1 as i')).rows, [{ i: 1 }]);
  });

  it('that is one object, or given twice, never carries a second connection or a request to cancel', async () => {
    const path = `${clear.host}/.s.PGSQL.${clear.port}`;
    const tunnel = new Tunnel({ path });
    const client = await connect(conduit, { ...clear, stream: tunnel });
    for (const stream of [tunnel, () => tunnel]) {
      await assert.rejects(connect(conduit, { ...clear, stream }), {
        name: 'ConnectionError',
        message: /used/,
        hint: /function/,
      });
      assert.deepEqual((await client.query('select 1 as i')).rows, [{ i: 1 }]);
    }
    const asleep = client.query('select pg_sleep(0.3), 1 as i');
    await delay(20);
    await assert.rejects(client.cancel(), { message: /could not be asked to cancel/ });
    assert.equal((await asleep).rows[0].i, 1);
    assert.deepEqual((await client.query('select 2 as i')).rows, [{ i: 2 }]);
  });

  it('that is one object is refused by a pool', async () => {
    const path = `${clear.host}/.s.PGSQL.${clear.port}`;
    const stream = new Tunnel({ path });
    const refusal = { code: 'ERR_PG_CONDUIT_OPTION', message: /function/ };
    const pool = new conduit.Pool({ ...clear, stream });
    opened.push(pool);
    await assert.rejects(pool.query('select 1'), refusal);
    const other = new conduit.Pool(clear);
    opened.push(other);
    assert.throws(() => (other.options.stream = stream), refusal);
    other.options.stream = () => stream;
    assert.deepEqual((await other.query('select 1 as i')).rows, [{ i: 1 }]);
  });

  it('ends the session before end() resolves, however slow it is', async () => {
    class Slow extends Tunnel {
      _final(callback) {
        setTimeout(() => super._final(callback), 50);
      }
    }
    const path = `${clear.host}/.s.PGSQL.${clear.port}`;
    const stream = new Slow({ path });
    const client = await connect(conduit, { ...clear, stream });
    await client.end();
    assert.ok(stream.readableEnded);
  });

  it('that does not end is destroyed 2 s later', async () => {
    class Stuck extends Tunnel {
      isStuck = false;

      _write(chunk, encoding, callback) {
        if (!this.isStuck) super._write(chunk, encoding, callback);
      }
    }
    const path = `${clear.host}/.s.PGSQL.${clear.port}`;
    const stream = new Stuck({ path });
    const client = await connect(conduit, { ...clear, stream: () => stream });
    stream.isStuck = true;
    await client.end();
    await delay(50);
    assert.ok(stream.destroyed);
  });

  it('that was made for a request to cancel is destroyed if it gets no TLS', async () => {
    const without = net.createServer((socket) => {
      socket.on('error', () => {}).once('data', () => socket.write('N'));
    });
    without.listen(0, '127.0.0.1');
    await once(without, 'listening');
    const { port } = /** @type {net.AddressInfo} */ (without.address());
    const made = [];
    const stream = () => {
      const { host, port: first } = server.database.config;
      made.push(
        new Tunnel(made.length === 0 ? { host, port: first } : { host: '127.0.0.1', port }),
      );
      return made.at(-1);
    };
    const given = { ...server.database.config, host: 'localhost', stream };
    const client = await connect(conduit, { ...given, ssl: { ca: server.authority.cert } });
    const asleep = client.query('select pg_sleep(0.3)');
    await delay(20);
    await assert.rejects(client.cancel());
    await asleep;
    without.close();
    assert.ok(made[1].destroyed);
  });

  it('whose way to libpq cannot be opened rejects, and a failure there later ends nothing', async () => {
    const { createServer } = net;
    let local;
    net.createServer = (...args) => (local = createServer(...args));
    const fail = () => local.emit('error', Object.assign(new Error('accept'), { code: 'ENFILE' }));
    try {
      const stream = () => new net.Socket();
      await assert.rejects(connect(conduit, { ...clear, stream, password: async () => fail() }), {
        code: 'ENFILE',
      });
      const client = await connect(conduit, { ...clear, stream });
      fail();
      assert.deepEqual((await client.query('select 1 as i')).rows, [{ i: 1 }]);
    } finally {
      net.createServer = createServer;
    }
  });

  it('is a matter of a worker of node:cluster alone', async () => {
    cluster.setupPrimary({ exec: require.resolve('../support/fixtures/stream-in-cluster') });
    const worker = cluster.fork();
    const told = [];
    worker.on('listening', ({ address }) => told.push(address));
    await once(worker, 'online');
    worker.send({ ...clear });
    const [rows] = await once(worker, 'message');
    assert.deepEqual(rows, [{ i: 1 }]);
    assert.deepEqual(told, []);
    await once(worker, 'exit');
  });

  it('that cannot be connected rejects with its error', async () => {
    for (const driver of DRIVERS) {
      const given = { ...clear, host: '127.0.0.1', port: 1, stream: () => new net.Socket() };
      await assert.rejects(connect(driver, given), {
        code: 'ECONNREFUSED',
        message: 'connect ECONNREFUSED 127.0.0.1:1',
      });
    }
  });

  for (const [what, stream] of Object.entries({
    throws: () => {
      throw new Error('no tunnel today');
    },
    'gives a promise': () => Promise.resolve(),
    'gives nothing': () => {},
  })) {
    it(`rejects if the function ${what}`, async () => {
      await assert.rejects(connect(conduit, { ...clear, stream }), /no tunnel today|Duplex/);
    });
  }

  it('that fails, or closes, in the middle of a query, is a lost connection', async () => {
    for (const driver of DRIVERS) {
      for (const error of [new Error('the tunnel broke'), undefined]) {
        let socket;
        const stream = () => (socket = new net.Socket());
        const client = await connect(driver, { ...clear, stream });
        const told = new Promise((resolve) => {
          client.once('error', ({ message }) => resolve(message));
        });
        const sleeping = client.query('select pg_sleep(60)').catch(({ message }) => message);
        await delay(20);
        socket.destroy(error);
        const expected = error?.message ?? 'Connection terminated unexpectedly';
        assert.equal(await sleeping, expected);
        assert.equal(await told, expected);
      }
    }
  });

  it('that does not connect is given up in time, and destroyed', async () => {
    const made = [];
    const stream = () => {
      made.push(new Duplex({ read() {}, write: (_chunk, _encoding, done) => done() }));
      return made.at(-1);
    };
    const given = { ...clear, stream, connectionTimeoutMillis: 50 };
    await assert.rejects(connect(conduit, given), { message: 'timeout expired' });
    await delay(5);
    assert.ok(made[0].destroyed);
  });

  it('keeps the process alive only as long as its connection does', async () => {
    const given = { ...clear, stream: () => new net.Socket(), allowExitOnIdle: true };
    const pool = new conduit.Pool(given);
    opened.push(pool);
    await pool.query('select 1');
    await delay(20);
    const alive = process.getActiveResourcesInfo().filter((name) => name === 'PipeWrap');
    await pool.end();
    await delay(20);
    const after = process.getActiveResourcesInfo().filter((name) => name === 'PipeWrap');
    assert.equal(alive.length, after.length);
  });

  it('is refused for several servers, and beside what libpq would do on its own socket only', async () => {
    for (const more of [
      { host: 'a,b' },
      { service: 'somewhere' },
      { gssencmode: 'require' },
      { requirepeer: 'postgres' },
    ]) {
      const given = { ...clear, ...more, stream: () => new net.Socket() };
      await assert.rejects(connect(conduit, given), { code: 'ERR_PG_CONDUIT_OPTION' });
    }
  });

  it('is refused where a variable leads libpq past it', async () => {
    process.env.PGHOSTADDR = '127.0.0.1';
    try {
      const given = { ...clear, stream: () => new net.Socket() };
      await assert.rejects(connect(conduit, given), /PGHOSTADDR/);
    } finally {
      delete process.env.PGHOSTADDR;
    }
  });

  it('is not shared by clients that share connections', async () => {
    let made = 0;
    const stream = () => {
      ++made;
      return new net.Socket();
    };
    const given = { ...clear, stream, multiplex: 'reads' };
    const clients = [await connect(conduit, given), await connect(conduit, given)];
    await Promise.all(clients.map((client) => client.query('select 1')));
    assert.equal(made, 2);
  });

  describe('with TLS over it', () => {
    const stream = () => new net.Socket();

    it('verifies the server, as `pg` does', async () => {
      const { config } = server.database;
      const { cert: ca } = server.authority;
      for (const driver of DRIVERS) {
        const good = { ...config, host: 'localhost', stream, ssl: { ca } };
        const client = await connect(driver, good);
        const seen = 'select ssl from pg_stat_ssl where pid = pg_backend_pid()';
        assert.deepEqual((await client.query(seen)).rows, [{ ssl: true }]);
        for (const [ssl, code, host = 'localhost'] of [
          [{}, /^(SELF_SIGNED_CERT_IN_CHAIN|UNABLE_TO_VERIFY_LEAF_SIGNATURE)$/],
          [true, /^(SELF_SIGNED_CERT_IN_CHAIN|UNABLE_TO_VERIFY_LEAF_SIGNATURE)$/],
          [{ ca }, /ALTNAME/, '127.0.0.1'],
        ]) {
          await assert.rejects(connect(driver, { ...good, host, ssl }), ({ code: given }) => {
            assert.match(given, code);
            return true;
          });
        }
        const blind = await connect(driver, { ...good, ssl: { rejectUnauthorized: false } });
        assert.deepEqual((await blind.query(seen)).rows, [{ ssl: true }]);
      }
    });

    it('verifies the address if there is no name', async () => {
      const ssl = { ca: server.authority.cert };
      const { host: hostaddr, ...config } = server.database.config;
      const given = { ...config, hostaddr, stream };
      await assert.rejects(connect(conduit, { ...given, ssl }), ({ code, message }) => {
        assert.match(code, /ALTNAME/);
        assert.match(message, /127\.0\.0\.1/);
        return true;
      });
      for (const named of [
        { host: 'localhost', ssl },
        { ssl: { ...ssl, servername: 'db.test' } },
      ]) {
        const client = await connect(conduit, { ...given, ...named });
        assert.deepEqual((await client.query('select 1 as i')).rows, [{ i: 1 }]);
      }
    });

    it('is refused by a server that has none', async () => {
      const sneaky = net.createServer((socket) => {
        socket.on('error', () => {});
        socket.once('data', () => socket.write(answer));
      });
      let answer = 'N';
      sneaky.listen(0, '127.0.0.1');
      await once(sneaky, 'listening');
      const { port } = /** @type {net.AddressInfo} */ (sneaky.address());
      const given = { user: 'x', host: '127.0.0.1', port, stream, ssl: true };
      await assert.rejects(connect(conduit, given), /does not support SSL/);
      // What follows in the clear must not be read behind the handshake.
      for (answer of ['SE', 'E', 'NS']) await assert.rejects(connect(conduit, given), /SSL conn/);
      sneaky.close();
    });
  });

  describe('of Node.js, for what libpq cannot do with `ssl`:', () => {
    it('checkServerIdentity', async () => {
      for (const driver of DRIVERS) {
        const calls = [];
        const given = {
          ...server.database.config,
          ssl: {
            ca: server.authority.cert,
            checkServerIdentity: (host, { subjectaltname }) => {
              calls.push(host, subjectaltname.includes('db.test'));
            },
          },
        };
        const client = await connect(driver, given);
        assert.deepEqual(calls, ['127.0.0.1', true]);
        assert.deepEqual((await client.query('select 1 as i')).rows, [{ i: 1 }]);
        const refusing = { ...given.ssl, checkServerIdentity: () => new Error('not mine') };
        await assert.rejects(connect(driver, { ...given, ssl: refusing }), { message: 'not mine' });
        const foreign = { ...given.ssl, ca: undefined };
        await assert.rejects(connect(driver, { ...given, ssl: foreign }), { code: /SELF|VERIFY/ });
      }
    });

    it('also if it is given later, or the place is', async () => {
      const { host, port, ...config } = { ...server.database.config, max: 3 };
      const { cert: ca } = server.authority;
      for (const driver of DRIVERS) {
        const ssl = { ca, checkServerIdentity: () => undefined };
        const client = new driver.Client({ ...config, host: '127.0.0.1', port: 1, ssl });
        opened.push(client);
        Object.assign(client, { host, port });
        await client.connect();
        assert.deepEqual((await client.query('select 1 as i')).rows, [{ i: 1 }]);
        const pool = new driver.Pool({ ...config, host: 'localhost', port, ssl: { ca } });
        opened.push(pool);
        for (const message of ['not mine', 'nor mine']) {
          pool.options.ssl = { ca, checkServerIdentity: () => new Error(message) };
          await assert.rejects(pool.query('select 1'), { message });
        }
      }
    });

    it('pfx, whose passphrase a pool keeps when another option is changed', async () => {
      const passphrase = 'geheim';
      const pfx = server.authority.issue('by_certificate').pfx(passphrase);
      const ssl = { ca: server.authority.cert, pfx, passphrase };
      for (const driver of DRIVERS) {
        const given = { ...server.database.config, host: 'localhost', user: 'by_certificate' };
        const pool = new driver.Pool({ ...given, ssl });
        opened.push(pool);
        pool.options.application_name = 'late';
        assert.deepEqual((await pool.query('show application_name')).rows, [
          { application_name: 'late' },
        ]);
      }
    });

    it('pfx, by which the client is known', async () => {
      const passphrase = 'geheim';
      const pfx = server.authority.issue('by_certificate').pfx(passphrase);
      const ssl = { ca: server.authority.cert, pfx, passphrase };
      for (const driver of DRIVERS) {
        const given = { ...server.database.config, host: 'localhost', user: 'by_certificate' };
        const client = await connect(driver, { ...given, ssl });
        assert.deepEqual((await client.query('select current_user as me')).rows, [
          { me: 'by_certificate' },
        ]);
        await assert.rejects(connect(driver, { ...given, ssl: { ...ssl, passphrase: 'x' } }));
      }
    });

    it('secureContext, ciphers and requestCert', async () => {
      const ca = server.authority.cert;
      const cipher = 'ECDHE-RSA-AES256-GCM-SHA384';
      for (const driver of DRIVERS) {
        for (const ssl of [
          { secureContext: tls.createSecureContext({ ca }) },
          { ca, ciphers: cipher, maxVersion: 'TLSv1.2' },
          { ca, requestCert: true },
          // As pg-pool leaves it.
          Object.defineProperty({ ca, ciphers: cipher, maxVersion: 'TLSv1.2' }, 'key', {
            value: undefined,
            enumerable: false,
          }),
        ]) {
          const given = { ...server.database.config, host: 'localhost', ssl };
          const client = await connect(driver, given);
          const { rows } = await client.query(
            'select cipher from pg_stat_ssl where pid = pg_backend_pid()',
          );
          if (ssl.ciphers !== undefined) assert.equal(rows[0].cipher, cipher);
        }
      }
    });
  });
});
