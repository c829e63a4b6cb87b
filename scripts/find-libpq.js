'use strict';

// Finds a libpq installed on this machine, by pg_config and then by pkg-config, and
// refuses the versions that cannot be used. scripts/build.js calls findLibpq();
// src/addon.gyp runs this file for the compiler's and the linker's arguments.

const { spawnSync } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');
const { parseArgs } = require('node:util');

const INSTALL_HINT =
  'Install the development files of libpq 14.11 or later, e.g. `apt-get install libpq-dev`,\n' +
  '`dnf install libpq-devel`, `apk add libpq-dev`, `brew install libpq`; set PG_CONFIG when pg_config is elsewhere.';

/**
 * First usable minor version of each major version whose early ones break pipeline mode.
 * @type {Record<number, number>}
 */
const FIRST_GOOD_MINOR = { 14: 11, 15: 6, 16: 2 };

/** A libpq was found but must not be used. */
class RefusedLibpqError extends Error {}

/** @typedef {{ version: string, includeDir: string, libraryDir: string, from: string }} InstalledLibpq */

/**
 * @param {string} command
 * @param {string[]} args
 * @returns {string} its output, or '' when it fails or is missing
 */
function output(command, args) {
  const run = spawnSync(command, args, { encoding: 'utf8', stdio: ['ignore', 'pipe', 'ignore'] });
  return run.status === 0 ? run.stdout.trim() : '';
}

/**
 * The same rule as RefusedLibpqVersion in src/capabilities.h.
 * @param {string} version such as 15.18 or 19devel
 * @returns {string | undefined} why it is refused
 */
function refusal(version) {
  const [major, minor = 0] = version.split('.').map((part) => Number.parseInt(part, 10));
  if (major < 14) return `libpq ${version} is too old: it has no pipeline mode.`;
  if (minor < FIRST_GOOD_MINOR[major]) {
    return `libpq ${version} has bugs in pipeline mode, fixed in ${major}.${FIRST_GOOD_MINOR[major]}.`;
  }
  return undefined;
}

/**
 * What the driver does worse with an installed libpq than with the bundled one (src/capabilities.h).
 * @param {string} version
 * @returns {string}
 */
function shortcomings(version) {
  const found = [
    'it has no limit for the iterations of SCRAM',
    'an error in the data of a COPY is seen only at their end',
  ];
  if (Number.parseInt(version, 10) < 17) {
    found.unshift(
      'each Sync is a write of its own',
      'streamed rows come one by one',
      'a cancel takes a thread',
    );
  }
  return found.join(', ');
}

/**
 * @param {InstalledLibpq} found
 * @returns {string | undefined} the library linked against OpenSSL 1.x, which crashes inside Node
 */
function oldOpenSsl(found) {
  if (process.platform !== 'linux') return undefined;
  return output('ldd', [path.join(found.libraryDir, 'libpq.so')]).match(
    /lib(?:ssl|crypto)\.so\.1\S*/,
  )?.[0];
}

/** @returns {Generator<InstalledLibpq>} */
function* candidates() {
  const pgConfig = process.env.PG_CONFIG || 'pg_config';
  const version = output(pgConfig, ['--version']).match(/\d+(?:\.\d+)?\S*/)?.[0];
  if (version) {
    yield {
      version,
      includeDir: output(pgConfig, ['--includedir']),
      libraryDir: output(pgConfig, ['--libdir']),
      from: pgConfig,
    };
  }
  const packageVersion = output('pkg-config', ['--modversion', 'libpq']);
  if (packageVersion) {
    yield {
      version: packageVersion,
      includeDir: output('pkg-config', ['--variable=includedir', 'libpq']),
      libraryDir: output('pkg-config', ['--variable=libdir', 'libpq']),
      from: 'pkg-config',
    };
  }
}

/**
 * @returns {InstalledLibpq}
 * @throws {RefusedLibpqError} when only unusable ones are there
 */
function findLibpq() {
  let refused;
  for (const found of candidates()) {
    // pg_config may come without the headers, e.g. with the server only.
    if (!fs.existsSync(path.join(found.includeDir, 'libpq-fe.h'))) continue;
    let reason = refusal(found.version);
    const openSsl = reason ? undefined : oldOpenSsl(found);
    if (openSsl) {
      reason =
        `libpq ${found.version} in ${found.libraryDir} is linked to ${openSsl}, ` +
        'which crashes in Node.js with its own OpenSSL 3.';
    }
    if (!reason) return found;
    refused ??= `${reason} (Found by ${found.from}.)`;
  }
  if (refused) throw new RefusedLibpqError(`${refused}\n${INSTALL_HINT}`);
  throw new Error(
    `No libpq is installed: neither pg_config nor pkg-config leads to libpq-fe.h.\n${INSTALL_HINT}`,
  );
}

/**
 * @param {InstalledLibpq} found
 * @returns {string[]} the linker's arguments
 */
function libraries({ libraryDir }) {
  if (process.platform === 'win32') return [path.join(libraryDir, 'libpq.lib')];
  const args = [`-L${libraryDir}`, '-lpq'];
  // Outside the loader's own folders the addon has to say where libpq lies.
  if (!/^\/(?:usr\/)?lib/.test(libraryDir)) args.push(`-Wl,-rpath,${libraryDir}`);
  return args;
}

module.exports = { findLibpq, shortcomings, RefusedLibpqError };

if (require.main === module) {
  const { values } = parseArgs({
    options: { 'include-dir': { type: 'boolean' }, libraries: { type: 'boolean' } },
  });
  try {
    const found = findLibpq();
    if (values['include-dir']) console.log(found.includeDir);
    else if (values.libraries) console.log(libraries(found).join(' '));
    else console.log(`libpq ${found.version} in ${found.libraryDir} (by ${found.from})`);
  } catch (/** @type {any} */ error) {
    console.error(error.message);
    process.exitCode = 1;
  }
}
