'use strict';

// Owns one throw-away PostgreSQL server and its folder. Forked by database.js, in a session of its
// own, so that it sees its parent end for whatever reason (SIGKILL too): the channel between them
// closes, it stops the server, removes the folder and ends.

const { execFileSync, spawn, spawnSync } = require('node:child_process');
const { once } = require('node:events');
const fs = require('node:fs');
const net = require('node:net');
const os = require('node:os');
const path = require('node:path');
const { setTimeout: delay } = require('node:timers/promises');

const START_TIMEOUT_MILLIS = 60_000;
const SIGNAL_TIMEOUT_MILLIS = 5_000;
const SOCKET_PATH_BYTES = 103; // macOS; Linux has four more
const SOCKET_PORT = 5432;

/** @typedef {{ name: string, uid: number, gid: number }} Identity */

let directory = '';
let bin = '';
/** @type {Identity | undefined} */
let identity;
/** @type {string[]} */
let serverArgs = [];
/** @type {import('node:child_process').ChildProcess | undefined} initdb, then postgres */
let child;
/** @type {Promise<string>} how `child` ended */
let exited = Promise.resolve('');
let ending = false;

/** @param {{ binaries: import('./database').Binaries, options: any }} request */
async function start({ binaries, options }) {
  identity = ordinaryUser();
  directory = makeDirectory();
  bin = usableBinaries(binaries);
  const data = path.join(directory, 'data');
  const listen = options.listen;
  const port = listen ? await freePort() : SOCKET_PORT;
  /** @type {Record<string, string | number>} */
  const settings = {
    port,
    listen_addresses: listen ? '127.0.0.1' : '',
    unix_socket_directories: process.platform === 'win32' ? '' : directory,
    // Nothing in here is worth surviving a crash of the machine.
    fsync: 'off',
    full_page_writes: 'off',
    synchronous_commit: 'off',
  };

  const initdbArgs = [
    '-D',
    data,
    '-U',
    'postgres',
    '-A',
    'trust',
    '-E',
    'UTF8',
    '--locale=C',
    '-N',
  ];
  launch('initdb', [...initdbArgs, ...(options.initdbArgs || [])]);
  const outcome = await exited;
  if (outcome !== '0') throw failure('initdb', outcome);

  if (options.hba) fs.writeFileSync(path.join(data, 'pg_hba.conf'), `${options.hba}\n`);
  if (options.tls) {
    settings.ssl = 'on';
    for (const [setting, from, name] of [
      ['ssl_cert_file', options.tls.cert, 'server.crt'],
      ['ssl_key_file', options.tls.key, 'server.key'],
      ['ssl_ca_file', options.tls.ca, 'root.crt'],
    ]) {
      if (!from) continue;
      settings[setting] = name;
      // The server refuses a key that others may read.
      fs.writeFileSync(path.join(data, name), fs.readFileSync(from), { mode: 0o600 });
      if (identity) fs.chownSync(path.join(data, name), identity.uid, identity.gid);
    }
  }
  Object.assign(settings, options.settings);
  const pairs = Object.entries(settings).map(([name, value]) => ['-c', `${name}=${value}`]);
  serverArgs = ['-D', data, ...pairs.flat()];
  const pid = await startServer();
  const version = execFileSync(path.join(bin, 'postgres'), ['--version']).toString().split(' ')[2];
  return { version: version.trim(), pid, port: Number(settings.port), directory, bin };
}

async function restart() {
  await stopChild();
  return { pid: await startServer() };
}

/** PostgreSQL refuses to run as root, and a user id without a passwd entry does not do. */
function ordinaryUser() {
  if (process.getuid?.() !== 0) return undefined;
  for (const name of ['postgres', 'nobody']) {
    const [uid, gid] = ['-u', '-g'].map((flag) => {
      const output = spawnSync('id', [flag, name]).stdout;
      return output?.length ? Number(output) : NaN;
    });
    if (uid > 0 && gid >= 0) return { name, uid, gid };
  }
  throw new Error(
    'PostgreSQL does not run as root, and neither "postgres" nor "nobody" exists here: ' +
      'create a user "postgres", run this as an ordinary user, or set DATABASE_URL',
  );
}

function makeDirectory() {
  const name = 'pg-conduit-XXXXXX';
  const socketName = path.join(name, `.s.PGSQL.${SOCKET_PORT}x`);
  const parent = [os.tmpdir(), '/tmp', '/var/tmp'].find(
    (folder) =>
      fs.existsSync(folder) &&
      isOpenTo(folder) &&
      Buffer.byteLength(path.join(folder, socketName)) <= SOCKET_PATH_BYTES,
  );
  if (!parent) {
    const who = identity ? ` that user "${identity.name}" may enter` : '';
    throw new Error(`No folder for a database: set TMPDIR to a short path${who}`);
  }
  const created = fs.mkdtempSync(path.join(fs.realpathSync(parent), name.slice(0, -6)));
  if (identity) fs.chownSync(created, identity.uid, identity.gid);
  return created;
}

/**
 * Whether the user that runs the server may use this file and all folders above it.
 * @param {string} file
 */
function isOpenTo(file) {
  if (!identity) return true;
  for (let at = fs.realpathSync(file); ; at = path.dirname(at)) {
    const { mode, uid } = fs.statSync(at);
    if (!(mode & 0o001) && !(uid === identity.uid && mode & 0o100)) return false;
    if (at === path.dirname(at)) return true;
  }
}

/**
 * The folder to run from. Those of the npm package may miss their links (npm 12 does not run its
 * script) and may lie in a checkout that the server's user cannot enter, such as one below /root.
 * @param {import('./database').Binaries} binaries
 */
function usableBinaries({ bin: found, packageRoot }) {
  if (!packageRoot || (isOpenTo(path.join(found, 'postgres')) && hydrate(packageRoot))) {
    return found;
  }
  const native = path.join(directory, 'native');
  fs.cpSync(path.join(packageRoot, 'native'), native, {
    recursive: true,
    verbatimSymlinks: true,
    filter: (file) => !file.endsWith('.a'),
  });
  hydrate(directory);
  if (identity) execFileSync('chown', ['-R', `${identity.uid}:${identity.gid}`, native]);
  return path.join(native, 'bin');
}

/**
 * Makes the links that the package lists; false where the folder cannot be written.
 * @param {string} root
 */
function hydrate(root) {
  const list = path.join(root, 'native', 'pg-symlinks.json');
  if (!fs.existsSync(list)) return true;
  /** @type {{ source: string, target: string }[]} */
  const links = JSON.parse(fs.readFileSync(list, 'utf8'));
  for (const { source, target } of links) {
    const link = path.join(root, target);
    try {
      fs.symlinkSync(path.relative(path.dirname(link), path.join(root, source)), link);
    } catch (error) {
      if (/** @type {NodeJS.ErrnoException} */ (error).code !== 'EEXIST') return false;
    }
  }
  return true;
}

async function freePort() {
  const server = net.createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = /** @type {net.AddressInfo} */ (server.address());
  server.close();
  await once(server, 'close');
  return port;
}

/**
 * @param {string} program
 * @param {string[]} args
 */
function launch(program, args) {
  if (ending) throw new Error('The database is being stopped');
  const log = fs.openSync(path.join(directory, 'server.log'), 'a');
  const launched = spawn(path.join(bin, program), args, {
    cwd: directory,
    uid: identity?.uid,
    gid: identity?.gid,
    stdio: ['ignore', log, log],
  });
  fs.closeSync(log);
  child = launched;
  exited = new Promise((resolve) => {
    launched.once('error', (error) => resolve(error.message));
    launched.once('exit', (code, signal) => resolve(String(signal || code)));
  });
}

async function startServer() {
  launch('postgres', serverArgs);
  /** @type {string | undefined} */
  let outcome;
  exited.then((how) => (outcome = how));
  const giveUpAt = Date.now() + START_TIMEOUT_MILLIS;
  while (!isReady()) {
    if (outcome !== undefined) throw failure('postgres', outcome);
    if (Date.now() > giveUpAt) throw failure('postgres', `not ready in ${START_TIMEOUT_MILLIS} ms`);
    await delay(10);
  }
  return Number(child?.pid);
}

/** As pg_ctl does it; the log would have to be read in the server's language. */
function isReady() {
  try {
    const lines = fs
      .readFileSync(path.join(directory, 'data', 'postmaster.pid'), 'utf8')
      .split('\n');
    return Number(lines[0]) === child?.pid && lines[7]?.trim() === 'ready';
  } catch {
    return false;
  }
}

/**
 * @param {string} program
 * @param {string} outcome
 */
function failure(program, outcome) {
  const log = fs.readFileSync(path.join(directory, 'server.log'), 'utf8');
  const tail = log.trim().split('\n').slice(-15).join('\n  ');
  return new Error(
    `${path.join(bin, program)} did not start (${outcome}). It said:\n  ${tail || '(nothing)'}\n` +
      'Put right what it complains about, choose other binaries with ' +
      'PG_CONDUIT_TEST_SERVER=installed|embedded, or set DATABASE_URL to a running server.',
  );
}

/** SIGINT is the server's fast shutdown, SIGQUIT the immediate one; initdb obeys both as well. */
async function stopChild() {
  /** @type {NodeJS.Signals[]} */
  const signals = ['SIGINT', 'SIGQUIT', 'SIGKILL'];
  for (const signal of signals) {
    child?.kill(signal);
    const timeout = delay(SIGNAL_TIMEOUT_MILLIS, undefined, { ref: false });
    if ((await Promise.race([exited, timeout])) !== undefined) return;
  }
}

async function end() {
  if (ending) return;
  ending = true;
  await stopChild();
  if (directory) fs.rmSync(directory, { recursive: true, force: true, maxRetries: 10 });
  process.exit();
}

process.on('message', async (/** @type {any} */ request) => {
  try {
    const started = await (request.command === 'start' ? start(request) : restart());
    if (process.connected) process.send?.({ started });
  } catch (error) {
    if (process.connected) process.send?.({ error: /** @type {Error} */ (error).message });
  }
});
process.on('disconnect', end);
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP']) process.on(signal, end);
