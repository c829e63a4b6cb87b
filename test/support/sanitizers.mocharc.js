'use strict';

// For `npm run test:asan`: the core tests, which run the addon in this process, and how processes and
// threads end.

const core = require('./core.mocharc.js');

module.exports = {
  ...core,
  spec: [...core.spec, 'test/client/lifecycle.test.js'],
  timeout: 300_000,
};
