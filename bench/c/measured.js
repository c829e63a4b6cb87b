'use strict';

// A program that measures itself, and prints the measurement as JSON. Used by limit.js and the anchors.

const { execFile } = require('node:child_process');

const LIMIT_MILLIS = 60_000;

/**
 * @param {{ name: string }} one case
 * @param {string} program
 * @param {string[]} args
 * @param {{ password?: string, signal: AbortSignal }} given
 * @returns {Promise<import('../child').Message>}
 */
function runMeasured(one, program, args, { password, signal }) {
  const env = password ? { ...process.env, PGPASSWORD: password } : process.env;
  return new Promise((resolve) => {
    execFile(program, args, { env, signal, timeout: LIMIT_MILLIS }, (error, stdout, stderr) => {
      if (error) resolve({ case: one.name, error: stderr.trim() || error.message.split('\n')[0] });
      else resolve({ case: one.name, measurement: JSON.parse(stdout) });
    });
  });
}

module.exports = { runMeasured };
