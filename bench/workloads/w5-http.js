'use strict';

// W5: an HTTP server on a pool, one route at a time under load from another process. Run by child.js.

const { LoadProcess, checkLoaded } = require('../http/load-process');
const { Server } = require('../http/server');
const { verifyRoute } = require('../http/verify');
const { percentiles, startMeters } = require('../measure');
const { inTurn } = require('../turn-clock');

const HTTP_CONNECTIONS = 64;
/** Node.js's own HTTP server and the load's process are compiled as well: requests become cheaper for 6 s. */
const WARMUP_TIMES = 2;
/** In less, the 64 slowest requests would be most of them. */
const MIN_MILLIS = 500;
/** In so many turns, each half as long as other workloads are measured: a load begins with new connections. */
const PARTS = 4;

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
  const loading = load;
  const warm = await inTurn(() => warmUp(loading, server, target, WARMUP_TIMES * warmupMillis));
  const partMillis = Math.max(MIN_MILLIS, measureMillis) / 2;
  const wanted = Math.round(((warm.requests / warm.seconds) * partMillis) / 1000);
  // So many requests and not so much time: each that costs CPU is counted.
  const order = { ...target, amount: Math.max(HTTP_CONNECTIONS, wanted), keepsLatencies: true };
  const all = { operations: 0, seconds: 0, cpuMicros: 0 };
  /** @type {number[]} */
  const latencies = [];
  for (let part = 0; part < PARTS; ++part) {
    await inTurn(async () => {
      const stop = startMeters();
      const loaded = checkLoaded(await loading.run(order), server);
      all.cpuMicros += stop().cpuMicros;
      all.seconds += loaded.seconds;
      all.operations += loaded.requests;
      for (const millis of loaded.latencies ?? []) latencies.push(millis);
    });
  }
  return { ...all, ...percentiles(latencies) };
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
  inTurns: true,
  bound: 'no-database',
  cases: ['/db', '/queries?n=20', '/updates?n=20', '/fortunes'].map((route) => ({
    name: route,
    max: 10,
    once: true,
    unitsPerOperation: 1,
    async run(session, timing) {
      const server = new Server(session);
      await server.start();
      // Others update the same rows.
      await inTurn(() => verifyRoute(server.url, route, session)).catch((error) => {
        throw server.error ?? error;
      });
      const measurement = await measureRoute(server, route, timing);
      await server.end();
      return measurement;
    },
  })),
};
