'use strict';

// W7, load: what a point select costs as more are in flight, as the pool grows and as the statement texts
// become more than a cache of prepared statements holds. Run by child.js.

const { closedLoop, halve, newRandom } = require('../measure');
const { SELECT_POINT } = require('../tables');
const { selectPoint } = require('./point-select');

const POOL_IN_FLIGHT = 256;
const TEXTS_IN_FLIGHT = 64;
/** The points that --quick measures too. */
const QUICK_POOL = 4;
const QUICK_TEXTS = 1000;

/** @param {number} inFlight @returns {import('.').Case} */
function newInFlightCase(inFlight) {
  return {
    name: `${inFlight} in flight`,
    series: 'queries in flight',
    x: inFlight,
    full: true,
    max: 1,
    unitsPerOperation: 1,
    run(session, timing) {
      const random = newRandom(7);
      return closedLoop(() => selectPoint(session, random), { ...halve(timing), inFlight });
    },
  };
}

/** @param {number} max @returns {import('.').Case} */
function newPoolCase(max) {
  return {
    name: `pool of ${max}, ${POOL_IN_FLIGHT} in flight`,
    series: `connections, ${POOL_IN_FLIGHT} in flight`,
    x: max,
    full: max !== QUICK_POOL,
    once: true,
    max,
    syncGroup: 'reads', // the default of pools, said so that one connection is a pool as well
    unitsPerOperation: 1,
    run(session, timing) {
      const random = newRandom(7);
      const options = { ...halve(timing), inFlight: POOL_IN_FLIGHT };
      return closedLoop(() => selectPoint(session, random), options);
    },
  };
}

/** @param {number} count @returns {import('.').Case} */
function newTextsCase(count) {
  const name = `${count.toLocaleString('en')} statement text${count === 1 ? '' : 's'}`;
  return {
    name: `${name}, ${TEXTS_IN_FLIGHT} in flight`,
    series: `statement texts, ${TEXTS_IN_FLIGHT} in flight`,
    x: count,
    full: count !== QUICK_TEXTS,
    once: true,
    max: 1,
    unitsPerOperation: 1,
    async run(session, timing) {
      const random = newRandom(7);
      const texts = Array.from({ length: count }, (_, i) => `${SELECT_POINT} /* ${i} */`);
      // Each one twice, so that what a driver wants to prepare is prepared before the measured time.
      let next = 0;
      const runAll = async () => {
        while (next < 2 * count) await selectPoint(session, random, texts[next++ % count]);
      };
      await Promise.all(Array.from({ length: TEXTS_IN_FLIGHT }, runAll));
      const operation = () => selectPoint(session, random, texts[Math.floor(random() * count)]);
      return closedLoop(operation, { ...halve(timing), inFlight: TEXTS_IN_FLIGHT });
    },
  };
}

/** @type {import('.').Workload} */
module.exports = {
  id: 'w7-load',
  title: 'W7: point selects as load, connections and statement texts grow',
  unit: 'query',
  cases: [
    ...[1, 4, 16, 64, 256, 1024, 4096].map(newInFlightCase),
    ...[1, 2, 4, 8, 16, 32].map(newPoolCase),
    ...[1, 10, 100, 1000, 10_000].map(newTextsCase),
  ],
};
