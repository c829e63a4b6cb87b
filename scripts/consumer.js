'use strict';

// Folders with a lock file of their own in which the project stands in the place of `pg`: the tools
// of test/compat, the program of examples/written-for-pg. Installs them once, and puts the project
// as it is now where npm would put what is published.

const { execFileSync } = require('node:child_process');
const { createHash } = require('node:crypto');
const fs = require('node:fs');
const path = require('node:path');

const ROOT = path.join(__dirname, '..');
const ADDON = path.join('build', 'Release', 'pg_conduit.node');
const LOADER = path.join('node_modules', 'node-gyp-build');

/** @param {string} folder whose node_modules are to be what its lock file says */
function installOnce(folder) {
  const hash = createHash('sha256');
  for (const name of ['package.json', 'package-lock.json', '.npmrc']) {
    hash.update(fs.readFileSync(path.join(folder, name)));
  }
  const wanted = hash.digest('hex');
  const stamp = path.join(folder, 'node_modules', '.installed');
  if (fs.existsSync(stamp) && fs.readFileSync(stamp, 'utf8') === wanted) return;
  execFileSync('npm', ['ci', '--no-progress', '--loglevel=error'], {
    cwd: folder,
    stdio: ['ignore', 'inherit', 'inherit'],
    shell: process.platform === 'win32',
  });
  fs.writeFileSync(stamp, wanted);
}

/**
 * The addon comes from the checkout, where it is built; all else is what a published package has.
 * @param {string} folder node_modules/pg of a consumer, who has the dependencies of `pg`
 */
function placeProject(folder) {
  fs.rmSync(folder, { recursive: true, force: true });
  for (const name of ['lib', 'package.json', ADDON, LOADER]) {
    fs.cpSync(path.join(ROOT, name), path.join(folder, name), { recursive: true });
  }
}

module.exports = { installOnce, placeProject };
