'use strict';

// A PgBouncer of one's own before a server, for tests and benches: found on the machine, configured in
// a folder of its own, run as an ordinary user, ended by stop() and, on Linux, with the process that
// started it.

const { execFileSync, spawn } = require('node:child_process');
const fs = require('node:fs');
const net = require('node:net');
const path = require('node:path');
const { setTimeout: delay } = require('node:timers/promises');
const { toConnectionString } = require('./database');
const { freePort, makeDirectory, ordinaryUser } = require('./throw-away');

const START_TIMEOUT_MILLIS = 20_000;
const SOCKET_PORT = 6432;
/** Where build-pgbouncer.js puts one. */
const BUILT = path.join(__dirname, '..', 'build', 'pgbouncer', 'pgbouncer');

/**
 * @typedef {import('./database').ConnectionConfig} ConnectionConfig
 *
 * @typedef {object} PgBouncerOptions
 * @property {'session' | 'transaction' | 'statement'} [poolMode] default: transaction
 * @property {number} [poolSize] connections to the server, for each user and database; default: 20
 * @property {number} [maxClients] default: 1000
 * @property {boolean} [listen] at a free port of 127.0.0.1; else at a unix socket only
 * @property {Record<string, string | number>} [settings] others of pgbouncer.ini
 * @property {string} [minVersion] such as "1.21", which brought prepared statements in transaction mode
 * @property {string} [program] this one, and no other
 *
 * @typedef {object} PgBouncer
 * @property {ConnectionConfig} config to connect to
 * @property {string} connectionString
 * @property {string} version
 * @property {number} pid
 * @property {string} logFile until `stop`
 * @property {() => Promise<void>} stop ends it at once, and with it all connections through it
 */

/**
 * That of PGBOUNCER, of PATH, where distributions put it, or one that was built here.
 * @param {string} [minVersion]
 * @param {string} [given] the only one that will do
 * @returns {{ program: string, version: string }}
 */
function findPgBouncer(minVersion = '1.0', given = process.env.PGBOUNCER) {
  const { PATH = '' } = process.env;
  const folders = [...PATH.split(path.delimiter), '/usr/sbin', '/usr/local/sbin', '/usr/local/bin'];
  const found = folders.filter(Boolean).map((folder) => path.join(folder, 'pgbouncer'));
  const candidates = given ? [given] : [...found, BUILT];
  const seen = new Set();
  for (const program of candidates.filter((name) => fs.existsSync(name))) {
    const output = execFileSync(program, ['--version'], { encoding: 'utf8' });
    const version = /\d+\.\d+[.\d]*/.exec(output)?.[0] ?? '';
    if (version.localeCompare(minVersion, 'en', { numeric: true }) >= 0) {
      return { program, version };
    }
    seen.add(version);
  }
  const others = seen.size > 0 ? `; here is ${[...seen].join(', ')}` : '';
  throw new Error(
    `No PgBouncer ${minVersion} or later${others}: install it (apt install pgbouncer), or name one in PGBOUNCER`,
  );
}

/**
 * @param {ConnectionConfig} server
 * @param {PgBouncerOptions} [options]
 * @returns {Promise<PgBouncer>}
 */
async function startPgBouncer(server, options = {}) {
  const { program, version } = findPgBouncer(options.minVersion, options.program);
  const { maxClients = 1000 } = options;
  const identity = ordinaryUser();
  const directory = makeDirectory(identity);
  const port = options.listen ? await freePort() : SOCKET_PORT;
  const logFile = path.join(directory, 'pgbouncer.log');
  /** @param {string} name @param {string} text */
  const write = (name, text) => {
    const file = path.join(directory, name);
    fs.writeFileSync(file, text, { mode: 0o600 });
    if (identity) fs.chownSync(file, identity.uid, identity.gid);
    return file;
  };
  const users = write('users.txt', `${quote(server.user)} ${quote(server.password ?? '')}\n`);
  const file = write(
    'pgbouncer.ini',
    formatSettings(server, {
      listen_addr: options.listen ? '127.0.0.1' : '',
      listen_port: port,
      unix_socket_dir: directory,
      auth_type: 'trust',
      auth_file: users,
      admin_users: server.user,
      pool_mode: options.poolMode ?? 'transaction',
      default_pool_size: options.poolSize ?? 20,
      max_client_conn: maxClients,
      // All of them may come at once, and a unix socket refuses what its queue has no place for.
      listen_backlog: maxClients,
      ignore_startup_parameters: 'extra_float_digits',
      ...options.settings,
    }),
  );
  const log = fs.openSync(write('pgbouncer.log', ''), 'a');
  const child = spawn(...withParent(program, [file]), {
    cwd: directory,
    uid: identity?.uid,
    gid: identity?.gid,
    stdio: ['ignore', log, log],
  });
  fs.closeSync(log);
  /** @type {string | undefined} */
  let outcome;
  /** @type {Promise<void>} */
  const exited = new Promise((resolve) => {
    const end = (/** @type {unknown} */ how) => {
      outcome ??= String(how);
      resolve();
    };
    child.once('error', (error) => end(error.message));
    child.once('exit', (code, signal) => end(signal ?? code));
  });
  const stop = async () => {
    // It has nothing to put in order, and its gentler ends differ from version to version.
    child.kill('SIGKILL');
    await exited;
    fs.rmSync(directory, { recursive: true, force: true });
  };

  const deadline = Date.now() + START_TIMEOUT_MILLIS;
  const address = options.listen
    ? { host: '127.0.0.1', port }
    : { path: path.join(directory, `.s.PGSQL.${port}`) };
  while (!(await accepts(address))) {
    if (outcome !== undefined || Date.now() > deadline) {
      const words = fs.readFileSync(logFile, 'utf8').trim().split('\n').slice(-10).join('\n  ');
      await stop();
      throw new Error(`${program} did not start (${outcome ?? 'no answer'}). It said:\n  ${words}`);
    }
    await delay(5);
  }
  const host = options.listen ? '127.0.0.1' : directory;
  const config = { host, port, user: server.user, database: server.database };
  const connectionString = toConnectionString(config);
  return { config, connectionString, version, pid: Number(child.pid), logFile, stop };
}

/**
 * Whoever started it may be killed.
 * @param {string} program
 * @param {string[]} args
 * @param {string} [signal] that it gets then
 * @returns {[string, string[]]}
 */
function withParent(program, args, signal = 'KILL') {
  const setpriv = '/usr/bin/setpriv';
  if (!fs.existsSync(setpriv)) return [program, args];
  return [setpriv, ['--pdeathsig', signal, program, ...args]];
}

/** @param {string} text */
function quote(text) {
  return `"${text.replaceAll('"', '""')}"`;
}

/**
 * @param {ConnectionConfig} server
 * @param {Record<string, string | number>} settings
 */
function formatSettings({ host, port }, settings) {
  const lines = Object.entries(settings).map(([name, value]) => `${name} = ${value}`);
  return `[databases]\n* = host='${host}' port=${port}\n\n[pgbouncer]\n${lines.join('\n')}\n`;
}

/** @param {net.NetConnectOpts} address @returns {Promise<boolean>} */
function accepts(address) {
  return new Promise((resolve) => {
    const socket = net.connect(address, () => {
      socket.destroy();
      resolve(true);
    });
    socket.on('error', () => resolve(false));
  });
}

module.exports = { BUILT, findPgBouncer, startPgBouncer, withParent };
