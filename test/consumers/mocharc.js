'use strict';

// The package as a user has it: `npm run test:consumers`.

module.exports = {
  ...require('../../.mocharc.json'),
  spec: ['test/consumers/*.test.js'],
};
