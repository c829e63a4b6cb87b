'use strict';

// The core tests: those that run the addon in this process. Others, which start processes of their
// own, say nothing more with another libpq or under the sanitizers. For `npm run test:core` and
// `npm run test:asan`.

const SPECS = [
  'attribution',
  'batch',
  'batch-deadlines',
  'bytes',
  'cancel',
  'client',
  'connecting',
  'copy',
  'copy-rows',
  'cut-dialogues',
  'dates',
  'errors',
  'healing',
  'hostile-values',
  'int8',
  'no-code-generation',
  'options',
  'parameters',
  'parameters-refused',
  'pool',
  'pool-dispatch',
  'pool-lending',
  'pool-retirement',
  'prepared-statements',
  'queries',
  'result-text',
  'result-types',
  'rows',
  'several-statements',
  'split-statements',
  'streams',
  'sync-groups',
  'sync-groups-random',
  'tls',
  'tls-traffic',
  'transaction',
  'transaction-streams',
  'type-parsers',
];

module.exports = {
  ...require('../../.mocharc.json'),
  spec: SPECS.map((name) => `test/${name}.test.js`),
};
