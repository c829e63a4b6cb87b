'use strict';

// For `npm run test:matrix -- --short`: what depends on Node.js and its OpenSSL, on the server, and on
// how the addon is loaded.

const SPECS = [
  'connection/cancel',
  'client/client',
  'connection/connecting',
  'copy/copy',
  'query/diagnostics',
  'base/errors',
  'client/lifecycle',
  'project/package',
  'query/parameters',
  'pool/pool',
  'connection/prepared-statements',
  'query/queries',
  'rows/rows',
  'query/streams',
  'connection/sync-groups',
  'connection/tls',
  'connection/tls-files',
  'transaction/transaction',
];

module.exports = {
  ...require('../../.mocharc.json'),
  spec: SPECS.map((name) => `test/${name}.test.js`),
};
