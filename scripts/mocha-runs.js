'use strict';

// Runs of mocha as processes of their own, side by side, whose output is printed one run after the other. Called by
// shards.js, test-memory.js and matrix.js.

const { spawn } = require('node:child_process');
const { once } = require('node:events');
const path = require('node:path');

const ROOT = path.join(__dirname, '..');

/**
 * @typedef {object} Run
 * @property {string} title printed before what it has printed
 * @property {string[]} [command] Node.js, and what stands before it
 * @property {string[]} args of mocha
 * @property {Record<string, string | undefined>} [env] added to ours
 *
 * @typedef {{ passing: number, failing: number, code: number, seconds: number }} Outcome
 */

/** @param {Run} run @returns {Promise<Outcome>} */
async function runMocha({ title, command = [process.execPath], args, env }) {
  const started = performance.now();
  const [program, ...before] = command;
  const run = spawn(program, [...before, require.resolve('mocha/bin/mocha.js'), ...args], {
    cwd: ROOT,
    stdio: ['ignore', 'pipe', 'pipe'],
    env: { ...process.env, ...env },
  });
  let output = '';
  for (const stream of [run.stdout, run.stderr]) {
    stream.setEncoding('utf8').on('data', (text) => (output += text));
  }
  const [code] = await once(run, 'close');
  process.stdout.write(`\n== ${title}\n${output}`);
  /** @param {string} what */
  const count = (what) => {
    const lines = [...output.matchAll(new RegExp(`^ *(\\d+) ${what}`, 'gm'))];
    return Number(lines.at(-1)?.[1] ?? 0);
  };
  return {
    passing: count('passing'),
    failing: count('failing'),
    // One that is killed has none.
    code: code ?? 1,
    seconds: (performance.now() - started) / 1000,
  };
}

/**
 * @param {Run[]} runs
 * @param {number} atOnce
 * @returns {Promise<Outcome[]>} in the order of the runs
 */
async function runAll(runs, atOnce) {
  /** @type {Outcome[]} */
  const outcomes = [];
  let next = 0;
  const lane = async () => {
    while (next < runs.length) {
      const index = next++;
      outcomes[index] = await runMocha(runs[index]);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, lane));
  return outcomes;
}

/**
 * Prints what CI counts, as mocha writes it, and sets the exit code.
 * @param {Outcome[]} outcomes
 * @param {string} where
 */
function printSum(outcomes, where) {
  const sum = (/** @type {'passing' | 'failing'} */ name) =>
    outcomes.reduce((total, outcome) => total + outcome[name], 0);
  console.log(`\n  ${sum('passing')} passing in ${where}`);
  if (sum('failing') > 0) console.log(`  ${sum('failing')} failing in ${where}`);
  process.exitCode ||= outcomes.find(({ code }) => code !== 0)?.code;
}

module.exports = { printSum, runAll };
