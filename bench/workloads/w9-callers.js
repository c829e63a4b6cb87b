'use strict';

// W9: point selects by more and more callers, on one connection and on a pool of ten, each driver as it is by default: the
// curve of the region in which most servers live. Run by child.js.

const { closedLoop, newRandom } = require('../measure');
const { SELECT_POINT } = require('../tables');
const { selectPoint } = require('./point-select');

/** Many at first: the more queries there are, the sooner all of their JavaScript is compiled. */
const CALLERS = [256, 128, 64, 32, 16, 8, 4, 2, 1];
/** The points that --quick measures too. */
const QUICK = [1, 16, 256];
const PLACES = { 1: 'one connection', 10: 'a pool of 10' };
/** A line has many points, which show by their neighbours whether they are right. */
const MOST_ROUNDS = 3;
const LARGEST_GROUP = 64;

/** @param {1 | 10} connections @param {number} callers @returns {import('.').Case} */
function newCase(connections, callers) {
  // Groups of a quarter let client and server work at the same time.
  const perSync = Math.min(LARGEST_GROUP, Math.max(1, callers >> 2));
  return {
    name: `${callers} ${callers === 1 ? 'caller' : 'callers'}, ${PLACES[connections]}`,
    series: `callers, ${PLACES[connections]}`,
    part: PLACES[connections], // what is compared is measured soon after each other
    x: callers,
    full: !QUICK.includes(callers),
    once: true,
    mostRounds: MOST_ROUNDS,
    max: connections,
    syncGroup: 'reads', // the default of pools, said so that one connection is a pool as well
    unitsPerOperation: 1,
    limit: { mode: 'select', text: SELECT_POINT, inFlight: callers, connections, perSync },
    run(session, timing) {
      const random = newRandom(9);
      return closedLoop(() => selectPoint(session, random), { ...timing, inFlight: callers });
    },
  };
}

/** @type {import('.').Workload & { cases: import('.').Case[] }} */
module.exports = {
  id: 'w9',
  title: 'W9: point selects by 1 to 256 callers, on one connection and on ten',
  unit: 'query',
  inTurns: true,
  cases: /** @type {const} */ ([1, 10]).flatMap((connections) =>
    CALLERS.map((callers) => newCase(connections, callers)),
  ),
};
