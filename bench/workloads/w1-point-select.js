'use strict';

// W1: point selects on one connection; alone they show the latency. Many in flight are measured under
// both Sync policies, which only some drivers have. Run by child.js.

const { closedLoop, newRandom } = require('../measure');
const { SELECT_POINT } = require('../tables');
const { selectPoint } = require('./point-select');

/**
 * @param {number} inFlight
 * @param {Partial<import('.').Case>} choices
 * @param {number} [perSync] in the programs that show the limit
 * @returns {import('.').Case}
 */
function newCase(inFlight, choices, perSync) {
  return {
    name: `${inFlight} in flight`,
    max: 1,
    unitsPerOperation: 1,
    limit: { mode: 'select', text: SELECT_POINT, inFlight, perSync },
    run(session, timing) {
      const random = newRandom(1);
      const latency = inFlight === 1;
      return closedLoop(() => selectPoint(session, random), { ...timing, inFlight, latency });
    },
    ...choices,
  };
}

/** @type {import('.').Workload} */
module.exports = {
  id: 'w1',
  title: 'W1: point select by primary key, one connection',
  unit: 'query',
  inTurns: true,
  cases: [
    newCase(1, { syncGroup: 'off' }),
    ...[16, 256, 1000].map((inFlight) =>
      newCase(inFlight, {
        name: `${inFlight} in flight, a Sync each`,
        syncGroup: 'off',
        full: inFlight === 1000,
      }),
    ),
    newCase(256, { name: '256 in flight, Sync groups', syncGroup: 'reads', once: true }, 64),
  ],
};
