'use strict';

// W1: point selects on one connection; alone they show the latency. Run by child.js.

const { closedLoop, newRandom } = require('../measure');
const { SELECT_POINT } = require('../tables');
const { selectPoint } = require('./point-select');

/** @type {import('.').Workload} */
module.exports = {
  id: 'w1',
  title: 'W1: point select by primary key, one connection',
  unit: 'query',
  cases: [1, 16, 256, 1000].map((inFlight) => ({
    name: `${inFlight} in flight`,
    max: 1,
    unitsPerOperation: 1,
    limit: { mode: 'select', text: SELECT_POINT, inFlight },
    run(session, timing) {
      const random = newRandom(1);
      const latency = inFlight === 1;
      return closedLoop(() => selectPoint(session, random), { ...timing, inFlight, latency });
    },
  })),
};
