'use strict';

// W7, memory: what an idle connection takes, and what queries take that wait for their answers. Run by
// child.js, each case in a process of its own.

const { setTimeout: delay } = require('node:timers/promises');
const { newRandom } = require('../measure');
const { settleMemory } = require('../memory');
const { SELECT_POINT, checkRows, expectedPoint } = require('../tables');
const { selectPoint } = require('./point-select');

const WARM_CONNECTIONS = 5;
const CONNECTIONS = 50;
/** So many that what garbage collection leaves over does not show. */
const IN_FLIGHT = 10_000;
const WARM_IN_FLIGHT = 100;
/** Until all that a driver sends at once is sent. */
const SENDING_MILLIS = 300;

const LOCK = 'select pg_advisory_lock($1) is null as locked';
const UNLOCK = 'select pg_advisory_unlock($1) as unlocked';
const LOCK_KEY = 20_240_107;

/**
 * Each connection answers, twice, for a prepared statement.
 * @param {import('.').Session} session
 * @param {number} connections
 */
async function useAll(session, connections) {
  const random = newRandom(7);
  for (let turn = 0; turn < 2; turn++) {
    await Promise.all(Array.from({ length: connections }, () => selectPoint(session, random)));
  }
}

/** @type {import('.').Case['run']} */
async function measureConnections(session, _timing, connect) {
  await useAll(session, WARM_CONNECTIONS);
  const before = settleMemory();
  const others = await connect(CONNECTIONS);
  await useAll(others, CONNECTIONS);
  const memoryBytes = (settleMemory() - before) / CONNECTIONS;
  await others.end();
  return { operations: CONNECTIONS, seconds: 0, cpuMicros: 0, memoryBytes };
}

/** @type {import('.').Case['run']} */
async function measureInFlight(session, _timing, connect) {
  const blocker = await connect(1);
  /** @param {number} count @param {() => number} read while they are in flight */
  const block = async (count, read) => {
    await blocker.query(LOCK, [LOCK_KEY]);
    const queries = [session.query(LOCK, [LOCK_KEY])];
    await delay(SENDING_MILLIS / 10);
    const before = read();
    // Not by selectPoint(), whose own frames would be counted.
    for (let id = 1; id <= count; id++) queries.push(session.query(SELECT_POINT, [id]));
    await delay(SENDING_MILLIS);
    const growth = read() - before;
    await blocker.query(UNLOCK, [LOCK_KEY]);
    const [, ...points] = await Promise.all(queries);
    checkRows(points.flat(), count, expectedPoint);
    await session.query(UNLOCK, [LOCK_KEY]);
    return growth;
  };
  await block(WARM_IN_FLIGHT, () => 0);
  const growth = await block(IN_FLIGHT, settleMemory);
  await blocker.end();
  return {
    operations: IN_FLIGHT,
    seconds: 0,
    cpuMicros: 0,
    memoryBytes: (growth * 1000) / IN_FLIGHT,
  };
}

/** @type {import('.').Workload} */
module.exports = {
  id: 'w7-memory',
  title: 'W7: memory of the process',
  unit: 'connection',
  cases: [
    {
      name: 'an idle connection',
      max: WARM_CONNECTIONS,
      openAll: true,
      memoryOnly: true,
      once: true,
      unitsPerOperation: 1,
      run: measureConnections,
    },
    {
      name: '1,000 queries in flight',
      max: 1,
      memoryOnly: true,
      full: true,
      unitsPerOperation: 1,
      run: measureInFlight,
    },
  ],
};
