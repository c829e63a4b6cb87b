'use strict';

// The tools that people use with `pg`: `npm run test:compat`.

module.exports = {
  ...require('../../.mocharc.json'),
  require: ['test/compat/support/global.js'],
  spec: ['test/compat/*.test.js'],
};
