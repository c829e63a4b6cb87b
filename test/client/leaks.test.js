'use strict';

// What is done often leaves nothing behind. `npm run test:leaks` does it far more often.

const { describeLeaks } = require('../support/leaks');

if (process.platform === 'linux') {
  describeLeaks({
    queries: 60_000,
    connections: 400,
    pools: 100,
    workers: 20,
    abandoned: 60,
    forgotten: 300,
  });
}
