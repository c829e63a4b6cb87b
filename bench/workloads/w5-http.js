'use strict';

// W5: an HTTP server on a pool, one route at a time under load from another process. Run by child.js.

const { LoadProcess, checkLoaded } = require('../http/load-process');
const { Server } = require('../http/server');
const { verifyRoute } = require('../http/verify');
const { startMeters } = require('../measure');

const HTTP_CONNECTIONS = 64;
/** In less, the 64 slowest requests would be most of them. */
const MIN_MILLIS = 500;

/** @type {LoadProcess | undefined} one for all routes: loading autocannon takes longer than a warm-up */
let load;

/**
 * @param {Server} server
 * @param {string} route
 * @param {import('../measure').Timing} timing
 * @returns {Promise<import('../measure').Measurement>}
 */
async function measureRoute(server, route, { warmupMillis, measureMillis }) {
  load ??= new LoadProcess();
  const target = { url: server.url + route, connections: HTTP_CONNECTIONS };
  const warm = await warmUp(load, server, target, warmupMillis);
  const millis = Math.max(MIN_MILLIS, measureMillis);
  const wanted = Math.round(((warm.requests / warm.seconds) * millis) / 1000);
  // So many requests and not so much time: each that costs CPU is counted.
  const amount = Math.max(HTTP_CONNECTIONS, wanted);
  const stop = startMeters();
  const loaded = checkLoaded(await load.run({ ...target, amount }), server);
  const { cpuMicros } = stop();
  const { requests: operations, seconds, p50Micros, p99Micros } = loaded;
  return { operations, seconds, cpuMicros, p50Micros, p99Micros };
}

/**
 * For so long, or until each connection was answered once: before that the driver's rate is not known.
 * @param {LoadProcess} loading
 * @param {Server} server
 * @param {{ url: string, connections: number }} target
 * @param {number} millis
 */
async function warmUp(loading, server, target, millis) {
  let warm = await loading.run({ ...target, millis });
  await server.settle();
  const isTooShort = warm.requests < target.connections && warm.errors + warm.non2xx === 0;
  if (isTooShort) warm = await loading.run({ ...target, amount: target.connections });
  return checkLoaded(warm, server);
}

/** @type {import('.').Workload} */
module.exports = {
  id: 'w5',
  title: `W5: HTTP server on a pool of 10, ${HTTP_CONNECTIONS} HTTP connections`,
  unit: 'request',
  bound: 'no-database',
  cases: ['/db', '/queries?n=20', '/updates?n=20', '/fortunes'].map((route) => ({
    name: route,
    max: 10,
    once: true,
    unitsPerOperation: 1,
    async run(session, timing) {
      const server = new Server(session);
      await server.start();
      await verifyRoute(server.url, route, session).catch((error) => {
        throw server.error ?? error;
      });
      const measurement = await measureRoute(server, route, timing);
      await server.end();
      return measurement;
    },
  })),
};
