'use strict';

// Test files that run again in a process of other circumstances: another time zone, other options
// of Node.js. On the run's server, whose schema each of them makes anew.

const { execFile } = require('node:child_process');
const path = require('node:path');
const { promisify } = require('node:util');

const ROOT = path.join(__dirname, '..', '..');
const IN_CHILD = 'PG_CONDUIT_TEST_CHILD';

/** Whether this process is such a child: what starts one does not belong there. */
const inChild = process.env[IN_CHILD] !== undefined;

/**
 * What another run has printed, as a part of ours: who counts the lines "N passing" must not take its
 * for ours.
 * @param {string} output
 */
function quote(output) {
  return output.replaceAll(/^/gm, '| ');
}

/**
 * @param {string[]} files
 * @param {{ nodeOptions?: string[], env?: Record<string, string> }} circumstances
 * @returns {Promise<string>} what mocha has printed
 */
async function runSpecs(files, { nodeOptions = [], env = {} }) {
  const mocha = path.join(path.dirname(require.resolve('mocha/package.json')), 'bin', 'mocha.js');
  const { ...inherited } = process.env;
  delete inherited.NODE_OPTIONS;
  try {
    const { stdout } = await promisify(execFile)(
      process.execPath,
      [...nodeOptions, mocha, '--no-config', '--timeout', '60000', ...files],
      { cwd: ROOT, env: { ...inherited, ...env, [IN_CHILD]: '1' }, maxBuffer: 64 << 20 },
    );
    return stdout;
  } catch (error) {
    throw new Error(`tests have failed there:\n${quote(error.stdout ?? error.message)}`, {
      cause: error,
    });
  }
}

module.exports = { inChild, quote, runSpecs };
