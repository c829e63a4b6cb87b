'use strict';

// What is slow by nature and has a short form in `npm test`, and what tests the project's tools, as CI runs it:
// `npm run test:long`.

process.env.PG_CONDUIT_TESTS = 'long';

const SPECS = [
  'tools/experiments',
  'tools/live-page',
  'tools/database',
  'tools/start',
  'tools/bench-report',
  'tools/live-server',
  'connection/own-statements',
  'connection/catalog',
  'tools/bench',
  'tools/bench-network',
  'project/published',
  'client/leaks',
  'client/lifecycle',
  'faults/network-cuts',
  'query/outcome',
  'rows/no-code-generation',
  'rows/dates',
  'rows/columns',
  'client/attribution',
  'copy/rows',
  'oracle/oracle',
  'oracle/loops',
  'oracle/tenants',
  'replication/subscribe-tables',
];

module.exports = {
  ...require('../../.mocharc.json'),
  spec: SPECS.map((name) => `test/${name}.test.js`),
  parallel: process.env.PG_CONDUIT_DATABASE_URL === undefined,
  jobs: 3,
  timeout: 300_000,
};
