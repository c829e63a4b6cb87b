'use strict';

// Nothing leaks in many repetitions. `npm run test:long` repeats more often, `npm run test:leaks` far more.

const { describeLeaks } = require('../support/leaks');
const { IS_LONG } = require('../support/property');

if (process.platform === 'linux') {
  describeLeaks(
    IS_LONG
      ? {
          queries: 60_000,
          connections: 400,
          pools: 100,
          workers: 20,
          abandoned: 60,
          forgotten: 300,
        }
      : { queries: 10_000, connections: 100, pools: 20, workers: 10, abandoned: 20, forgotten: 60 },
  );
}
