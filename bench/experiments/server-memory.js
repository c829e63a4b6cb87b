'use strict';

// What backends hold in memory, as far as it is theirs: the proportional set size that Linux tells of each process. Called
// by one-connection.js.

const fs = require('node:fs');
const { withClient } = require('../tables');

const BACKENDS = `
  select pid from pg_stat_activity
  where backend_type = 'client backend' and datname = current_database() and pid <> pg_backend_pid()`;

/**
 * @param {import('.').Target} server on this machine, and with no clients but those that are measured
 * @param {number[]} others processes that are counted too
 * @returns {Promise<number | undefined>} undefined where it cannot be read
 */
async function readServerMemory(server, others) {
  /** @type {number[]} */
  const pids = [...others];
  await withClient(server, async (client) => {
    const { rows } = await client.query(BACKENDS);
    pids.push(...rows.map(({ pid }) => pid));
  });
  try {
    return pids.reduce((sum, pid) => sum + readPss(pid), 0);
  } catch {
    return undefined; // another machine, another user, another system
  }
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

module.exports = { readServerMemory };
