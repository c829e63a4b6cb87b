'use strict';

// The tests of faults in their long form: `npm run test:faults`.

process.env.PG_CONDUIT_FAULTS = 'full';

module.exports = {
  ...require('../../.mocharc.json'),
  spec: ['test/*-faults.test.js', 'test/network-*.test.js', 'test/event-loop.test.js'],
};
