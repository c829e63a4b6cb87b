'use strict';

// `npm run test:matrix`: the tests on several versions of Node.js and of PostgreSQL, all with the one
// addon that the Node.js of the checkout has built: Node-API must carry it everywhere. Prints one table
// at its end. `--help` tells the options.

const { createHash } = require('node:crypto');
const fs = require('node:fs');
const path = require('node:path');
const { parseArgs } = require('node:util');
const Table = require('cli-table3');
const { startDatabase } = require('./database');
const { getNode, getServer } = require('./matrix-parts');
const { printSum, runAll } = require('./mocha-runs');

const ROOT = path.join(__dirname, '..');
const USAGE = `npm run test:matrix -- [options]
  --node N       a version of Node.js, or newest; more than once (20, 22, 24 and newest)
  --server N     a major version of PostgreSQL, installed or embedded; more than once (15 and 18)
  --tests NAME   core, short or all (core)
  --short        short tests on 22 and newest, each with another one of the servers
  --prebuilds    the addon of prebuilds/, not the one of build/Release
  --help`;

const SUPPORT = path.join('test', 'support');
/** @type {Record<string, string[]>} what mocha is told */
const TESTS = {
  core: ['--config', path.join(SUPPORT, 'core.mocharc.js')],
  short: ['--config', path.join(SUPPORT, 'matrix.mocharc.js')],
  all: ['--config', path.join(SUPPORT, 'all.mocharc.js')],
};

/**
 * @typedef {import('./matrix-parts').Runtime} Runtime
 * @typedef {import('./matrix-parts').Server} Server
 * @typedef {{ node: Runtime, server: Server }} Cell
 * @typedef {import('./mocha-runs').Outcome} Outcome
 */

function readOptions() {
  const { values } = parseArgs({
    options: {
      node: { type: 'string', multiple: true },
      server: { type: 'string', multiple: true },
      tests: { type: 'string' },
      short: { type: 'boolean', default: false },
      prebuilds: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  const { short, prebuilds, help } = values;
  const tests = values.tests ?? (short ? 'short' : 'core');
  if (!(tests in TESTS)) throw new Error(`--tests is "${tests}"\n${USAGE}`);
  const nodes = values.node ?? (short ? ['22', 'newest'] : ['20', '22', '24', 'newest']);
  return { nodes, servers: values.server ?? ['15', '18'], tests, short, prebuilds, help };
}

/** @param {boolean} prebuilds */
function findAddon(prebuilds) {
  // Read by node-gyp-build when it is loaded, here and in every process of the tests.
  if (prebuilds) process.env.PREBUILDS_ONLY = '1';
  // @ts-expect-error it comes without types
  const file = require('node-gyp-build').path(ROOT);
  const digest = createHash('sha256').update(fs.readFileSync(file)).digest('hex');
  return { file: path.relative(ROOT, file), digest };
}

/**
 * Mocha in a Node.js, which is also the `node` of the processes that tests start.
 * @param {Cell} cell @param {string} tests
 */
function describeRun({ node, server }, tests) {
  return {
    title: `${tests} tests on Node.js ${node.version}, PostgreSQL ${server.name}`,
    command: [node.binary],
    args: TESTS[tests],
    env: {
      PATH: [path.dirname(node.binary), process.env.PATH].join(path.delimiter),
      PG_CONDUIT_TEST_SERVER: server.setting,
    },
  };
}

/** @param {Server} server its version, as it says itself */
async function askVersion(server) {
  process.env.PG_CONDUIT_TEST_SERVER = server.setting;
  const database = await startDatabase({ own: true });
  await database.stop();
  delete process.env.PG_CONDUIT_TEST_SERVER;
  return String(database.version);
}

/** @param {Cell[]} cells @param {Outcome[]} outcomes */
function print(cells, outcomes) {
  const table = new Table({
    head: ['Node.js', 'OpenSSL', 'libuv', 'PostgreSQL', 'passing', 'failing', 'seconds', ''],
    style: { head: [], border: [] },
  });
  outcomes.forEach(({ passing, failing, code, seconds }, index) => {
    const { node, server } = cells[index];
    const verdict = code === 0 ? 'ok' : `exit ${code}`;
    const { version, openssl, uv } = node;
    const counts = [passing, failing, Math.round(seconds)];
    table.push([version, openssl, uv, server.name, ...counts, verdict]);
  });
  console.log(table.toString());
}

async function main() {
  const { nodes, servers, tests, short, prebuilds, help } = readOptions();
  if (help) {
    console.log(USAGE);
    return;
  }
  // All servers must be those that the table names.
  delete process.env.PG_CONDUIT_DATABASE_URL;
  const addon = findAddon(prebuilds);
  const runtimes = nodes.map(getNode);
  const databases = servers.map(getServer);
  for (const server of databases) server.name = await askVersion(server);
  const cells = short
    ? runtimes.map((node, index) => ({ node, server: databases[index % databases.length] }))
    : databases.flatMap((server) => runtimes.map((node) => ({ node, server })));

  // Those that run all tests have processes enough.
  const atOnce = tests === 'all' ? 1 : 2;
  const outcomes = await runAll(
    cells.map((cell) => describeRun(cell, tests)),
    atOnce,
  );
  print(cells, outcomes);
  console.log(`All with ${addon.file}, sha256 ${addon.digest}`);
  if (findAddon(prebuilds).digest !== addon.digest) {
    throw new Error(`${addon.file} is not the one any more that this began with`);
  }
  printSum(outcomes, 'all cells');
}

main().catch((error) => {
  console.error(error);
  process.exitCode = 1;
});
