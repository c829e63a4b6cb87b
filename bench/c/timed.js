'use strict';

// A program run to its end, with the CPU that it took. Used by pgbench.js and experiments/psql.js.

const { execFile } = require('node:child_process');

const LIMIT_MILLIS = 60_000;
/** Node does not tell the CPU of a child; bash does, to the millisecond. */
const TIMED = 'TIMEFORMAT="cpu %3U %3S"; time "$@"';

/**
 * @param {string} program
 * @param {string[]} args
 * @param {{ password?: string, signal?: AbortSignal }} [given]
 * @returns {Promise<{ stdout: string, cpuMicros: number }>}
 */
function runTimed(program, args, { password, signal } = {}) {
  const env = { ...process.env, LC_ALL: 'C', ...(password && { PGPASSWORD: password }) };
  const options = { env, signal, timeout: LIMIT_MILLIS };
  return new Promise((resolve, reject) => {
    execFile('bash', ['-c', TIMED, 'bash', program, ...args], options, (error, stdout, stderr) => {
      const [, user, system] = /^cpu (\S+) (\S+)$/m.exec(stderr) ?? [];
      if (error || !user) {
        reject(new Error(stderr.trim().split('\n')[0] || error?.message || stdout.trim()));
        return;
      }
      resolve({ stdout, cpuMicros: 1e6 * (Number(user) + Number(system)) });
    });
  });
}

module.exports = { runTimed };
