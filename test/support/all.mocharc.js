'use strict';

// `npm test`: all files side by side in several processes, or those alone that the command line names.

const fs = require('node:fs');
const path = require('node:path');

const TESTS = path.join(__dirname, '..');
/** They have commands of their own. `npm run test:long` has those of the tools: what is not the driver. */
const OTHER_FOLDERS = [
  'compat',
  'consumers',
  'engines',
  'fleet',
  'install',
  'long',
  'tools',
  'types',
];
/** Those that take longest begin first: begun last they would run when all others have ended. */
const LONGEST = [
  'connection/own-statements',
  'client/lifecycle',
  'replication/subscribe-faults',
  'project/documentation',
  'connection/migrations',
  'pool/retirement',
  'connection/sync-groups',
  'connection/cancel',
  'query/outcome',
  'project/examples',
  'client/leaks',
  'connection/tls-files',
  'connection/role-settings',
  'faults/server-faults',
  'faults/network-cuts',
  'client/user-code',
  'project/published',
  'faults/network-faults',
  'oracle/oracle',
  'pool/refused',
  'connection/slow-reader',
  'client/shared-connections',
  'copy/rows',
  'project/check',
  'faults/cut-dialogues',
  'pool/dispatch',
].map((name) => path.join(TESTS, `${name}.test.js`));

/** @returns {string[]} */
function findFiles() {
  const folders = fs.readdirSync(TESTS).filter((name) => !OTHER_FOLDERS.includes(name));
  return folders.flatMap((folder) =>
    fs.statSync(path.join(TESTS, folder)).isDirectory()
      ? fs
          .readdirSync(path.join(TESTS, folder))
          .filter((name) => name.endsWith('.test.js'))
          .map((name) => path.join(TESTS, folder, name))
      : [],
  );
}

const named = process.argv.slice(2).filter((argument) => argument.endsWith('.test.js'));

module.exports = {
  ...require('../../.mocharc.json'),
  // What is named comes to these.
  spec: named.length > 0 ? [] : [...new Set([...LONGEST, ...findFiles()])],
  // Somebody's own server is one for all tests, and a single file is to be debugged.
  parallel: process.env.PG_CONDUIT_DATABASE_URL === undefined && named.length !== 1,
  // More than cores: tests wait for most of their time. With six, tests of time limits were late now and then.
  jobs: 5,
};
