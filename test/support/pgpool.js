'use strict';

// A pgpool-II before a server: each client has a child process of it, and a session of the server that is
// kept for the next client. Used by test/engines/.

const { spawn } = require('node:child_process');
const fs = require('node:fs');
const net = require('node:net');
const path = require('node:path');
const { setTimeout: delay } = require('node:timers/promises');
const { withParent } = require('../../scripts/pgbouncer');
const { freePort, makeDirectory, ordinaryUser } = require('../../scripts/throw-away');

const PROGRAM = '/usr/sbin/pgpool';
const START_TIMEOUT_MILLIS = 20_000;

/** @returns {string | undefined} why none can be started */
function whyNoPgpool() {
  return fs.existsSync(PROGRAM) ? undefined : 'needs pgpool-II (apt install pgpool2)';
}

/**
 * @param {{ config: import('../../scripts/database').ConnectionConfig }} server
 * @param {Record<string, string | number>} [settings] of pgpool.conf
 */
async function startPgpool({ config }, settings = {}) {
  const identity = ordinaryUser();
  const directory = makeDirectory(identity);
  const port = await freePort();
  const all = {
    // In raw mode it begins transactions that nobody has asked for, and leaves them open.
    backend_clustering_mode: 'streaming_replication',
    sr_check_period: 0,
    listen_addresses: '127.0.0.1',
    port,
    socket_dir: directory,
    pcp_listen_addresses: '',
    pcp_port: await freePort(),
    pcp_socket_dir: directory,
    backend_hostname0: config.host,
    backend_port0: config.port,
    num_init_children: 24,
    max_pool: 1,
    pid_file_name: path.join(directory, 'pgpool.pid'),
    logdir: directory,
    work_dir: directory,
    memory_cache_enabled: 'off',
    ...settings,
  };
  const lines = Object.entries(all).map(([name, value]) => `${name} = '${value}'`);
  const file = path.join(directory, 'pgpool.conf');
  fs.writeFileSync(file, `${lines.join('\n')}\n`);
  if (identity) fs.chownSync(file, identity.uid, identity.gid);
  const log = fs.openSync(path.join(directory, 'pgpool.log'), 'a');
  const child = spawn(...withParent(PROGRAM, ['-n', '-f', file], 'QUIT'), {
    cwd: directory,
    uid: identity?.uid,
    gid: identity?.gid,
    stdio: ['ignore', log, log],
  });
  fs.closeSync(log);
  const exited = new Promise((resolve) => {
    child.once('exit', resolve);
    child.once('error', resolve);
  });
  const stop = async () => {
    // At once, with its children.
    child.kill('SIGQUIT');
    await exited;
    fs.rmSync(directory, { recursive: true, force: true });
  };
  for (const deadline = Date.now() + START_TIMEOUT_MILLIS; !(await accepts(port));) {
    if (Date.now() > deadline || child.exitCode !== null) {
      const words = fs.readFileSync(path.join(directory, 'pgpool.log'), 'utf8').slice(-2000);
      await stop();
      throw new Error(`pgpool-II did not start. It said:\n${words}`);
    }
    await delay(20);
  }
  const { user, database } = config;
  return { config: { host: '127.0.0.1', port, user, database, sslmode: 'disable' }, stop };
}

/** @param {number} port @returns {Promise<boolean>} */
function accepts(port) {
  return new Promise((resolve) => {
    const socket = net.connect(port, '127.0.0.1', () => {
      socket.destroy();
      resolve(true);
    });
    socket.on('error', () => resolve(false));
  });
}

module.exports = { startPgpool, whyNoPgpool };
