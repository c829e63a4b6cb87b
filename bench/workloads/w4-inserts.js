'use strict';

// W4: bursts of single-row inserts under each Sync policy; afterwards the table is counted. Run by child.js.

const { closedLoop } = require('../measure');
const { CLEAR_INSERTS, COUNT_INSERTS, INSERT } = require('../tables');

const BURST = 1000;

/**
 * @param {import('.').Session} session
 * @param {import('.').Timing} timing
 * @param {(valuesOfEach: number[][]) => Promise<unknown>} insert
 */
async function runBursts(session, timing, insert) {
  let inserted = 0;
  let sum = 0;
  const operation = () => {
    const valuesOfEach = [];
    for (let i = 0; i < BURST; i++) {
      const id = ++inserted;
      const n = id % 1000;
      sum += n;
      valuesOfEach.push([id, n]);
    }
    return insert(valuesOfEach);
  };
  await session.query(CLEAR_INSERTS, []);
  const measurement = await closedLoop(operation, { ...timing, inFlight: 1 });
  const [found] = await session.query(COUNT_INSERTS, []);
  if (found.count !== inserted || found.sum !== sum) {
    throw new Error(`${inserted} inserts, sum ${sum}; the table holds ${JSON.stringify(found)}`);
  }
  return measurement;
}

/**
 * @param {Partial<import('.').Case> & { name: string }} choices
 * @param {number} [perSync] in the program that shows the limit
 * @returns {import('.').Case}
 */
function newPromisesCase(choices, perSync) {
  return {
    ...choices,
    max: 1,
    unitsPerOperation: BURST,
    limit: { mode: 'insert', text: INSERT, inFlight: BURST, burst: true, perSync },
    run: (session, timing) =>
      runBursts(session, timing, (valuesOfEach) =>
        Promise.all(valuesOfEach.map((values) => session.query(INSERT, values))),
      ),
  };
}

/** @type {import('.').Workload} */
module.exports = {
  id: 'w4',
  title: 'W4: 1000 single-row inserts, one connection',
  unit: 'query',
  cases: [
    newPromisesCase({ name: 'as promises, a Sync each', syncGroup: 'off' }),
    newPromisesCase({ name: 'as promises, Sync groups', syncGroup: 'all', once: true }, 64),
    {
      name: 'as one batch',
      max: 1,
      needsBatch: true,
      unitsPerOperation: BURST,
      limit: { mode: 'insert', text: INSERT, inFlight: BURST, burst: true, perSync: BURST },
      run: (session, timing) =>
        runBursts(session, timing, (valuesOfEach) => {
          if (!session.batch) throw new Error('The driver has no batch()');
          return session.batch(INSERT, valuesOfEach);
        }),
    },
  ],
};
