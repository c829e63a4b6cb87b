'use strict';

// Folders with a package.json and a lock file of their own: what only some of the scripts, tests and benches
// need is not in the project's, and is installed by whoever needs it first.
// node scripts/install-once.js FOLDER...

const { execFileSync } = require('node:child_process');
const { createHash } = require('node:crypto');
const fs = require('node:fs');
const { createRequire } = require('node:module');
const path = require('node:path');

const ROOT = path.join(__dirname, '..');

/** @param {string} folder whose node_modules are to be what its lock file says */
function installOnce(folder) {
  const hash = createHash('sha256');
  for (const name of ['package.json', 'package-lock.json', '.npmrc']) {
    hash.update(fs.readFileSync(path.join(folder, name)));
  }
  const wanted = hash.digest('hex');
  const stamp = path.join(folder, 'node_modules', '.installed');
  if (fs.existsSync(stamp) && fs.readFileSync(stamp, 'utf8') === wanted) return;
  const name = path.relative(ROOT, folder);
  const { description } = require(path.join(folder, 'package.json'));
  // What is printed on stdout may be read by somebody.
  console.error(`Installing ${name}, once: ${description}`);
  try {
    execFileSync('npm', ['ci', '--no-progress', '--loglevel=error'], {
      cwd: folder,
      stdio: ['ignore', 'ignore', 'inherit'],
      shell: process.platform === 'win32',
    });
  } catch (error) {
    throw new Error(`\`npm ci\` in ${name} has failed`, { cause: error });
  }
  fs.writeFileSync(stamp, wanted);
}

/**
 * A file of a package in tools/.
 * @param {string} tool a folder in there
 * @param {string} id as for require()
 * @returns {string} its path
 */
function findTool(tool, id) {
  const folder = path.join(ROOT, 'tools', tool);
  installOnce(folder);
  return createRequire(path.join(folder, 'package.json')).resolve(id);
}

/** @param {string} tool @param {string} id @returns {any} */
function requireTool(tool, id) {
  return require(findTool(tool, id));
}

if (require.main === module) {
  for (const folder of process.argv.slice(2)) installOnce(path.resolve(ROOT, folder));
}

module.exports = { findTool, installOnce, requireTool };
