'use strict';

// What `npm test` needs and `npm install` does not bring: installed here, where no test waits for it. A test
// file that is run by itself installs what it needs. Called by npm, before the tests.

const path = require('node:path');
const { installOnce } = require('../../scripts/install-once');
const { prepareBrowser } = require('./browser');

const ROOT = path.join(__dirname, '..', '..');
const FOLDERS = ['bench', 'tools/browser', 'tools/imports', 'tools/postgres'];

async function main() {
  for (const folder of FOLDERS) installOnce(path.join(ROOT, folder));
  try {
    await prepareBrowser();
  } catch {
    // None for this machine: that is for the tests to say that need one.
  }
}

main();
