'use strict';

// Poolers, standbys and what watches a fleet: `npm run test:fleet`.

module.exports = {
  ...require('../../.mocharc.json'),
  timeout: 120_000,
  spec: ['test/fleet/*.test.js'],
};
