'use strict';

// Standbys of a server that a test has started: copies by pg_basebackup that follow it, until they are
// promoted or stopped. Used by test/fleet/.

const { execFileSync, spawn } = require('node:child_process');
const { once } = require('node:events');
const fs = require('node:fs');
const path = require('node:path');
const pg = require('pg');
const { toConnectionString } = require('../../scripts/database');
const { freePort, makeDirectory, ordinaryUser } = require('../../scripts/throw-away');
const { withParent } = require('../../scripts/pgbouncer');
const { until } = require('./outside');

/**
 * @typedef {import('../../scripts/database').Database} Database
 *
 * @typedef {object} Standby
 * @property {string} name of its walreceiver, for synchronous_standby_names
 * @property {import('../../scripts/database').ConnectionConfig} config
 * @property {string} connectionString
 * @property {(text: string, values?: unknown[]) => Promise<any[]>} ask past the driver
 * @property {() => Promise<void>} promote until it takes writes
 * @property {(signal?: NodeJS.Signals) => Promise<void>} stop SIGINT is a fast shutdown
 */

/** Asks a server past the driver. @param {any} config @param {string} text @param {unknown[]} [values] */
async function ask(config, text, values) {
  const client = new pg.Client(config);
  client.on('error', () => {});
  await client.connect();
  try {
    return (await client.query(text, values)).rows;
  } finally {
    await client.end();
  }
}

/**
 * @param {Database} primary that listens, of its own
 * @param {string} name
 * @returns {Promise<Standby>} that has what the primary had when this was called
 */
async function startStandby(primary, name) {
  const identity = ordinaryUser();
  const directory = makeDirectory(identity);
  const data = path.join(directory, 'data');
  const bin = String(primary.binDirectory);
  const port = await freePort();
  const {
    config: { user, port: primaryPort, database },
    socketDirectory,
  } = primary;
  const from = `host='${socketDirectory}' port=${primaryPort} user=${user} application_name=${name}`;
  execFileSync(path.join(bin, 'pg_basebackup'), ['-d', from, '-D', data, '-R', '-c', 'fast'], {
    uid: identity?.uid,
    gid: identity?.gid,
    cwd: directory,
  });
  const log = fs.openSync(path.join(directory, 'server.log'), 'a');
  const settings = {
    port,
    listen_addresses: '127.0.0.1',
    unix_socket_directories: directory,
    fsync: 'off',
    wal_retrieve_retry_interval: '100ms',
  };
  const args = Object.entries(settings).flatMap(([key, value]) => ['-c', `${key}=${value}`]);
  const [program, all] = withParent(path.join(bin, 'postgres'), ['-D', data, ...args], 'INT');
  const child = spawn(program, all, {
    cwd: directory,
    uid: identity?.uid,
    gid: identity?.gid,
    stdio: ['ignore', log, log],
  });
  fs.closeSync(log);
  const exited = once(child, 'exit');
  const config = { host: '127.0.0.1', port, user, database };
  const askIt = (text, values) => ask(config, text, values);
  const stop = async (signal = 'SIGINT') => {
    child.kill(signal);
    await exited;
    fs.rmSync(directory, { recursive: true, force: true, maxRetries: 10 });
  };
  try {
    await until('the standby answers', () => askIt('select 1').catch(() => undefined));
    await caughtUp(primary, askIt);
  } catch (error) {
    await stop('SIGQUIT');
    throw error;
  }
  return {
    name,
    config,
    connectionString: toConnectionString(config),
    ask: askIt,
    stop,
    async promote() {
      await askIt('select pg_promote(true, 60)');
      await until('it takes writes', async () => {
        const [{ is }] = await askIt('select pg_is_in_recovery() as is');
        return !is;
      });
    },
  };
}

/** @param {Database} primary @param {Standby['ask']} askIt */
async function caughtUp(primary, askIt) {
  const [{ position }] = await ask(primary.config, 'select pg_current_wal_lsn()::text as position');
  await until('the standby has caught up', async () => {
    const [{ yes }] = await askIt('select pg_last_wal_replay_lsn() >= $1::pg_lsn as yes', [
      position,
    ]);
    return yes;
  });
}

module.exports = { ask, caughtUp, startStandby };
