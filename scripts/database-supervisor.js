'use strict';

// Owns one throw-away PostgreSQL server and its folder. Forked by database.js, in a session of its
// own, so that it sees its parent end for whatever reason (SIGKILL too): the channel between them
// closes, it stops the server, removes the folder and ends.

const { execFileSync, spawn } = require('node:child_process');
const { createHash } = require('node:crypto');
const fs = require('node:fs');
const path = require('node:path');
const { setTimeout: delay } = require('node:timers/promises');
const { freePort, isOpenTo, makeDirectory, ordinaryUser } = require('./throw-away');

const START_TIMEOUT_MILLIS = 60_000;
const SIGNAL_TIMEOUT_MILLIS = 5_000;
const SOCKET_PORT = 5432;
const INITDB_ARGS = ['-U', 'postgres', '-A', 'trust', '-E', 'UTF8', '--locale=C', '-N'];

let directory = '';
/** Another one, if the data are not in there. */
let memory = '';
let data = '';
let bin = '';
/** @type {import('./throw-away').Identity | undefined} */
let identity;
/** @type {string[]} */
let serverArgs = [];
/** @type {import('node:child_process').ChildProcess | undefined} initdb or cp, then postgres */
let child;
/** @type {Promise<string>} how `child` ended */
let exited = Promise.resolve('');
/** Resolves when all processes of the server have ended. @type {Promise<unknown>} */
let closed = Promise.resolve();
let ending = false;

/** @param {{ binaries: import('./database').Binaries, options: any }} request */
async function start({ binaries, options }) {
  identity = ordinaryUser();
  directory = makeDirectory(identity);
  bin = usableBinaries(binaries);
  makeDataFolder();
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

  const clusters = await initialize(options);
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
  return {
    version: version.trim(),
    pid,
    port: Number(settings.port),
    directory,
    data,
    bin,
    clusters,
  };
}

/** @param {string} place */
function makeFolder(place) {
  fs.mkdirSync(place, { mode: 0o700 });
  if (identity) fs.chownSync(place, identity.uid, identity.gid);
}

/** Tests may ask for one in memory: making the thousand files of a server takes a tenth of the time there. */
function makeDataFolder() {
  const { PG_CONDUIT_TEST_MEMORY } = process.env;
  if (PG_CONDUIT_TEST_MEMORY) {
    memory = fs.mkdtempSync(path.join(PG_CONDUIT_TEST_MEMORY, 'pg-conduit-'));
    if (identity) fs.chownSync(memory, identity.uid, identity.gid);
  }
  data = path.join(memory || directory, 'data');
  makeFolder(data);
}

/**
 * By initdb, which takes most of what the start of a server costs, or by a copy of what it has made for another one:
 * the tests start a hundred servers.
 * @param {{ initdbArgs?: string[], keepsCluster?: boolean }} options
 * @returns {Promise<string | undefined>} where a copy is for others
 */
async function initialize({ initdbArgs = [], keepsCluster }) {
  const args = [...INITDB_ARGS, ...initdbArgs];
  const name = createHash('sha256')
    .update(JSON.stringify([bin, args]))
    .digest('hex');
  const { PG_CONDUIT_TEST_CLUSTERS } = process.env;
  const kept = PG_CONDUIT_TEST_CLUSTERS && path.join(PG_CONDUIT_TEST_CLUSTERS, name);
  if (kept && fs.existsSync(kept)) {
    await runToEnd('cp', ['-Rp', `${kept}/.`, data]);
    return undefined;
  }
  await runToEnd(path.join(bin, 'initdb'), ['-D', data, ...args]);
  if (!keepsCluster) return undefined;
  const clusters = path.join(memory || directory, 'clusters');
  makeFolder(clusters);
  await runToEnd('cp', ['-Rp', `${data}/.`, path.join(clusters, name)]);
  return clusters;
}

async function restart() {
  await stopChild();
  // A server that was killed leaves processes behind, and none starts before they have ended.
  await Promise.race([closed, delay(SIGNAL_TIMEOUT_MILLIS, undefined, { ref: false })]);
  return { pid: await startServer() };
}

/**
 * The folder to run from. Those of the npm package may miss their links (npm 12 does not run its
 * script) and may lie in a checkout that the server's user cannot enter, such as one below /root.
 * @param {import('./database').Binaries} binaries
 */
function usableBinaries({ bin: found, packageRoot }) {
  if (!packageRoot || (isOpenTo(path.join(found, 'postgres'), identity) && hydrate(packageRoot))) {
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

/**
 * @param {string} program
 * @param {string[]} args
 */
function launch(program, args) {
  if (ending) throw new Error('The database is being stopped');
  const log = fs.openSync(path.join(directory, 'server.log'), 'a');
  const launched = spawn(program, args, {
    cwd: directory,
    uid: identity?.uid,
    gid: identity?.gid,
    // The pipe is open in all processes of the server.
    stdio: ['ignore', log, log, 'pipe'],
  });
  fs.closeSync(log);
  child = launched;
  const pipe = /** @type {import('node:stream').Readable} */ (launched.stdio[3]);
  closed = new Promise((resolve) => {
    pipe.once('close', resolve).resume();
  });
  exited = new Promise((resolve) => {
    launched.once('error', (error) => resolve(error.message));
    launched.once('exit', (code, signal) => resolve(String(signal || code)));
  });
}

/**
 * @param {string} program
 * @param {string[]} args
 */
async function runToEnd(program, args) {
  launch(program, args);
  const outcome = await exited;
  if (outcome !== '0') throw failure(program, outcome);
}

async function startServer() {
  const program = path.join(bin, 'postgres');
  launch(program, serverArgs);
  /** @type {string | undefined} */
  let outcome;
  exited.then((how) => (outcome = how));
  const deadline = Date.now() + START_TIMEOUT_MILLIS;
  while (!isReady()) {
    if (outcome !== undefined) throw failure(program, outcome);
    if (Date.now() > deadline) throw failure(program, `not ready in ${START_TIMEOUT_MILLIS} ms`);
    await delay(10);
  }
  return Number(child?.pid);
}

/** As pg_ctl does it; the log would have to be read in the server's language. */
function isReady() {
  try {
    const lines = fs.readFileSync(path.join(data, 'postmaster.pid'), 'utf8').split('\n');
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
    `${program} did not start (${outcome}). It said:\n  ${tail || '(nothing)'}\n` +
      'Put right what it complains about, choose other binaries with ' +
      'PG_CONDUIT_TEST_SERVER=installed|embedded|a bin folder, or set PG_CONDUIT_DATABASE_URL to a ' +
      'database of a running server.',
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
  for (const folder of [memory, directory]) {
    if (folder) fs.rmSync(folder, { recursive: true, force: true, maxRetries: 10 });
  }
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
