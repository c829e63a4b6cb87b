'use strict';

// Folders in which the project is installed, mostly in the place of `pg`: the tools of test/compat, the programs
// of test/consumers and examples/written-for-pg. Puts the project as it is now where npm would put what is
// published.

const { execFileSync } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');

const ROOT = path.join(__dirname, '..');
const ADDON = path.join('build', 'Release', 'pg_conduit.node');
const LOADER = path.join('node_modules', 'node-gyp-build');

/** @returns {string[]} the files of the project that npm would publish */
function publishedFiles() {
  const output = execFileSync('npm', ['pack', '--dry-run', '--json', '--ignore-scripts'], {
    cwd: ROOT,
    stdio: ['ignore', 'pipe', 'ignore'],
    shell: process.platform === 'win32',
  });
  const [{ files }] = Object.values(JSON.parse(output.toString()));
  return files.map((/** @type {{ path: string }} */ file) => file.path);
}

/**
 * The addon comes from the checkout, where it is built; all else is what a published package has.
 * @param {string} folder in the node_modules of a consumer, who has the project's dependencies
 */
function placeProject(folder) {
  fs.rmSync(folder, { recursive: true, force: true });
  for (const name of [...publishedFiles(), ADDON, LOADER]) {
    fs.cpSync(path.join(ROOT, name), path.join(folder, name), { recursive: true });
  }
}

module.exports = { placeProject };
