'use strict';

// For `npm run test:asan`: the core tests, which run the addon in this process, and how processes and
// threads end.

const core = require('./core.mocharc.js');
const { ofThisShard } = require('./shard');

module.exports = {
  ...core,
  spec: [...ofThisShard(['client/lifecycle']), ...core.spec],
  timeout: 300_000,
};
