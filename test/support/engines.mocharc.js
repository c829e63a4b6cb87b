'use strict';

// Several servers that are one database, poolers of other makers, and what else speaks the protocol:
// `npm run test:engines`.

module.exports = {
  ...require('../../.mocharc.json'),
  timeout: 120_000,
  spec: ['test/engines/*.test.js'],
};
