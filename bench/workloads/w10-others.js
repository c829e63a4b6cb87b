'use strict';

// W10: point selects in a process that does other things as well, as applications do: transactions, streams, COPY, batches
// and settings, twenty times a second. What every query runs through is compiled for all that the process has met, so
// that a driver may be fast only where it does one thing. Run by child.js.

const { setTimeout: delay } = require('node:timers/promises');
const { closedLoop, newRandom } = require('../measure');
const { selectPoint } = require('./point-select');

const CALLERS = 32;
const CONNECTIONS = 10;
const PAUSE_MILLIS = 50;

/**
 * @param {import('.').Session} session
 * @param {AbortSignal} signal that it is over
 */
async function doOthers({ others }, signal) {
  if (others === undefined) throw new Error('The driver has nothing else to do');
  while (!signal.aborted) {
    await others();
    await delay(PAUSE_MILLIS);
  }
}

/** @param {boolean} hasOthers @returns {import('.').Case} */
function newCase(hasOthers) {
  return {
    name: `${CALLERS} callers, ${hasOthers ? 'beside all else that a driver does' : 'and nothing else'}`,
    group: `${CALLERS} callers, a pool of ${CONNECTIONS}`,
    member: hasOthers ? 'beside all else' : 'nothing else',
    max: CONNECTIONS,
    openAll: true,
    unitsPerOperation: 1,
    async run(session, timing) {
      const random = newRandom(10);
      const over = new AbortController();
      const others = hasOthers ? doOthers(session, over.signal) : undefined;
      try {
        return await closedLoop(() => selectPoint(session, random), {
          ...timing,
          inFlight: CALLERS,
        });
      } finally {
        over.abort();
        await others;
      }
    },
  };
}

/** @type {import('.').Workload} */
module.exports = {
  id: 'w10',
  title:
    'W10: point selects beside transactions, streams, COPY, batches and settings in the same process',
  unit: 'query',
  // Those that have all of this on a pool of their own.
  drivers: ['pg-conduit', 'pg', 'postgres'],
  cases: [newCase(false), newCase(true)],
};
