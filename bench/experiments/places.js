'use strict';

// What stands between an arm and the server, in the process of run.js: a PgBouncer, a network with a latency. And users
// who keep the server busy meanwhile. Called by the setUp() of the experiments.

const { fork } = require('node:child_process');
const { once } = require('node:events');
const path = require('node:path');
const { toConnectionString } = require('../../scripts/database');
const { startPgBouncer } = require('../../scripts/pgbouncer');
const { withClient } = require('../tables');

/**
 * @typedef {import('.').Target} Target
 * @typedef {import('.').Around} Around
 */

/** Round trips of which the median is told. */
const ROUND_TRIPS = 5;

/**
 * Without one on the machine its arms say so, and the others go on.
 * @param {Target} server
 * @param {import('../../scripts/pgbouncer').PgBouncerOptions} options
 * @returns {Promise<Around>}
 */
async function withPgBouncer({ config }, options) {
  try {
    const {
      connectionString,
      config: own,
      version,
      pid,
      stop,
    } = await startPgBouncer(config, options);
    const target = { connectionString, config: own, pid };
    const pooled = `pools of ${options.poolSize} in mode ${options.poolMode}`;
    return {
      places: { pgbouncer: target },
      facts: { PgBouncer: `${version}, ${pooled}, over a unix socket` },
      tearDown: stop,
    };
  } catch (error) {
    const { message } = /** @type {Error} */ (error);
    return { places: { pgbouncer: { error: message } }, tearDown: async () => {} };
  }
}

/**
 * @param {Target} server
 * @param {number} roundTripMillis
 * @returns {Promise<Around>}
 */
async function withLatency({ connectionString: address, config }, roundTripMillis) {
  // It needs our driver, which is not to be loaded in the processes of the other arms.
  const { Proxy } = require('../../test/support/proxy');
  const proxy = await Proxy.open(address);
  proxy.delayMillis = roundTripMillis / 2;
  const { password, ...rest } = config;
  const own = { ...rest, host: '127.0.0.1', port: proxy.port };
  // The proxy reads messages, and the answer to a request for TLS is none.
  const connectionString = `${toConnectionString(own)}&sslmode=disable`;
  const target = { connectionString, config: own };
  const measuredMillis = await measureRoundTrip({ ...target, config: { ...own, password } });
  return {
    places: { latency: { ...target, roundTripMillis: measuredMillis } },
    facts: {
      [`Latency of ${roundTripMillis / 2} ms`]: `by the proxy of the fault tests, over TCP; a round trip takes ${measuredMillis.toFixed(1)} ms`,
    },
    tearDown: () => proxy.close(),
  };
}

/** @param {Target} target */
async function measureRoundTrip(target) {
  /** @type {number[]} */
  const samples = [];
  await withClient(target, async (client) => {
    for (let i = 0; i <= ROUND_TRIPS; i++) {
      const start = performance.now();
      await client.query('select 1');
      samples.push(performance.now() - start);
    }
  });
  return samples.sort((a, b) => a - b)[ROUND_TRIPS >> 1];
}

/**
 * @param {Target} server
 * @param {import('./busy-users').Users} users
 * @returns {Promise<Around>}
 */
async function withBusyUsers({ connectionString, config }, users) {
  const child = fork(path.join(__dirname, 'busy-users.js'), [], {
    stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  const exited = once(child, 'exit');
  child.send({ ...users, connectionString, password: config.password });
  const [answer] = await Promise.race([once(child, 'message'), exited]);
  if (answer !== 'busy') throw new Error('The users that keep the server busy have gone');
  return {
    places: {},
    async tearDown() {
      if (child.connected) child.disconnect();
      await exited;
    },
  };
}

/**
 * Several around one workload, ended in the other order.
 * @param {(() => Promise<Around>)[]} starts
 * @returns {Promise<Around>}
 */
async function together(...starts) {
  /** @type {Around[]} */
  const all = [];
  const tearDown = async () => {
    for (const one of all.reverse()) await one.tearDown();
  };
  try {
    for (const start of starts) all.push(await start());
  } catch (error) {
    await tearDown();
    throw error;
  }
  return {
    places: Object.assign({}, ...all.map(({ places }) => places)),
    facts: Object.assign({}, ...all.map(({ facts }) => facts)),
    tearDown,
  };
}

module.exports = { together, withBusyUsers, withLatency, withPgBouncer };
