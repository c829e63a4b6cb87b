'use strict';

// For `npm run test:asan`: what a scripted server says that no real one would. Without the search for
// leaks, since libpq forgets a result that the server never ends.

const core = require('./core.mocharc.js');
const { ofThisShard } = require('./shard');

module.exports = {
  ...core,
  spec: ofThisShard([
    'faults/hostile-answers',
    'faults/hostile-exchanges',
    'faults/damaged-dialogues',
  ]),
  timeout: 300_000,
};
