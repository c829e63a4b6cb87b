'use strict';

// For `npm run test:matrix -- --short`: what depends on Node.js and its OpenSSL, on the server, and on
// how the addon is loaded.

const SPECS = [
  'cancel',
  'client',
  'connecting',
  'copy',
  'diagnostics',
  'errors',
  'lifecycle',
  'package',
  'parameters',
  'pool',
  'prepared-statements',
  'queries',
  'rows',
  'streams',
  'sync-groups',
  'tls',
  'tls-files',
  'transaction',
];

module.exports = {
  ...require('../../.mocharc.json'),
  spec: SPECS.map((name) => `test/${name}.test.js`),
};
