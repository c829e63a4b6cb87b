'use strict';

// How connecting fails, and what the error says of it; passwords, which no error and no inspected
// object shows. The latter on a server of its own, which asks for them.

const assert = require('node:assert/strict');
const { execFile } = require('node:child_process');
const fs = require('node:fs');
const net = require('node:net');
const os = require('node:os');
const path = require('node:path');
const { inspect, promisify } = require('node:util');
const { Client, ConduitError, ConnectionError, DatabaseError } = require('../..');
const { startDatabase } = require('../../scripts/database');
const { connectionString, options } = require('../support/connect');
const { connectError, errorOf } = require('../support/outcomes');
const { withEnvironment } = require('../support/process');
const { deadPort, listen } = require('../support/ports');

describe('Client', () => {
  describe('when it cannot connect', () => {
    it('says that no server listens on the port: ECONNREFUSED', async () => {
      const port = await deadPort();
      for (const host of ['127.0.0.1', 'localhost']) {
        const error = await connectError({ host, port, user: 'nobody' });
        assert.ok(error instanceof ConnectionError);
        assert.equal(error.code, 'ECONNREFUSED');
        assert.equal(error.syscall, 'connect');
        assert.equal(error.errno, -os.constants.errno.ECONNREFUSED);
        assert.equal(error.outcome, 'not-run');
        assert.ok(error.message.includes(String(port)));
      }
    });

    it('says that the host is empty, as from a variable that is not set', async () => {
      const port = await deadPort();
      const given = { connectionString: undefined, port, user: 'nobody' };
      await withEnvironment({ PGHOST: undefined, PGHOSTADDR: undefined }, async () => {
        const error = await connectError(given);
        assert.equal(error.code, 'ECONNREFUSED');
        assert.match(error.hint, /no host was given.*connectionString/);
      });
      for (const named of [{ host: 'localhost' }, { hostaddr: '127.0.0.1' }]) {
        assert.equal((await connectError({ ...given, ...named })).hint, undefined);
      }
      await withEnvironment({ PGHOST: 'localhost' }, async () => {
        assert.equal((await connectError(given)).hint, undefined);
      });
    });

    it('says that the Unix socket does not exist: ENOENT', async () => {
      const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'conduit-'));
      try {
        const error = await connectError({ host: folder, port: 5432, user: 'nobody' });
        assert.ok(error instanceof ConnectionError);
        assert.equal(error.code, 'ENOENT');
        assert.equal(error.syscall, 'connect');
      } finally {
        fs.rmdirSync(folder);
      }
    });

    it('says that the host does not exist: ENOTFOUND', async () => {
      // A name with a space is in no zone, so that nobody is asked for it.
      const error = await connectError({ host: 'no such host', user: 'nobody' });
      assert.ok(error instanceof ConnectionError);
      assert.equal(error.code, 'ENOTFOUND');
      assert.match(error.message, /no such host/);
      assert.equal(error.cause?.syscall, 'getaddrinfo');
    });

    it('says that the database does not exist: 3D000', async () => {
      const client = new Client(connectionString());
      const { host, port, user } = client;
      await client.end();
      const error = await connectError({ host, port, user, database: 'no_such_database' });
      assert.ok(error instanceof DatabaseError, String(error));
      assert.equal(error.code, '3D000');
      assert.equal(error.severity, 'FATAL');
      assert.match(error.message, /no_such_database/);
    });

    it('passes on the error of the server about its options', async () => {
      const error = await connectError(options({ options: '-c no_such_setting=1' }));
      assert.ok(error instanceof DatabaseError, String(error));
      assert.equal(error.code, '42704');
    });

    it('tries each of several hosts', async () => {
      const { host, port, user, database } = new Client(connectionString());
      const client = new Client({
        host: `127.0.0.1,${host}`,
        port: `${await deadPort()},${port}`,
        user,
        database,
      });
      await client.connect();
      assert.deepEqual((await client.query('select 1 as one')).rows, [{ one: 1 }]);
      await client.end();
    });

    it('rejects after connectionTimeoutMillis: ETIMEDOUT, and leaves nothing open', async () => {
      const sockets = new Set();
      const server = net.createServer((socket) => {
        sockets.add(socket);
        socket.on('error', () => {});
      });
      const port = await listen(server);
      try {
        const config = {
          host: '127.0.0.1',
          port,
          user: 'x',
          connectionTimeoutMillis: 50,
        };
        const error = await connectError(config);
        assert.ok(error instanceof ConnectionError);
        assert.equal(error.code, 'ETIMEDOUT');
        assert.equal(error.message, 'timeout expired');
        assert.match(error.detail, /50 ms/);
        // A process that has nothing else to do ends.
        const script = `const { Client } = require(${JSON.stringify(require.resolve('../..'))});
          const client = new Client(${JSON.stringify(config)});
          client.connect().catch((error) => console.log(error.code));
          client.query('select 1').catch((error) => console.log(error.code));`;
        const { stdout } = await promisify(execFile)(process.execPath, ['-e', script]);
        assert.equal(stdout, 'ETIMEDOUT\nETIMEDOUT\n');
      } finally {
        for (const socket of sockets) socket.destroy();
        server.close();
      }
    });

    it('says that the other side is not a PostgreSQL server', async () => {
      const server = net.createServer((socket) => {
        socket.on('error', () => {});
        socket.end('HTTP/1.1 400 Bad Request\r\n\r\n');
      });
      const port = await listen(server);
      try {
        const error = await connectError({
          host: '127.0.0.1',
          port,
          user: 'x',
        });
        assert.ok(error instanceof ConnectionError);
        assert.ok(error.message.length > 0);
      } finally {
        server.close();
      }
    });
  });

  describe('with a password', () => {
    const SECRET = 'geheim é "\\\' %/@:?#';
    /** @type {Awaited<ReturnType<typeof startDatabase>>} */
    let database;
    let target;

    before(async () => {
      database = await startDatabase({
        own: true,
        listen: true,
        hba: 'local all all trust\nhost all all all scram-sha-256',
        settings: { log_min_messages: 'fatal' },
      });
      const { port, database: name } = database.config;
      target = { host: '127.0.0.1', port, user: 'alice', database: name };
      const admin = new Client({
        host: database.socketDirectory,
        port,
        user: 'postgres',
        database: name,
      });
      await admin.connect();
      await admin.query("set password_encryption to 'scram-sha-256'");
      await admin.query(`create role alice login password ${admin.escapeLiteral(SECRET)}`);
      await admin.query('create role bob login');
      await admin.end();
    });
    after(() => database?.stop());

    async function whoAmI(config) {
      const client = new Client(config);
      await client.connect();
      try {
        return (await client.query('select current_user as name')).rows[0].name;
      } finally {
        await client.end();
      }
    }

    it('connects with an option, a URL, a function or an async function', async () => {
      assert.equal(await whoAmI({ ...target, password: SECRET }), 'alice');
      const { host, port, database: name } = target;
      const url = `postgresql://alice:${encodeURIComponent(SECRET)}@${host}:${port}/${name}`;
      assert.equal(await whoAmI(url), 'alice');
      assert.equal(await whoAmI({ connectionString: url }), 'alice');
      assert.equal(await whoAmI({ ...target, password: () => SECRET }), 'alice');
      const later = async () => {
        await new Promise((resolve) => {
          setImmediate(resolve);
        });
        return SECRET;
      };
      assert.equal(await whoAmI({ ...target, password: later }), 'alice');
    });

    it('that is not encoded in a URL connects if that is unambiguous, and else says how to write it', async () => {
      const { host, port, database: name } = target;
      const urlWith = (password) => `postgresql://carol:${password}@${host}:${port}/${name}`;
      const admin = new Client({ ...target, host: database.socketDirectory, user: 'postgres' });
      await admin.connect();
      await admin.query('create role carol login');
      for (const [password, isReadable] of [
        ['p@ss', true],
        ['@p@', true],
        ['p#ss', true],
        ['p?ss', true],
        ['p%ss', true],
        ['p/ss', false],
        ['p@s/s', false],
        ['p#s@s', false],
      ]) {
        await admin.query(`alter role carol password ${admin.escapeLiteral(password)}`);
        if (isReadable) {
          assert.equal(await whoAmI(urlWith(password)), 'carol', password);
        } else {
          const error = await connectError(urlWith(password));
          assert.equal(error.code, 'ERR_PG_CONDUIT_OPTION', password);
          assert.match(error.message, /^option "connectionString" cannot be read: /);
          assert.match(error.message, /encodeURIComponent\(password\)/);
          assert.ok(!inspect(error).includes(password));
        }
        assert.equal(await whoAmI(urlWith(encodeURIComponent(password))), 'carol', password);
      }
      // What is read as encoded, and was not meant so, is a wrong password to the server.
      await admin.query("alter role carol password 'p%41ss'");
      const error = await connectError(urlWith('p%41ss'));
      assert.equal(error.code, '28P01');
      assert.match(error.hint, /in a URL .*encodeURIComponent\(\)/);
      await admin.end();
    });

    it('that is wrong or missing is refused by the server', async () => {
      for (const password of ['wrong', '', () => 'wrong', async () => 'wrong']) {
        const error = await connectError({ ...target, password });
        if (password === '') {
          assert.ok(error instanceof ConduitError);
          continue;
        }
        assert.ok(error instanceof DatabaseError, String(error));
        assert.equal(error.code, '28P01');
        assert.equal(error.severity, 'FATAL');
        assert.match(error.message, /password authentication failed for user "alice"/);
        assert.equal(typeof error.hint, 'string');
      }
      const missing = await connectError(target);
      assert.ok(missing instanceof ConnectionError);
      assert.equal(missing.message, 'no password supplied, and the server asks for one');
      assert.match(missing.hint, /connection string.*PGPASSWORD/);
      assert.match(missing.detail, /fe_sendauth: no password supplied/);
      assert.equal((await connectError({ ...target, user: 'bob', password: 'x' })).code, '28P01');
    });

    it('whose function fails rejects connect() with that error', async () => {
      const failure = new RangeError('vault closed');
      for (const password of [
        () => {
          throw failure;
        },
        () => Promise.reject(failure),
      ]) {
        assert.equal(await connectError({ ...target, password }), failure);
      }
      for (const value of [5, {}, ['x']]) {
        const error = await connectError({ ...target, password: () => value });
        assert.ok(error instanceof ConnectionError);
        assert.equal(error.message, 'Password must be a string');
      }
    });

    it('calls its function once for each connection', async () => {
      let asked = 0;
      const password = async () => {
        ++asked;
        return SECRET;
      };
      for (let connections = 1; connections <= 3; ++connections) {
        assert.equal(await whoAmI({ ...target, password }), 'alice');
        assert.equal(asked, connections);
      }
    });

    it('does not show it in errors and inspected clients', async () => {
      const secret = 'hunter2';
      const port = await deadPort();
      const { host, database: name } = target;
      const configs = [
        { ...target, password: secret },
        { ...target, password: async () => secret },
        `postgresql://alice:${secret}@${host}:${target.port}/${name}`,
        // Nobody listens.
        { host, port, user: 'alice', password: secret },
        `postgresql://alice:${secret}@${host}:${port}/${name}`,
        `host=${host} port=${port} user=alice password=${secret}`,
        // Written wrongly.
        `postgresql://alice:${secret}%zz@${host}/${name}`,
        `postgresql://alice:50%${secret}@${host}/${name}`,
        `postgresql://alice:${secret}/x@${host}/${name}`,
        `postgresql://alice:x/${secret}@${host}:${port}/${name}`,
        `postgresql://alice:${secret}@${host}:port/${name}`,
        `postgresql://alice:${secret}@[::1/${name}`,
        `postgresql://alice:${secret}@${host}/${name}?nope=1`,
        `postgresql://${host}:${port}/${name}?user=alice&password=${secret}&nope=1`,
        `postgresql://${host}:${port}/${name}?user=alice&password=${secret}%zz`,
        `alice:${secret}@${host}/${name}`,
        `http://alice:${secret}@${host}/${name}`,
        `host=${host} user=alice password=very ${secret}`,
        `host=${host} user=alice password='${secret}`,
        `host=${host} user=alice passwd=${secret}`,
        `host=${host} password=${secret} port=x user=alice`,
        `password=${secret} nonsense`,
        // Of the wrong type.
        { ...target, password: [secret] },
        { ...target, password: { secret, toString: () => secret } },
        { ...target, password: `${secret}\0` },
        { ...target, sslpassword: `${secret}\0` },
        { connectionString: new URL(`postgresql://alice:${secret}@${host}/${name}`) },
        { connectionString: `postgresql://alice:${secret}\0@${host}/${name}` },
        { connectionString: [`postgresql://alice:${secret}@${host}/${name}`] },
        { ...target, passwordd: secret },
        { ...target, password: () => ({ secret, toString: () => secret }) },
      ];
      const leaks = [];
      for (const config of configs) {
        const client = new Client(config);
        const errors = [await errorOf(client.connect()), await errorOf(client.query('select 1'))];
        await client.end();
        const leak = [...errors, client, { ...client }]
          .map((shown) => inspect(shown, { depth: 10, showHidden: true }))
          .find((text) => text.includes(secret));
        if (leak !== undefined) leaks.push(leak.split('\n')[0]);
      }
      assert.deepEqual(leaks, []);
    });
  });
});
