'use strict';

// For `npm run test:valgrind`: tests in which each part of the addon has its turn. Forty times as slow,
// not all of them can be had.

const { ofThisShard } = require('./shard');

const SPECS = [
  'client/client',
  'connection/connecting',
  'base/errors',
  'connection/healing',
  'connection/prepared-statements',
  'query/queries',
  'rows/rows',
  'query/streams',
];

module.exports = {
  ...require('../../.mocharc.json'),
  spec: ofThisShard(SPECS),
  timeout: 600_000,
};
