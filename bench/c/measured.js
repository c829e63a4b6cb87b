'use strict';

// A program that measures itself, and prints the measurement as JSON. Used by limit.js and the anchors.

const { execFile } = require('node:child_process');

const LIMIT_MILLIS = 60_000;

/**
 * @param {{ name: string }} one case
 * @param {string} program
 * @param {string[]} args
 * @param {{ password?: string, signal: AbortSignal, turns?: import('../turns').Turns }} given
 * @returns {Promise<import('../child').Message>}
 */
function runMeasured(one, program, args, { password, signal, turns }) {
  const env = password ? { ...process.env, PGPASSWORD: password } : process.env;
  return new Promise((resolve) => {
    // One that is stopped (turns.js) obeys no other signal.
    const options = { env, timeout: LIMIT_MILLIS, killSignal: /** @type {const} */ ('SIGKILL') };
    const stop = () => child.kill('SIGKILL');
    const child = execFile(program, args, options, (error, stdout, stderr) => {
      signal.removeEventListener('abort', stop);
      if (error) {
        resolve({ case: one.name, error: stderr.trim() || error.message.split('\n')[0] });
        return;
      }
      const measurement = JSON.parse(stdout);
      resolve({ case: one.name, measurement: turns?.correct(child, measurement) ?? measurement });
    });
    signal.addEventListener('abort', stop);
    turns?.enterProgram(child);
  });
}

module.exports = { runMeasured };
