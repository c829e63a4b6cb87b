'use strict';

// W6: point selects among which one query in twenty takes 50 ms: how many of the fast ones wait behind
// a slow one. 200 arrivals a second keep one connection in eight busy, so that there is always a free
// one for a driver that looks. Run by child.js.

const { newRandom, openLoop } = require('../measure');
const { selectPoint } = require('./point-select');

const ARRIVALS_PER_SECOND = 200;
const SLOW_PART = 0.05;
const SLOW = 'select pg_sleep(0.05)';
/** Percentiles need many samples: this case takes so many times as long as the others. */
const LONGER = 10;

/** @type {import('.').Workload} */
module.exports = {
  id: 'w6',
  title: 'W6: 95 % point selects, 5 % queries of 50 ms, a pool of 4; latency of the fast ones',
  unit: 'query',
  cases: [
    {
      name: `${ARRIVALS_PER_SECOND} arrivals/s`,
      max: 4,
      latencyOnly: true,
      unitsPerOperation: 1,
      async run(session, { warmupMillis, measureMillis }) {
        const random = newRandom(6);
        return openLoop(
          (kind) => {
            const fast = kind >= SLOW_PART;
            return { fast, done: fast ? selectPoint(session, random) : session.query(SLOW, []) };
          },
          {
            warmupMillis,
            measureMillis: LONGER * measureMillis,
            perSecond: ARRIVALS_PER_SECOND,
          },
        );
      },
    },
  ],
};
