'use strict';

// Owns one throw-away PostgreSQL server and its folder. Forked by database.js, in a session of its
// own, so that it sees its parent end for whatever reason (SIGKILL too): the channel between them
// closes, it stops the server, removes the folder and ends.

const { execFileSync, spawn } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');
const { setTimeout: delay } = require('node:timers/promises');
const { freePort, isOpenTo, makeDirectory, ordinaryUser } = require('./throw-away');

const START_TIMEOUT_MILLIS = 60_000;
const SIGNAL_TIMEOUT_MILLIS = 5_000;
const SOCKET_PORT = 5432;

let directory = '';
let bin = '';
/** @type {import('./throw-away').Identity | undefined} */
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
  directory = makeDirectory(identity);
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
