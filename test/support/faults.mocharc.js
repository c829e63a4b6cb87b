'use strict';

// The tests of faults in their longest form: `npm run test:faults`.

process.env.PG_CONDUIT_FAULTS = 'full';

module.exports = {
  ...require('../../.mocharc.json'),
  spec: ['*-faults', 'network-*', 'event-loop'].map((name) => `test/faults/${name}.test.js`),
};
