'use strict';

// What a query and a connection cost, at the client and at the server: the constants of the cost model in
// docs/scaling.md. One of the experiments of index.js.

const { getDriver } = require('../drivers');
const { closedLoop, newRandom, runCallers } = require('../measure');
const { settleMemory } = require('../memory');
const { SELECT_POINT } = require('../tables');
const { selectPoint } = require('../workloads/point-select');
const { nameConnections, readBackends, readServerCpu, untilOthersHaveGone } = require('./backends');
const { timed } = require('./timed');

/**
 * @typedef {import('.').Context} Context
 * @typedef {import('../drivers').Session} Session
 * @typedef {import('.').Arm & { syncGroup?: 'reads' }} Arm
 */

const SIZES = {
  full: {
    callers: [1, 4, 16, 64, 256],
    timing: { warmupMillis: 500, measureMillis: 2000 },
    connections: 50,
    statements: [1, 100],
    openings: 500,
  },
  tiny: {
    callers: [1, 4],
    timing: { warmupMillis: 20, measureMillis: 100 },
    connections: 2,
    statements: [1, 3],
    openings: 5,
  },
};
/** Until each driver has prepared a statement. */
const USES = 3;

/** @type {Arm[]} */
const ARMS = [
  { name: 'pg-conduit', driver: 'pg-conduit', ours: true, settings: 'Client' },
  {
    name: 'pg-conduit, Sync groups',
    driver: 'pg-conduit',
    ours: true,
    settings: "Pool with max: 1, syncGroup: 'reads'",
    syncGroup: 'reads',
  },
  { name: 'pg', driver: 'pg', settings: 'Client, named statements' },
  {
    name: 'pg-pipeline',
    driver: 'pg-pipeline',
    settings: 'Client with pipeline: true, named statements',
  },
];

const random = newRandom(19);

/** @param {Arm} arm @param {Context} context */
function connector({ driver: name, syncGroup }, { target }) {
  nameConnections();
  const driver = getDriver(name);
  driver.load();
  return () => driver.connect({ ...target, max: 1, syncGroup });
}

/**
 * How queries are sent makes no difference to a connection as such.
 * @param {Arm} arm
 */
function opensItsOwnWay({ name }) {
  return name === 'pg-conduit' || name === 'pg';
}

/**
 * @param {Arm} arm
 * @param {Context} context
 * @param {number} callers
 * @param {import('../measure').Timing} timing
 */
async function measureQueries(arm, context, callers, timing) {
  const session = await connector(arm, context)();
  const read = () => selectPoint(session, random);
  const { warmupMillis, measureMillis } = timing;
  // Apart, so that the server's CPU is that of the measured time.
  await runCallers(read, callers, warmupMillis);
  const before = await readBackends(context.server);
  const loop = { inFlight: callers, warmupMillis: 0, measureMillis, latency: true };
  const measured = await closedLoop(read, loop);
  const after = await readBackends(context.server);
  await session.end();
  return { ...measured, serverCpuMicros: between(before, after) };
}

/**
 * @param {{ serverCpuMicros?: number }} before
 * @param {{ serverCpuMicros?: number }} after
 */
function between(before, after) {
  if (before.serverCpuMicros === undefined || after.serverCpuMicros === undefined) return undefined;
  return after.serverCpuMicros - before.serverCpuMicros;
}

/**
 * Of one connection, from that of many.
 * @param {Arm} arm
 * @param {Context} context
 * @param {number} count
 * @param {number} statements that each has prepared
 */
async function measureMemory(arm, context, count, statements) {
  const connect = connector(arm, context);
  const open = async (/** @type {number} */ sessions) => {
    const all = [];
    for (let i = 0; i < sessions; i++) {
      const session = await connect();
      for (let statement = 0; statement < statements; statement++) {
        const text = `${SELECT_POINT} and ${statement} = ${statement}`;
        for (let use = 0; use < USES; use++) await selectPoint(session, random, text);
      }
      all.push(session);
    }
    return all;
  };
  await untilOthersHaveGone(context.server);
  const warm = await open(1);
  const before = settleMemory();
  const all = await open(count);
  const memoryBytes = (settleMemory() - before) / count;
  const { connections, serverBytes } = await readBackends(context.server);
  await Promise.all([...warm, ...all].map((session) => session.end()));
  return {
    operations: count,
    seconds: 0,
    cpuMicros: 0,
    memoryBytes,
    ...(serverBytes !== undefined && { serverBytes: serverBytes / connections }),
  };
}

/** @type {import('.').Experiment<Arm>} */
module.exports = {
  id: 'costs',
  title: 'What a query and a connection cost',
  about:
    'What CPU does a query take at the client and at the server, by the number of those that share a connection, and what ' +
    'does a connection cost? These are the constants of the cost model in docs/scaling.md.',
  ours: ARMS[0].name,
  arms: ARMS,
  workloads(size) {
    const { callers: counts, timing, connections, statements, openings } = SIZES[size];
    return [
      {
        id: 'queries',
        title: 'Point selects on one connection',
        unit: 'query',
        cases: counts.map((callers) => ({
          name: `${callers} callers`,
          series: 'callers',
          x: callers,
          unitsPerOperation: 1,
          run: (arm, context) => measureQueries(arm, context, callers, timing),
        })),
      },
      {
        id: 'opening',
        title: 'Making a connection, one select, and closing it',
        unit: 'connection',
        cases: [
          {
            name: 'one connection',
            isTimed: true,
            unitsPerOperation: 1,
            takesPart: opensItsOwnWay,
            async run(arm, context) {
              const connect = connector(arm, context);
              const open = async (/** @type {number} */ count) => {
                for (let i = 0; i < count; i++) {
                  const session = await connect();
                  await selectPoint(session, random);
                  await session.end();
                }
              };
              await open(Math.ceil(openings / 10));
              const before = await readServerCpu(context.server);
              const all = await timed(() => open(openings), { operations: openings });
              const after = await readServerCpu(context.server);
              return {
                ...all,
                timeMillis: Number(all.timeMillis) / openings,
                ...(before !== undefined && { serverCpuMicros: Number(after) - before }),
              };
            },
          },
        ],
      },
      {
        id: 'memory',
        title: `One of ${connections} connections that do nothing`,
        unit: 'connection',
        cases: statements.map((count) => ({
          name: count === 1 ? 'after a select' : `with ${count} prepared statements`,
          memoryOnly: true,
          unitsPerOperation: 1,
          takesPart: opensItsOwnWay,
          run: (arm, context) => measureMemory(arm, context, connections, count),
        })),
      },
    ];
  },
};
