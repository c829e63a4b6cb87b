'use strict';

// `npm run test:leaks`: what is done very often leaves nothing behind.

const { describeLeaks } = require('../support/leaks');

if (process.platform === 'linux') {
  describeLeaks({
    queries: 1_000_000,
    connections: 10_000,
    pools: 2000,
    workers: 1000,
    abandoned: 2000,
    forgotten: 5000,
  });
}
