'use strict';

// Worker threads and the processes of a cluster: with how many connections each is served well. One of the experiments of
// index.js.

const { LoadProcess, checkLoaded } = require('../http/load-process');
const { get } = require('../http/verify');
const { withMembers } = require('./members');
const { withLatency } = require('./places');

/**
 * @typedef {import('.').Context} Context
 * @typedef {import('./members').Members} Members
 * @typedef {import('.').Arm & { each: number }} Arm
 */

const SIZES = {
  full: {
    workers: 4,
    callers: 64,
    warmMillis: 1000,
    millis: 3000,
    clients: 2000,
    requests: 20_000,
  },
  tiny: { workers: 2, callers: 4, warmMillis: 20, millis: 200, clients: 8, requests: 40 },
};
const SLOW_MILLIS = 5;
const ROUND_TRIP_MILLIS = 5;
/** So many of the requests are made before. */
const WARM_PART = 0.25;

/** @type {Arm[]} */
const ARMS = Object.entries({
  'pg-conduit': [1, 2, 10],
  pg: [1, 2, 10, 50],
  'pg-pipeline': [1, 2],
  postgres: [1, 2, 10, 50],
}).flatMap(([driver, counts]) =>
  counts.map((each) => ({
    name: `${driver}, ${each} each`,
    driver,
    ours: driver === 'pg-conduit',
    settings: `${each === 1 ? 'a Client' : `a Pool with max: ${each}`} in each`,
    each,
  })),
);

/**
 * @param {Arm} arm
 * @param {Context} context
 * @param {import('./members').Kind} kind
 * @param {{ workers: number, callers: number }} size
 * @param {(members: Members) => Promise<import('../measure').Measurement>} measure
 */
function withWorkers({ driver, each }, { server, places }, kind, { workers, callers }, measure) {
  const target = places.latency ?? server;
  const choices = { max: each, openAll: true };
  const job = { driver, target, choices, callers, slowMillis: SLOW_MILLIS };
  return withMembers({ count: workers, kind, job, server }, measure);
}

/**
 * @param {Members} cluster
 * @param {string} route
 * @param {{ clients: number, requests: number }} size
 */
async function measureHttp(cluster, route, { clients, requests }) {
  const [{ url: base }] = await cluster.ask({ what: 'serve' });
  const url = base + route;
  await get(url);
  const load = new LoadProcess();
  const run = async (/** @type {number} */ amount) => {
    const loaded = await load.run({ url, connections: clients, amount, skipsFirst: true });
    return checkLoaded(loaded, {});
  };
  await run(Math.max(clients, Math.ceil(requests * WARM_PART)));
  await cluster.ask({ what: 'begin' });
  const { requests: operations, seconds, p50Micros, p99Micros } = await run(requests);
  const { cpuMicros } = await cluster.measure({ what: 'stop' });
  return { operations, seconds, cpuMicros, p50Micros, p99Micros };
}

/** @type {import('.').Experiment<Arm>} */
module.exports = {
  id: 'many-processes',
  title: 'Worker threads and clusters',
  about:
    'How many connections does each worker thread, or each process of a cluster, need, and what do they cost the server?',
  ours: 'pg-conduit, 2 each',
  arms: ARMS,
  workloads(size) {
    const { workers, callers, warmMillis, millis, clients, requests } = SIZES[size];
    /** @param {Arm} arm */
    const isServer = ({ each, ours }) => each === 2 || each === 50 || Boolean(ours);
    /** @param {string} name @param {string} route */
    const httpCase = (name, route) => ({
      name,
      unitsPerOperation: 1,
      takesPart: isServer,
      run: (/** @type {Arm} */ arm, /** @type {Context} */ context) =>
        withWorkers(arm, context, 'cluster', SIZES[size], (cluster) =>
          measureHttp(cluster, route, { clients, requests }),
        ),
    });
    const http = `${clients.toLocaleString('en')} HTTP callers of a cluster of ${workers}`;
    return [
      {
        id: 'threads',
        title: `${workers} worker threads, each with ${callers} callers`,
        unit: 'query',
        cases: [
          {
            name: 'point selects',
            unitsPerOperation: 1,
            ours: 'pg-conduit, 1 each',
            takesPart: ({ each }) => each === 1 || each === 10,
            run: (arm, context) =>
              withWorkers(arm, context, 'threads', SIZES[size], async (threads) => {
                const work = { what: /** @type {const} */ ('work'), thinkMillis: 0, slowPart: 0 };
                await threads.measure({ ...work, millis: warmMillis });
                return threads.measure({ ...work, millis });
              }),
          },
        ],
      },
      {
        id: 'http',
        title: `${http}, with one query for each request`,
        unit: 'request',
        cases: [
          httpCase('a point select', '/db'),
          httpCase(`${SLOW_MILLIS} ms at the server`, '/slow'),
        ],
      },
      {
        id: 'http-far',
        title: `${http}, with a server that is some ${ROUND_TRIP_MILLIS} ms away`,
        unit: 'request',
        cases: [httpCase('a point select', '/db')],
        setUp: (server) => withLatency(server, ROUND_TRIP_MILLIS),
      },
    ];
  },
};
