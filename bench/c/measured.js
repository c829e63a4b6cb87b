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
    const options = { env, signal, timeout: LIMIT_MILLIS };
    const child = execFile(program, args, options, (error, stdout, stderr) => {
      if (error) {
        resolve({ case: one.name, error: stderr.trim() || error.message.split('\n')[0] });
        return;
      }
      const measurement = JSON.parse(stdout);
      resolve({ case: one.name, measurement: turns?.correct(child, measurement) ?? measurement });
    });
    turns?.enterProgram(child);
  });
}

module.exports = { runMeasured };
