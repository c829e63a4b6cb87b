'use strict';

// W2: point selects on a pool. Run by child.js.

const { closedLoop, newRandom } = require('../measure');
const { SELECT_POINT } = require('../tables');
const { selectPoint } = require('./point-select');

const CONNECTIONS = 10;
const IN_FLIGHT = 256;

/** @type {import('.').Workload} */
module.exports = {
  id: 'w2',
  title: `W2: point select by primary key, a pool of ${CONNECTIONS}`,
  unit: 'query',
  inTurns: true,
  cases: [
    {
      name: `${IN_FLIGHT} in flight`,
      max: CONNECTIONS,
      unitsPerOperation: 1,
      limit: {
        mode: 'select',
        text: SELECT_POINT,
        connections: CONNECTIONS,
        inFlight: IN_FLIGHT,
      },
      run(session, timing) {
        const random = newRandom(2);
        return closedLoop(() => selectPoint(session, random), { ...timing, inFlight: IN_FLIGHT });
      },
    },
  ],
};
