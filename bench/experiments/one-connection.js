'use strict';

// Many callers with one simple query each: how they come to a connection, and what that costs in time and memory. One of
// the experiments of index.js.

const { setTimeout: delay } = require('node:timers/promises');
const { getDriver } = require('../drivers');
const { newRandom } = require('../measure');
const { readMemory } = require('../memory');
const { SCHEMA, withClient } = require('../tables');
const { selectPoint } = require('../workloads/point-select');
const { readAllocations } = require('./allocations');
const { nameConnections, readBackends, untilOthersHaveGone } = require('./backends');
const { together, withBusyUsers, withPgBouncer } = require('./places');
const { timed } = require('./timed');

/**
 * @typedef {import('.').Context} Context
 * @typedef {import('.').Session} Session
 * @typedef {() => Promise<Session>} Connect
 *
 * @typedef {object} Way
 * @property {Partial<import('../drivers').ConnectChoices>} choices
 * @property {(connect: Connect, callers: number, end: (session: Session) => unknown) => Promise<unknown>} run opens what
 *   it needs, runs one query for each caller, and gives back each session when it is done
 *
 * @typedef {import('.').Arm & Way} Arm
 */

const POOL = 10;
const SIZES = {
  full: {
    callers: [1, 10, 50, 100, 200, 500],
    calm: { millis: 250, inTurn: 500 },
    loaded: { millis: 800, inTurn: 20 },
    users: 150,
    poolSize: 200,
    pooled: 20,
    memorySets: 20,
  },
  tiny: {
    callers: [1, 5],
    calm: { millis: 0, inTurn: 5 },
    loaded: { millis: 0, inTurn: 2 },
    users: 3,
    poolSize: 5,
    pooled: 2,
    memorySets: 1,
  },
};
const MEMORY_CALLERS = 10;
const WARM_TIMES = 3;
/** Until backends of connections that were closed are gone. */
const SETTLE_MILLIS = 100;

const CREATE = `
  create table if not exists ${SCHEMA}.few as select id from generate_series(1, 200) id;
  create table if not exists ${SCHEMA}.more as select id from generate_series(1, 500) id`;
const CROSS_JOIN = `select count(*) from ${SCHEMA}.few a cross join ${SCHEMA}.more b where a.id + b.id > 0`;

const random = newRandom(11);

/** @type {Way['run']} */
async function inTurn(connect, callers, end) {
  const session = await connect();
  for (let i = 0; i < callers; i++) await selectPoint(session, random);
  await end(session);
}

/** @type {Way['run']} */
async function atOnce(connect, callers, end) {
  const session = await connect();
  await Promise.all(Array.from({ length: callers }, () => selectPoint(session, random)));
  await end(session);
}

/** @type {Way['run']} */
async function each(connect, callers, end) {
  const call = async () => {
    const session = await connect();
    await selectPoint(session, random);
    await end(session);
  };
  await Promise.all(Array.from({ length: callers }, call));
}

const POOLED = { max: POOL, openAll: false };

/** @type {Arm[]} */
const ARMS = [
  {
    name: 'pg-conduit, one shared connection',
    driver: 'pg-conduit',
    ours: true,
    settings: 'Pool with max: 1',
    choices: { max: 1, syncGroup: 'reads' },
    run: atOnce,
  },
  {
    name: 'pg-conduit, Pool',
    driver: 'pg-conduit',
    ours: true,
    settings: `Pool with max: ${POOL}, the default`,
    choices: POOLED,
    run: atOnce,
  },
  {
    name: 'pg-conduit, one after the other',
    driver: 'pg-conduit',
    ours: true,
    settings: 'Client, each query awaited before the next',
    choices: { max: 1 },
    run: inTurn,
  },
  {
    name: 'pg, one after the other',
    driver: 'pg',
    settings: 'Client, each query awaited before the next',
    choices: { max: 1 },
    run: inTurn,
  },
  {
    name: 'pg, a connection for each',
    driver: 'pg',
    settings: 'a Client for each caller, all at once',
    choices: { max: 1 },
    run: each,
  },
  {
    name: 'pg, Pool',
    driver: 'pg',
    settings: `Pool with max: ${POOL}, the default`,
    choices: POOLED,
    run: atOnce,
  },
  {
    name: 'pg through PgBouncer',
    driver: 'pg',
    settings: 'a Client for each caller, all at once, to PgBouncer',
    through: 'pgbouncer',
    choices: { max: 1 },
    run: each,
  },
  {
    name: 'pg, pipeline: true',
    driver: 'pg-pipeline',
    settings: 'one Client with pipeline: true',
    choices: { max: 1 },
    run: atOnce,
  },
];

/** @param {Arm} arm @param {Context} context @returns {Connect} */
function connector({ driver: name, choices }, { target }) {
  const driver = getDriver(name);
  driver.load();
  return () => driver.connect({ max: 1, ...target, ...choices, prepare: false });
}

/**
 * Client memory is that of several sets of callers, divided: of one it would not show among what V8 keeps for later.
 * @param {Arm} arm
 * @param {Context} context
 * @param {number} sets
 */
async function measureMemory(arm, context, sets) {
  nameConnections();
  const connect = connector(arm, context);
  /** @type {Session[]} */
  let open = [];
  const openSet = () => arm.run(connect, MEMORY_CALLERS, (session) => open.push(session));
  const endAll = async () => {
    await Promise.all(open.map((session) => session.end()));
    open = [];
    await delay(SETTLE_MILLIS);
  };
  await untilOthersHaveGone(context.server);
  await openSet();
  const pooler = arm.through === undefined ? [] : [context.places[arm.through].pid];
  const { connections, serverBytes } = await readBackends(context.server, pooler);
  for (let set = 1; set < sets; set++) await openSet();
  await endAll();

  const before = { ...readMemory(), ...readAllocations() };
  for (let set = 0; set < sets; set++) await openSet();
  const { allocations, allocatedBytes } = readAllocations();
  const { heapBytes, outsideBytes } = readMemory();
  await endAll();
  const heapOfSet = (heapBytes - before.heapBytes) / sets;
  return {
    operations: MEMORY_CALLERS,
    seconds: 0,
    cpuMicros: 0,
    heapBytes: heapOfSet,
    memoryBytes: heapOfSet + (outsideBytes - before.outsideBytes) / sets,
    ...(allocations !== undefined && {
      allocations: (allocations - Number(before.allocations)) / sets,
      allocatedBytes: (Number(allocatedBytes) - Number(before.allocatedBytes)) / sets,
    }),
    connections,
    ...(serverBytes !== undefined && { serverBytes }),
  };
}

/** @type {Record<number, Record<string, string>>} */
const PUBLISHED = {
  10: { 'pg through PgBouncer': '1.24x faster than the method' },
  500: {
    'pg-conduit, one shared connection': '4.55x faster than sequential',
    'pg, one after the other': '0.42 s; 1.7x of a connection for each',
    'pg, Pool': 'level with the method',
    'pg through PgBouncer': '2.74x slower than the pool',
  },
};
/** @type {typeof PUBLISHED} */
const PUBLISHED_LOADED = {
  50: { 'pg, Pool': 'level with the method' },
  500: { 'pg, Pool': '1.83x faster than the method' },
};

/** The first case of a process pays for compiling the JavaScript that all of them run. */
let isWarm = false;

/**
 * @param {number[]} counts of callers
 * @param {{ millis: number, inTurn: number }} measured for so long, and so many queries where each waits for the last
 * @param {typeof PUBLISHED} published
 * @param {string} series
 */
function callerCases(counts, { millis, inTurn: most }, published, series) {
  return counts.map((callers) => ({
    name: `${callers} callers`,
    series,
    x: callers,
    isTimed: true,
    unitsPerOperation: 1,
    published: published[callers],
    async run(/** @type {Arm} */ arm, /** @type {Context} */ context) {
      const connect = connector(arm, context);
      /** @param {number} count */
      const work = (count) => arm.run(connect, count, (session) => session.end());
      for (let i = 0; i < WARM_TIMES && !isWarm; i++) await work(Math.min(POOL, most));
      isWarm = true;
      const operations = arm.run === inTurn ? Math.min(callers, most) : callers;
      return timed(() => work(operations), { operations, wanted: callers, millis });
    },
  }));
}

/** @type {import('.').Experiment<Arm>} */
module.exports = {
  id: 'one-connection',
  title: 'One connection for all callers',
  about:
    'How long does it take, from connecting to closing, until so many callers have had an answer to a simple query? ' +
    'Sequential, with a connection for each, with a pool, with an external pooler, on one shared connection. No arm ' +
    'prepares its statement, since a connection for each caller could not use it again.',
  ours: ARMS[0].name,
  arms: ARMS,
  workloads(size) {
    const { callers, calm, loaded, users, poolSize, pooled, memorySets } = SIZES[size];
    const pooler = { poolMode: /** @type {const} */ ('transaction'), poolSize: pooled };
    const what = 'point select, from connecting to closing';
    return [
      {
        id: 'calm',
        title: `Without load: ${what}`,
        unit: 'query',
        cases: callerCases(callers, calm, PUBLISHED, 'callers'),
        setUp: (server) => withPgBouncer(server, pooler),
      },
      {
        id: 'loaded',
        title: `Under load: the same while ${users} users on a pool of ${poolSize} run a cross join of 200 x 500 rows`,
        unit: 'query',
        cases: callerCases(callers, loaded, PUBLISHED_LOADED, 'callers under load'),
        async setUp(server) {
          await withClient(server, async (client) => {
            await client.query(CREATE);
          });
          return together(
            () => withPgBouncer(server, pooler),
            () => withBusyUsers(server, { users, poolSize, text: CROSS_JOIN }),
          );
        },
      },
      {
        id: 'memory',
        title: `Memory of ${MEMORY_CALLERS} callers whose connections are open and have answered`,
        unit: 'caller',
        countsAllocations: true,
        cases: [
          {
            name: `${MEMORY_CALLERS} callers`,
            memoryOnly: true,
            unitsPerOperation: 1,
            published: {
              'pg-conduit, one shared connection': '180,794 bytes, 182 allocations',
              'pg, a connection for each': '588,870 bytes, 729 allocations',
              'pg, Pool': '593,508 bytes, 812 allocations',
              'pg through PgBouncer': '586,212 bytes, 831 allocations',
            },
            run: (arm, context) => measureMemory(arm, context, memorySets),
          },
        ],
        // It would keep its connections for those that are measured next.
        setUp: (server) =>
          withPgBouncer(server, { ...pooler, settings: { server_idle_timeout: 1 } }),
      },
    ];
  },
};
