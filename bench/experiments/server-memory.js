'use strict';

// What backends hold in memory, as far as it is theirs: the proportional set size that Linux tells of each process. Called
// by one-connection.js.

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

/**
 * What backends have in common is divided among all that are there.
 * @param {import('.').Target} server
 */
async function untilOthersHaveGone(server) {
  const giveUpAt = Date.now() + PATIENCE_MILLIS;
  await withClient(server, async (client) => {
    while ((await client.query(OTHERS)).rows[0].count > 0 && Date.now() < giveUpAt) await delay(50);
  });
}

/**
 * Of the backends with the application_name of this process.
 * @param {import('.').Target} server on this machine
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

module.exports = { readServerMemory, untilOthersHaveGone };
