'use strict';

// The same failures with pg and with this driver: the properties of errors that libraries read (message, name, code,
// errno, syscall, the fields of the server's errors) are the same. Where they are not, the case has our
// value.

const assert = require('node:assert/strict');
const { once } = require('node:events');
const fs = require('node:fs');
const net = require('node:net');
const os = require('node:os');
const path = require('node:path');
const pg = require('pg');
const ours = require('../..');
const { startDatabase } = require('../../scripts/database');
const { cannotRun } = require('../support/cannot-run');
const { connectionString, options, resetSchema } = require('../support/connect');
const { called, errorOf } = require('../support/outcomes');
const { deadPort, listen } = require('../support/ports');

const SYSTEM = ['message', 'code', 'errno', 'syscall', 'address', 'port', 'hostname'];
const SERVER = [
  ...['message', 'name', 'length', 'severity', 'code', 'detail', 'hint', 'position'],
  ...['internalPosition', 'internalQuery', 'where', 'schema', 'table', 'column', 'dataType'],
  ...['constraint', 'file', 'line', 'routine'],
];

/** @param {any} error @param {string[]} names */
function pick(error, names) {
  assert.ok(error instanceof Error, String(error));
  return Object.fromEntries(names.map((name) => [name, error[name]]));
}

/**
 * @param {(driver: any) => Promise<any>} run what gives the error
 * @param {string[]} names of the properties that are compared
 * @param {Record<string, any>} [other] what is ours alone; where pg has something, null
 */
async function assertSame(run, names, other = {}) {
  const expected = pick(await run(pg), names);
  const actual = pick(await run(ours), names);
  for (const [name, value] of Object.entries(other)) {
    assert.notEqual(expected[name], actual[name], `${name} is the same by now`);
    assert.equal(actual[name], value);
  }
  assert.deepEqual({ ...actual, ...other }, { ...expected, ...other });
}

/** @param {string} address @returns {boolean} whether it is one of this machine */
function hasAddress(address) {
  const addresses = Object.values(os.networkInterfaces()).flat();
  return addresses.some((one) => one.address === address);
}

/** @param {any} driver @param {Record<string, any>} config */
async function connectError(driver, config) {
  const client = new driver.Client(config);
  client.on('error', () => {});
  const error = await errorOf(client.connect());
  await client.end();
  return error;
}

/** @param {any} driver @param {(client: any) => Promise<any>} use @param {Record<string, any>} [given] */
async function withClient(driver, use, given) {
  const client = new driver.Client(options(given));
  client.on('error', () => {});
  await client.connect();
  try {
    return await use(client);
  } finally {
    await client.end();
  }
}

/** @param {any} driver @param {Record<string, any>} config @param {(pool: any) => Promise<any>} use */
async function withPool(driver, config, use) {
  const pool = new driver.Pool(config);
  pool.on('error', () => {});
  try {
    return await use(pool);
  } finally {
    await pool.end().catch(() => {});
  }
}

/**
 * @param {(socket: net.Socket) => void} serve
 * @param {(target: { host: string, port: number, user: string }) => Promise<any>} use
 */
async function withServer(serve, use) {
  const sockets = new Set();
  const server = net.createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => {});
    serve(socket);
  });
  const port = await listen(server);
  try {
    return await use({ host: '127.0.0.1', port, user: 'x' });
  } finally {
    for (const socket of sockets) socket.destroy();
    server.close();
  }
}

/** Ends the backend of a client by the server's own means. */
async function terminate(pid) {
  await withClient(pg, (client) => client.query('select pg_terminate_backend($1)', [pid]));
}

describe('an error is the same as in pg', () => {
  before(resetSchema);

  describe('when a client cannot connect', () => {
    for (const host of ['127.0.0.1', '::1']) {
      it(`since nothing listens at ${host}`, async function () {
        if (host === '::1' && !hasAddress(host)) cannotRun(this, 'this machine has no IPv6');
        const port = await deadPort();
        await assertSame((driver) => connectError(driver, { host, port, user: 'x' }), SYSTEM);
      });
    }

    it('since there is no socket', async () => {
      const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'conduit-'));
      await assertSame(
        (driver) => connectError(driver, { host: folder, port: 5432, user: 'x' }),
        SYSTEM,
      );
      fs.rmdirSync(folder);
    });

    it('since there is no such host', () =>
      assertSame((driver) => connectError(driver, { host: 'no such host', user: 'x' }), SYSTEM));

    it('since none of several addresses answers, with the error of each', async () => {
      const port = await deadPort();
      const config = { host: '127.0.0.1,127.0.0.2', port, user: 'x' };
      const error = await connectError(ours, config);
      assert.deepEqual(
        error.errors.map(({ message }) => message),
        [`connect ECONNREFUSED 127.0.0.1:${port}`, `connect ECONNREFUSED 127.0.0.2:${port}`],
      );
      assert.equal(error.message, error.errors.map(({ message }) => message).join(', '));
      assert.deepEqual([error.code, error.syscall], ['ECONNREFUSED', 'connect']);
    });

    it('in time', () =>
      withServer(
        () => {},
        (target) =>
          assertSame(
            (driver) => connectError(driver, { ...target, connectionTimeoutMillis: 50 }),
            SYSTEM,
            { code: 'ETIMEDOUT', syscall: 'connect' },
          ),
      ));

    it('since the server closes the connection', () =>
      withServer(
        (socket) => socket.once('data', () => socket.end()),
        (target) =>
          assertSame((driver) => connectError(driver, target), SYSTEM, { code: 'ECONNRESET' }),
      ));

    it('since the server resets the connection', () =>
      withServer(
        (socket) => socket.once('data', () => socket.resetAndDestroy()),
        // libpq says of both the same.
        (target) =>
          assertSame((driver) => connectError(driver, target), SYSTEM, {
            message: 'Connection terminated unexpectedly',
            errno: undefined,
            syscall: undefined,
          }),
      ));

    it('with TLS, since the server has none', () =>
      withServer(
        (socket) => socket.once('data', () => socket.end('N')),
        (target) =>
          assertSame(
            (driver) => connectError(driver, { ...target, ssl: { rejectUnauthorized: false } }),
            SYSTEM,
            { code: 'ERR_PG_CONDUIT_TLS' },
          ),
      ));

    it('since the server refuses the database or a setting', async () => {
      // What libpq does not pass on of it is the length.
      const names = SERVER.filter((name) => name !== 'length');
      const { host, port, user, database } = new ours.Client(connectionString());
      const config = { host, port, user, database };
      await assertSame(
        (driver) => connectError(driver, { ...config, database: 'no such database' }),
        names,
        { hint: 'check the name of the database, or create it with createdb' },
      );
      await assertSame(
        (driver) => connectError(driver, { ...config, options: '-c no_such_setting=1' }),
        names,
      );
    });

    it('since the password is wrong or missing', async function () {
      this.timeout(60_000);
      const database = await startDatabase({
        own: true,
        listen: true,
        hba: 'local all all trust\nhost all all all scram-sha-256',
      });
      try {
        const config = { ...database.config, password: 'wrong' };
        const hint =
          'check user and password; in a URL write the password as encodeURIComponent() gives it';
        await assertSame(
          (driver) => connectError(driver, config),
          SERVER.filter((name) => name !== 'length'),
          { hint },
        );
        await assertSame(
          (driver) => connectError(driver, { ...config, password: undefined }),
          ['message'],
          { message: 'no password supplied, and the server asks for one' },
        );
        const failure = new RangeError('vault closed');
        await assertSame(
          (driver) => connectError(driver, { ...config, password: () => Promise.reject(failure) }),
          ['name', 'message', 'code'],
        );
        await assertSame(
          (driver) => connectError(driver, { ...config, password: () => 5 }),
          ['message'],
        );
        // What a password function is given: the same as there.
        const seen = [];
        for (const driver of [pg, ours]) {
          await connectError(driver, {
            ...config,
            application_name: 'app',
            password: async (parameters) => {
              const { user, host, port, database: name, application_name: app, ssl } = parameters;
              seen.push({ user, host, port, name, app, ssl });
              return 'wrong';
            },
          });
        }
        assert.deepEqual(seen[1], seen[0]);
      } finally {
        await database.stop();
      }
    });
  });

  describe('for a client', () => {
    it('that is connected twice', () =>
      assertSame(
        (driver) => withClient(driver, (client) => errorOf(client.connect())),
        ['message'],
      ));

    it('that has ended', () =>
      assertSame(
        (driver) =>
          withClient(driver, async (client) => {
            await client.end();
            return errorOf(client.query('select 1'));
          }),
        ['message'],
      ));

    it('whose backend is terminated in a query', () =>
      assertSame(
        (driver) =>
          withClient(driver, async (client) => {
            const ended = new Promise((resolve) => {
              client.on('end', resolve);
            });
            const error = errorOf(client.query('select pg_terminate_backend(pg_backend_pid())'));
            await ended;
            return error;
          }),
        SERVER,
      ));

    it('whose backend is terminated while it is idle: its event, and a query after that', async () => {
      /** @type {Record<string, any>} */
      const late = {};
      await assertSame(
        (driver) =>
          withClient(driver, async (client) => {
            const told = once(client, 'error');
            await terminate(client.processID);
            const [error] = await told;
            late[driver === pg ? 'pg' : 'ours'] = await errorOf(client.query('select 1'));
            return error;
          }),
        SERVER,
      );
      assert.equal(late.ours.message, late.pg.message);
      assert.match(late.ours.message, /^Client has encountered a connection error/);
    });

    it('whose server closes the connection without an error: its query, its event, and a query behind', async () => {
      const seen = [];
      for (const driver of [pg, ours]) {
        await withServer(
          (socket) => {
            const { host, port } = new ours.Client(connectionString());
            const upstream = net.connect(
              host.startsWith('/') ? { path: `${host}/.s.PGSQL.${port}` } : { host, port },
            );
            upstream.on('error', () => {});
            upstream.pipe(socket);
            socket.on('data', (data) => {
              if (data.includes('cut here')) socket.end();
              else upstream.write(data);
            });
            socket.on('close', () => upstream.destroy());
          },
          async ({ host, port }) => {
            const { user, database } = new ours.Client(connectionString());
            const client = new driver.Client({ host, port, user, database, ssl: false });
            const told = new Promise((resolve) => {
              client.on('error', resolve);
            });
            await client.connect();
            const outcomes = await Promise.allSettled([
              client.query("select 'cut here'"),
              client.query('select 2'),
            ]);
            const errors = [...outcomes.map(({ reason }) => reason), await told];
            seen.push(errors.map(({ message }) => message));
            await client.end();
          },
        );
      }
      assert.deepEqual(seen[1], seen[0]);
      assert.deepEqual(new Set(seen[0]), new Set(['Connection terminated unexpectedly']));
    });

    it('whose query takes too long', async () => {
      for (const [given, query] of [
        [{ query_timeout: 30 }, 'select pg_sleep(0.3)'],
        [{}, { text: 'select pg_sleep(0.3)', query_timeout: 30 }],
      ]) {
        await assertSame(
          (driver) => withClient(driver, (client) => errorOf(client.query(query)), given),
          ['message'],
        );
      }
    });

    it('whose query has wrong arguments', async () => {
      const cases = [
        (client) => client.query({}),
        (client) => client.query({ text: 5 }),
        (client) => client.query('select $1', { not: 'a list' }),
        (client) => client.query(null),
        (client) => client.query('select 1', [], 'no callback'),
        async (client) => {
          await client.query({ name: 'one', text: 'select 1' });
          await client.query({ name: 'one', text: 'select 2' });
        },
        // In pg that is the server's: the text was sent.
        (client) => client.query({ text: 'select 1; select 2', queryMode: 'extended' }),
      ];
      for (const run of cases) {
        await assertSame(
          (driver) => withClient(driver, async (client) => errorOf((async () => run(client))())),
          ['message'],
        );
      }
    });

    it('whose query has a callback', () =>
      assertSame(
        (driver) =>
          withClient(driver, async (client) => {
            const [error, ...rest] = await called((callback) => client.query('selec', callback));
            assert.deepEqual(rest, []);
            return error;
          }),
        SERVER,
      ));
  });

  describe('from the server', () => {
    const TEXTS = [
      'selec 1',
      'select no_such_column',
      'select * from no_such_table',
      'select 1 / 0',
      "select 'x'::int",
      'select no_such_function(1)',
      "select '{'::json",
      "do $$ begin raise exception 'é %', 1 using detail = 'd', hint = 'h', errcode = 'UX001', \
column = 'c', constraint = 'k', datatype = 't', table = 'ta', schema = 's'; end $$",
      'insert into guarded values (1, 1), (1, 1)',
      'insert into guarded values (null, 1)',
      'insert into guarded values (1, -1)',
      'insert into guarded values (1, 1); insert into guarded values (1, 1)',
      "select '2020-13-01'::date",
      'create table guarded (n int)',
      'set statement_timeout = 10; select pg_sleep(10)',
      'vacuum no_such_table',
      '(',
      "select 'unended",
    ];

    before(() =>
      withClient(ours, (client) =>
        client.query('create table guarded (n int primary key, m int check (m > 0))'),
      ),
    );

    for (const text of TEXTS) {
      it(`for ${text}`, () =>
        assertSame(
          (driver) => withClient(driver, (client) => errorOf(client.query(text))),
          SERVER,
        ));
    }

    it('for queries with values', async () => {
      for (const [text, values, hint] of [
        ['select $1::int', ['x']],
        ['select $1::int / $2::int', [1, 0]],
        ['select 1', [1], 'the text has no $1, and 1 value was given'],
        ['insert into guarded values ($1, $2)', [5, -5]],
        ['select $1::uuid', ['no uuid']],
      ]) {
        await assertSame(
          (driver) => withClient(driver, (client) => errorOf(client.query(text, values))),
          SERVER,
          hint && { hint },
        );
      }
    });
  });

  describe('for a pool', () => {
    it('whose server does not answer in time', () =>
      withServer(
        () => {},
        (target) =>
          assertSame(
            (driver) =>
              withPool(driver, { ...target, connectionTimeoutMillis: 50 }, (pool) =>
                errorOf(pool.query('select 1')),
              ),
            ['message'],
          ),
      ));

    it('with no connection free in time', () =>
      assertSame(
        (driver) =>
          withPool(driver, options({ max: 1, connectionTimeoutMillis: 200 }), async (pool) => {
            const client = await pool.connect();
            const error = await errorOf(pool.query('select 1'));
            client.release();
            return error;
          }),
        ['message'],
      ));

    it('that cannot connect', async () => {
      const target = { host: '127.0.0.1', port: await deadPort(), user: 'x' };
      await assertSame(
        (driver) => withPool(driver, target, (pool) => errorOf(pool.connect())),
        SYSTEM,
      );
    });

    it('that has ended', async () => {
      for (const use of [
        (pool) => pool.query('select 1'),
        (pool) => pool.connect(),
        (pool) => pool.end(),
      ]) {
        await assertSame(
          (driver) =>
            withPool(driver, options(), async (pool) => {
              await pool.end();
              return errorOf(use(pool));
            }),
          ['message'],
        );
      }
    });

    it('whose query fails', () =>
      assertSame(
        (driver) => withPool(driver, options(), (pool) => errorOf(pool.query('select 1 / 0'))),
        SERVER,
      ));
  });
});
