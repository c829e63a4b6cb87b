'use strict';

// What an arm's connections are at the server: how many backends, what they hold in memory, as far as it is theirs, and
// what CPU they have used. Linux tells it of each process. Called by one-connection.js, fleet.js, many-processes.js and
// costs.js.

const fs = require('node:fs');
const { setTimeout: delay } = require('node:timers/promises');
const { withClient } = require('../tables');

const BACKENDS = `
  select pid from pg_stat_activity
  where application_name = current_setting('application_name') and pid <> pg_backend_pid()`;

const OTHERS = `
  select count(*)::int as count from pg_stat_activity
  where backend_type = 'client backend' and pid <> pg_backend_pid()`;
/** A server of somebody's own has others all the time. */
const PATIENCE_MILLIS = 5000;

/** By which the server tells the backends of this process and of those that it forks, also behind a pooler. */
function nameConnections() {
  process.env.PGAPPNAME = `bench ${process.pid}`;
}

/**
 * What backends have in common is divided among all that are there.
 * @param {import('.').Target} server
 */
async function untilOthersHaveGone(server) {
  const deadline = Date.now() + PATIENCE_MILLIS;
  await withClient(server, async (client) => {
    while ((await client.query(OTHERS)).rows[0].count > 0 && Date.now() < deadline) await delay(50);
  });
}

/**
 * Of the backends with the application_name of this process.
 * @param {import('.').Target} server on this machine
 * @param {number[]} [others] processes that are counted too, except as connections
 * @returns {Promise<{ connections: number, serverBytes?: number, serverCpuMicros?: number }>} without what
 *   cannot be read
 */
async function readBackends(server, others = []) {
  /** @type {number[]} */
  const pids = [];
  await withClient(server, async (client) => {
    const { rows } = await client.query(BACKENDS);
    pids.push(...rows.map(({ pid }) => pid));
  });
  const connections = pids.length;
  try {
    const all = [...others, ...pids];
    return { connections, serverBytes: sum(all, readPss), serverCpuMicros: sum(all, readCpu) };
  } catch {
    return { connections }; // another machine, another user, another system
  }
}

/** @param {number[]} pids @param {(pid: number) => number} read */
function sum(pids, read) {
  return pids.reduce((total, pid) => total + read(pid), 0);
}

/** @param {number} pid */
function readPss(pid) {
  const name = fs.readFileSync(`/proc/${pid}/comm`, 'utf8').trim();
  if (!/^(postgres|pgbouncer)$/.test(name)) throw new Error(`${pid} is ${name}`);
  const [, kibibytes] = /^Pss:\s+(\d+) kB$/m.exec(
    fs.readFileSync(`/proc/${pid}/smaps_rollup`, 'utf8'),
  ) ?? [undefined, NaN];
  return 1024 * Number(kibibytes);
}

/** @param {number} pid @returns {number} microseconds */
function readCpu(pid) {
  const [nanos] = fs.readFileSync(`/proc/${pid}/schedstat`, 'utf8').split(' ');
  return Number(nanos) / 1000;
}

/**
 * The server's process and those of its children that have ended, so that connections count that are made and closed
 * meanwhile. Linux counts it in hundredths of a second.
 * @param {import('.').Target} server on this machine
 * @returns {Promise<number | undefined>} microseconds; undefined where it cannot be read
 */
async function readServerCpu(server) {
  /** @type {number | undefined} */
  let micros;
  await withClient(server, async (client) => {
    const { rows } = await client.query('select pg_backend_pid() as pid');
    try {
      const [, parent] = readStat(rows[0].pid);
      const ticks = readStat(parent).slice(11, 15);
      micros = ticks.reduce((total, count) => total + count * 10_000, 0);
    } catch {
      // another machine, another user, another system
    }
  });
  return micros;
}

/** @param {number} pid @returns {number[]} the fields behind the name, proc_pid_stat(5) */
function readStat(pid) {
  const stat = fs.readFileSync(`/proc/${pid}/stat`, 'utf8');
  return stat
    .slice(stat.lastIndexOf(')') + 2)
    .split(' ')
    .map(Number);
}

module.exports = { nameConnections, readBackends, readServerCpu, untilOthersHaveGone };
