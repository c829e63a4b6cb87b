'use strict';

// The core tests: those that run the addon in this process. Others, which start processes of their
// own, say nothing more with another libpq or under the sanitizers. For `npm run test:core` and
// `npm run test:asan`.

const { ofThisShard } = require('./shard');

const SPECS = [
  'client/attribution',
  'connection/batch',
  'connection/batch-deadlines',
  'base/bytes',
  'connection/cancel',
  'client/client',
  'client/early-begin',
  'client/shared-clients',
  'connection/connecting',
  'copy/copy',
  'copy/rows',
  'copy/rows-on-the-wire',
  'faults/cut-dialogues',
  'rows/columns',
  'rows/dates',
  'base/errors',
  'connection/healing',
  'connection/known-columns',
  'faults/hostile-values',
  'rows/int8',
  'rows/no-code-generation',
  'options/options',
  'replication/like-pg-replication',
  'replication/subscribe',
  'query/parameters',
  'query/parameters-refused',
  'pool/pool',
  'pool/dispatch',
  'pool/leases',
  'pool/lending',
  'pool/retirement',
  'pool/turns',
  'connection/prepared-statements',
  'query/queries',
  'rows/result-text',
  'rows/result-types',
  'rows/rows',
  'connection/several-statements',
  'connection/simple-protocol',
  'statements/split',
  'query/streams',
  'connection/sync-groups',
  'connection/sync-groups-random',
  'connection/tls',
  'connection/tls-traffic',
  'transaction/transaction',
  'transaction/streams',
  'rows/type-parsers',
];

module.exports = {
  ...require('../../.mocharc.json'),
  spec: ofThisShard(SPECS),
};
