'use strict';

// W2: point selects on a pool. Run by child.js.

const { closedLoop, newRandom } = require('../measure');
const { selectPoint } = require('./point-select');

/** @type {import('.').Workload} */
module.exports = {
  id: 'w2',
  title: 'W2: point select by primary key, a pool of 10',
  unit: 'query',
  cases: [
    {
      name: '256 in flight',
      max: 10,
      unitsPerOperation: 1,
      run(session, timing) {
        const random = newRandom(2);
        return closedLoop(() => selectPoint(session, random), { ...timing, inFlight: 256 });
      },
    },
  ],
};
