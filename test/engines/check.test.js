'use strict';

// `npx pg-conduit check` before servers of all kinds: TLS, primaries and standbys, servers that hang or refuse, PGlite.
// What is quick is in test/project/check.test.js, poolers are in check-poolers.test.js.

const assert = require('node:assert/strict');
const { once } = require('node:events');
const fs = require('node:fs');
const net = require('node:net');
const os = require('node:os');
const path = require('node:path');
const { startDatabase } = require('../../scripts/database');
const { cannotRun } = require('../support/cannot-run');
const { check, complaints, found, levels } = require('../support/check');
const { deadPort, listen } = require('../support/ports');
const { Proxy, message } = require('../support/proxy');
const { ask, startStandby } = require('../support/standby');
const { PASSWORD, TlsServer } = require('../support/tls-server');

/** @param {{ host: string, port: number }[]} servers @param {string} [tail] */
function urlOf(servers, tail = '') {
  const places = servers.map(({ host, port }) => `${host}:${port}`);
  return `postgresql://postgres@${places.join(',')}/postgres${tail}`;
}

describe('npx pg-conduit check, with TLS', function () {
  this.timeout(60_000);

  /** @type {TlsServer} */
  let server;
  before(async () => {
    server = await TlsServer.start();
  });
  after(() => server?.stop());

  /** @param {string} tail @param {string} [user] */
  const url = (tail, user = 'postgres') =>
    `postgresql://${user}@localhost:${server.database.config.port}/postgres${tail}`;

  it('verified: by whom, how, and until when', async () => {
    const root = encodeURIComponent(server.authority.certFile);
    const report = await check([url(`?sslmode=verify-full&sslrootcert=${root}`)]);
    assert.equal(report.status, 0);
    assert.deepEqual([report.tls.encrypted, report.tls.verified], [true, true]);
    assert.match(
      found(report, 'tls')[0].text,
      /^encrypted with TLSv1\.3, \S+; certificate and name/,
    );
    const [{ text }] = found(report, 'tls.certificate');
    assert.match(text, /^certificate of server, for DNS:db\.test, DNS:localhost, by an authority;/);
    // It is valid for two days.
    assert.equal(levels(report, 'tls.certificate'), 'warning');
  });

  it('not verified, though it could be, or since it could not', async () => {
    const root = encodeURIComponent(server.authority.certFile);
    const could = await check([url(`?sslrootcert=${root}`)]);
    assert.deepEqual([could.tls.encrypted, could.tls.verifiable], [true, true]);
    const not = await check([url('')]);
    assert.deepEqual([not.tls.encrypted, not.tls.verifiable], [true, false]);
    assert.equal(not.tls.refusal.code, 'SELF_SIGNED_CERT_IN_CHAIN');
    assert.match(found(not, 'tls.verify')[0].text, /is not trusted: give its authority in ssl\.ca/);
    assert.match(found(not, 'tls.pg')[0].text, /pg does not encrypt/);
  });

  it('from another machine it is a warning, with the option that mends it', async function () {
    const [address] = Object.values(os.networkInterfaces())
      .flat()
      .filter((one) => one?.family === 'IPv4' && !one.internal)
      .map((one) => one?.address);
    if (address === undefined) cannotRun(this, 'it has no address but those of itself');
    const { port } = server.database.config;
    const relay = net.createServer((socket) => {
      const behind = net.connect(port, '127.0.0.1');
      socket.on('error', () => behind.destroy()).pipe(behind);
      behind.on('error', () => socket.destroy()).pipe(socket);
    });
    relay.listen(0, address);
    await once(relay, 'listening');
    try {
      const place = `${address}:${/** @type {net.AddressInfo} */ (relay.address()).port}`;
      const report = await check([`postgresql://postgres@${place}/postgres`]);
      assert.equal(levels(report, 'tls'), 'warning');
      assert.deepEqual(Object.keys(report.advice.options), ['ssl']);
      const [{ text }] = found(report, 'pooler.proxy');
      assert.match(
        text,
        new RegExp(`^the server was reached at 127\\.0\\.0\\.1:${port}, as it says`),
      );
      assert.match(
        report.advice.code,
        /^ {2}ssl: \{ ca: readFileSync\('authority\.pem', 'utf8'\) \},/m,
      );
    } finally {
      relay.close();
    }
  });

  it('refused for its certificate: which one that was', async () => {
    const report = await check([url('?sslmode=require')]);
    assert.equal(report.status, 1);
    // The name may stand for ::1 too, where nothing listens.
    const codes = report.hosts.map(({ error }) => error.code);
    assert.ok(codes.includes('SELF_SIGNED_CERT_IN_CHAIN'), codes.join());
    assert.match(found(report, 'tls.certificate')[0].text, /, by an authority; valid until/);
  });

  it('an expired one is told as such', async () => {
    const expired = await TlsServer.start({ hasExpired: true });
    try {
      const root = encodeURIComponent(expired.authority.certFile);
      const { port } = expired.database.config;
      const tail = `?sslmode=verify-full&sslrootcert=${root}`;
      const report = await check([`postgresql://postgres@127.0.0.1:${port}/postgres${tail}`]);
      assert.equal(report.hosts[0].error.code, 'CERT_HAS_EXPIRED');
      assert.match(found(report, 'host')[0].text, /its certificate has expired/);
      assert.match(found(report, 'tls.certificate')[0].text, /has expired on 2021-01-01$/);
    } finally {
      await expired.stop();
    }
  });

  it('a server that takes nothing else says so', async () => {
    const report = await check([url('?sslmode=disable').replace('localhost', '127.0.0.1')]);
    assert.match(found(report, 'host')[0].text, /it takes encrypted connections only: set ssl/);
  });

  it('a wrong password, or none, without repeating it', async () => {
    const host = (/** @type {string} */ user) => url('', user).replace('localhost', '127.0.0.1');
    const wrong = await check([host('by_password:geheim')]);
    assert.deepEqual([wrong.status, wrong.hosts[0].error.code], [1, '28P01']);
    assert.ok(!JSON.stringify(wrong).includes('geheim'));
    const none = await check([host('by_password')]);
    assert.match(
      found(none, 'host')[0].text,
      /none was given: in the URL, PGPASSWORD or ~\/\.pgpass/,
    );
    const encoded = encodeURIComponent(PASSWORD);
    const right = await check([host(`by_password:${encoded}`)]);
    assert.equal(right.status, 0);
    assert.ok(
      !JSON.stringify(right).includes(encoded) && !JSON.stringify(right).includes(PASSWORD),
    );
  });
});

describe('npx pg-conduit check, of several servers', function () {
  this.timeout(60_000);

  /** @type {Awaited<ReturnType<typeof startDatabase>>} */
  let primary;
  /** @type {Awaited<ReturnType<typeof startStandby>>} */
  let standby;
  before(async () => {
    primary = await startDatabase({ own: true, listen: true });
    standby = await startStandby(primary, 'follower');
  });
  after(async () => {
    await standby?.stop();
    await primary?.stop();
  });

  it('a standby that comes first is a warning, and the option is advised', async () => {
    const report = await check([urlOf([standby.config, primary.config])]);
    assert.deepEqual(
      report.hosts.map(({ standby: isStandby, writes }) => [isStandby, writes]),
      [
        [true, false],
        [false, true],
      ],
    );
    assert.deepEqual(complaints(report), ['warning hosts.writer']);
    assert.deepEqual(report.advice.options, {
      target_session_attrs: 'read-write',
      connect_timeout: 3,
    });
    assert.equal(levels(report, 'hosts.same'), 'ok');
  });

  it('with the options all is well', async () => {
    const tail = '?target_session_attrs=read-write&connect_timeout=3';
    const report = await check([urlOf([standby.config, primary.config], tail)]);
    assert.deepEqual([report.status, complaints(report), report.advice.options], [0, [], {}]);
  });

  it('a standby alone cannot be written to', async () => {
    const report = await check([urlOf([standby.config], '?target_session_attrs=read-write')]);
    assert.deepEqual([report.status, levels(report, 'hosts.writer')], [1, 'problem']);
  });

  it('of one that hangs and one that refuses each is named, and the others are asked', async () => {
    const mute = net.createServer(() => {});
    const hanging = { host: '127.0.0.1', port: await listen(mute) };
    const dead = { host: '127.0.0.1', port: await deadPort() };
    try {
      const url = urlOf([dead, hanging, primary.config]);
      const report = await check([url, '--timeout', '1s']);
      assert.deepEqual(
        report.hosts.map(({ reached }) => reached),
        [false, false, true],
      );
      assert.equal(levels(report, 'host'), 'warning,warning,ok');
      assert.equal(report.server.product, 'PostgreSQL');
      assert.equal(report.advice.options.connect_timeout, 3);
      // The one that hangs was found out before, and is tried last.
      assert.equal(levels(report, 'hosts.together'), 'ok');
      const limited = await check([`${url}?connect_timeout=2`, '--timeout', '5s']);
      assert.deepEqual([limited.together.error, limited.status], [null, 0]);
      assert.equal('connect_timeout' in limited.advice.options, false);
    } finally {
      mute.close();
    }
  });

  it('one that falls silent in the middle ends the check in time', async () => {
    const proxy = await Proxy.open();
    let answers = 0;
    proxy.change = (type, bytes) => {
      if (type === 'Z') ++answers;
      return answers > 20 ? Buffer.alloc(0) : bytes;
    };
    try {
      const { host, port } = proxy.options();
      const report = await check([
        urlOf([{ host, port }], '?sslmode=disable'),
        '--timeout',
        '500ms',
      ]);
      assert.equal(report.status, 1);
      assert.equal(levels(report, 'roundTrip'), 'problem');
      assert.equal(levels(report, 'connection'), 'problem');
    } finally {
      await proxy.close();
    }
  });

  it('a service and an address beside the name are what libpq makes of them', async () => {
    const { host, port } = primary.config;
    const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'check-test-'));
    const file = path.join(folder, 'services');
    fs.writeFileSync(file, `[mine]\nhost=${host}\nport=${port}\nuser=postgres\ndbname=postgres\n`);
    try {
      const service = await check(['service=mine'], { PGSERVICEFILE: file });
      assert.deepEqual([service.status, service.target.url], [0, 'service mine']);
      const url = urlOf([{ host: 'db.test', port }], `?hostaddr=${host}`);
      const report = await check([url]);
      assert.deepEqual([report.status, report.hosts.length], [0, 1]);
      assert.deepEqual([report.hosts[0].host, report.hosts[0].address], ['db.test', host]);
      assert.equal(levels(report, 'tls'), 'ok');
    } finally {
      fs.rmSync(folder, { recursive: true });
    }
  });

  it('servers that have nothing to do with each other', async () => {
    // With other arguments it is no copy of what initdb made before.
    const initdbArgs = ['--locale=C'];
    const other = await startDatabase({ own: true, listen: true, initdbArgs });
    try {
      const report = await check([urlOf([primary.config, other.config])]);
      assert.equal(levels(report, 'hosts.same'), 'warning');
    } finally {
      await other.stop();
    }
  });

  it('copies that both take writes are a problem', async () => {
    await standby.promote();
    const report = await check([urlOf([primary.config, standby.config])]);
    assert.deepEqual([report.status, levels(report, 'hosts.same')], [1, 'problem']);
  });
});

describe('npx pg-conduit check, of what is special', function () {
  this.timeout(60_000);

  it('PGlite, with one connection and with several', async () => {
    const { PGlite } = await import('@electric-sql/pglite');
    const { PGLiteSocketServer } = await import('@electric-sql/pglite-socket');
    const db = await PGlite.create();
    for (const maxConnections of [1, 10]) {
      const server = new PGLiteSocketServer({ db, port: await deadPort(), maxConnections });
      await server.start();
      try {
        const url = `postgresql://postgres@${server.getServerConn()}/postgres?sslmode=disable`;
        const report = await check([url, '--timeout', '3s']);
        assert.equal(report.server.product, 'PGlite', JSON.stringify(report.findings));
        assert.equal(report.batch.works, true);
        if (maxConnections === 1) assert.equal(report.advice.options.max, 1);
      } finally {
        await server.stop();
      }
    }
    await db.close();
  });

  for (const [version, product, isDistributed, advised] of /** @type {const} */ ([
    [
      'PostgreSQL 8.0.2 on i686-pc-linux-gnu, compiled by GCC gcc (GCC) 3.4.2, Redshift 1.0.63269',
      ...['Amazon Redshift', false, { prepare: false, syncGroup: 'off' }],
    ],
    ['CockroachDB CCL v23.1.11 (x86_64-pc-linux-gnu)', 'CockroachDB', true, { syncGroup: 'off' }],
    ['PostgreSQL 11.2-YB-2.20.1.0-b0 on x86_64-pc-linux-gnu', 'YugabyteDB', true, {}],
    ['something else entirely', 'unknown', false, {}],
  ])) {
    it(`a server that says it is ${product}`, async () => {
      const proxy = await Proxy.open();
      const body = Buffer.concat([
        Buffer.from([0, 1, 0, 0, 0, version.length]),
        Buffer.from(version),
      ]);
      // The row of version().
      proxy.change = (type, bytes) =>
        type === 'D' && bytes.includes(' on x86_64-') ? message('D', body) : bytes;
      try {
        const { host, port } = proxy.options();
        const url = urlOf([{ host, port }], '?sslmode=disable');
        const report = await check([url, '--timeout', '1s']);
        assert.deepEqual(
          [report.status, report.server.text, report.server.product, report.server.distributed],
          [0, version, product, isDistributed],
        );
        assert.deepEqual(report.advice.options, advised);
      } finally {
        await proxy.close();
      }
    });
  }

  it('Citus, by its extension; texts without an encoding; short idle times; full roles', async () => {
    const server = await startDatabase({
      own: true,
      listen: true,
      settings: { allow_system_table_mods: 'on' },
    });
    const { config } = server;
    try {
      await ask(
        config,
        `insert into pg_extension (oid, extname, extowner, extnamespace, extrelocatable, extversion)
         values (99999, 'citus', 10, 11, false, '12.1-1')`,
      );
      const citus = await check([urlOf([config])]);
      assert.equal(citus.server.distributed, true);
      assert.match(
        found(citus, 'server.extension')[0].text,
        /^extension citus 12\.1-1: tables may/,
      );

      await ask(config, "create database ascii encoding 'SQL_ASCII' locale 'C' template template0");
      await ask(config, "alter database ascii set idle_session_timeout = '4s'");
      await ask(config, "alter database ascii set datestyle = 'German'");
      await ask(config, "alter database ascii set default_transaction_isolation = 'serializable'");
      const report = await check([urlOf([config]).replace(/postgres$/, 'ascii')]);
      assert.equal(report.status, 0);
      assert.equal(report.settings.server_encoding, 'SQL_ASCII');
      assert.equal(levels(report, 'settings.server_encoding'), 'warning');
      assert.match(
        found(report, 'settings.DateStyle')[0].text,
        /^DateStyle is German, DMY: the driver/,
      );
      assert.match(found(report, 'settings.default_transaction_isolation')[0].text, /retry:/);
      assert.deepEqual(report.advice.options, { idleTimeoutMillis: 2000 });

      await ask(config, 'create role nobody_more login connection limit 0');
      const full = await check([urlOf([config]).replace('postgres@', 'nobody_more@')]);
      assert.deepEqual([full.status, full.hosts[0].error.code], [1, '53300']);
    } finally {
      await server.stop();
    }
  });
});
