'use strict';

// `npm run bench` as a process of its own. For the tests of the bench.

const { spawn } = require('node:child_process');
const { once } = require('node:events');
const path = require('node:path');

const RUN = path.join(__dirname, '..', '..', 'bench', 'run.js');

/**
 * @param {string} folder in which it runs
 * @param {string[]} args
 * @param {Record<string, string | undefined>} [env] without a value a variable is not passed on
 */
function startBench(folder, args, env) {
  const child = spawn(process.execPath, [RUN, ...args], {
    cwd: folder,
    env: { ...process.env, PG_CONDUIT_TEST_SERVER: undefined, ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  const run = { child, output: '', errors: '', closed: once(child, 'close') };
  child.stdout.on('data', (chunk) => (run.output += chunk));
  child.stderr.on('data', (chunk) => (run.errors += chunk));
  return run;
}

module.exports = { startBench };
