'use strict';

// The tests of a configuration of mocha in several processes side by side, each with a part of the files and a server
// of its own. Unlike in mocha's parallel mode each process ends by itself, which it does not when a test has left
// something open, and its end is judged, which is where memory checkers tell what they have found.
//   node scripts/shards.js CONFIG [arguments of mocha]

const path = require('node:path');
const { printSum, runAll } = require('./mocha-runs');

/**
 * @param {number} wanted
 * @returns {number} that many, or one where somebody's own server is for all
 */
function shardCount(wanted) {
  return process.env.PG_CONDUIT_DATABASE_URL === undefined ? wanted : 1;
}

/**
 * @param {string} config
 * @param {{ args?: string[], command?: string[], envs: Record<string, string>[] }} how `envs` has what is
 *   added to the environment of each
 */
async function runShards(config, { args = [], command, envs }) {
  const count = envs.length;
  const runs = envs.map((env, index) => ({
    title: `${path.basename(config)}, part ${index + 1} of ${count}`,
    command,
    args: ['--config', config, ...args],
    env: { ...env, PG_CONDUIT_TEST_SHARD: `${index}/${count}` },
  }));
  printSum(await runAll(runs, count), 'all parts');
}

if (require.main === module) {
  const [config, ...args] = process.argv.slice(2);
  // More than cores, since tests wait.
  runShards(config, { args, envs: Array(shardCount(3)).fill({}) });
}

module.exports = { runShards, shardCount };
