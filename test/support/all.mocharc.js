'use strict';

// `npm test`: all files side by side in several processes, or those alone that the command line names.

const fs = require('node:fs');
const path = require('node:path');

const TESTS = path.join(__dirname, '..');
/** They have commands of their own. */
const OTHER_FOLDERS = ['compat', 'consumers', 'fleet', 'install', 'long', 'types'];
/** Those that take longest begin first: begun last they would run when all others have ended. */
const LONGEST = [
  'oracle/oracle',
  'connection/own-statements',
  'project/live-page',
  'client/lifecycle',
  'project/database',
  'connection/sync-groups',
  'project/bench',
  'pool/listener',
  'project/published',
  'client/user-code',
  'faults/server-faults',
  'transaction/streams',
  'project/start',
  'connection/cancel',
  'query/outcome',
  'project/documentation',
  'project/bench-report',
  'project/bench-network',
  'client/leaks',
  'project/examples',
  'project/experiments',
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
  jobs: 4,
};
