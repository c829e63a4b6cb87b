'use strict';

// Brings libpq's C sources into deps/libpq (ignored by git): the crate pq-src, pinned
// by deps/libpq-source/Cargo.lock, downloaded by `cargo vendor` and checked file by
// file. scripts/build.js calls fetchLibpq(); by hand: node scripts/fetch-libpq.js

const { spawnSync } = require('node:child_process');
const { createHash } = require('node:crypto');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');

const DEPS = path.join(__dirname, '..', 'deps');
const LOCK_DIR = path.join(DEPS, 'libpq-source');
const TARGET = path.join(DEPS, 'libpq');
const STAMP = path.join(TARGET, 'version.json');
const CRATE = 'pq-src';

/** Headers an application includes, and where the crate has them. */
const PUBLIC_HEADERS = [
  'source/src/interfaces/libpq/libpq-fe.h',
  'source/src/interfaces/libpq/libpq-events.h',
  'source/src/include/postgres_ext.h',
  'additional_include/pg_config_ext.h',
];

/** The sources cannot be had here; an installed libpq may serve instead. */
class SourceUnavailableError extends Error {}

/**
 * @returns {{ crate: string, libpq: string, checksum: string }} what the lock file pins
 */
function readLock() {
  const lock = fs.readFileSync(path.join(LOCK_DIR, 'Cargo.lock'), 'utf8');
  const entry = lock.split('[[package]]').find((text) => text.includes(`name = "${CRATE}"`));
  const crate = entry?.match(/^version = "(.+)"/m)?.[1];
  const checksum = entry?.match(/^checksum = "([0-9a-f]{64})"/m)?.[1];
  const libpq = crate?.split('+libpq-')[1];
  if (!libpq || !checksum) {
    throw new Error(
      'deps/libpq-source/Cargo.lock does not pin pq-src with a libpq version and a checksum',
    );
  }
  const header = fs.readFileSync(path.join(DEPS, 'libpq-config', 'pg_config_os.h'), 'utf8');
  const configured = header.match(/^#define PG_VERSION "(.+)"/m)?.[1];
  if (configured !== libpq) {
    throw new Error(
      `Cargo.lock pins libpq ${libpq}, but deps/libpq-config/pg_config_os.h is for ${configured}: ` +
        'update its PG_VERSION lines, and compare deps/libpq.gyp with the build.rs of the crate',
    );
  }
  return { crate, libpq, checksum };
}

/**
 * Runs `cargo vendor` in a folder that holds nothing but copies of our manifest and lock.
 * @param {string} folder
 * @returns {string} the folder of the vendored crate
 */
function vendor(folder) {
  for (const name of ['Cargo.toml', 'Cargo.lock']) {
    fs.copyFileSync(path.join(LOCK_DIR, name), path.join(folder, name));
  }
  fs.writeFileSync(path.join(folder, 'lib.rs'), '');
  const cargo = process.env.CARGO || 'cargo';
  const run = spawnSync(cargo, ['vendor', '--locked', '--quiet', 'vendor'], {
    cwd: folder,
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'pipe'],
  });
  if (run.error) {
    throw new SourceUnavailableError(
      `libpq's sources are downloaded with cargo, which could not be started (${run.error.message}).\n` +
        'Install it, e.g. `apt-get install cargo`, `dnf install cargo`, `brew install rust`.',
    );
  }
  if (run.status !== 0) {
    const message = `\`cargo vendor\` could not download libpq's sources:\n${run.stderr.trim()}`;
    // A wrong checksum is no reason to try something else quietly.
    if (/checksum/i.test(run.stderr)) throw new Error(message);
    throw new SourceUnavailableError(
      `${message}\nCheck the network (and cargo's proxy settings), then run \`node scripts/fetch-libpq.js\` again.`,
    );
  }
  return path.join(folder, 'vendor', CRATE);
}

/**
 * @param {string} folder the vendored crate
 * @param {{ crate: string, checksum: string }} lock
 */
function verify(folder, lock) {
  const manifest = fs.readFileSync(path.join(folder, 'Cargo.toml'), 'utf8');
  const version = manifest.match(/^version = "(.+)"/m)?.[1];
  if (version !== lock.crate) {
    throw new Error(`cargo delivered ${CRATE} ${version}, but Cargo.lock asks for ${lock.crate}`);
  }
  const sums = JSON.parse(fs.readFileSync(path.join(folder, '.cargo-checksum.json'), 'utf8'));
  if (sums.package !== lock.checksum) {
    throw new Error(
      `${CRATE} ${version} has the checksum ${sums.package}, but Cargo.lock asks for ${lock.checksum}`,
    );
  }
  for (const [name, expected] of Object.entries(sums.files)) {
    const actual = createHash('sha256')
      .update(fs.readFileSync(path.join(folder, name)))
      .digest('hex');
    if (actual !== expected) {
      throw new Error(`${CRATE} ${version}: ${name} does not have its recorded checksum`);
    }
  }
}

/**
 * Makes sure that deps/libpq holds the pinned sources; does nothing when it does.
 * @returns {{ version: string, fetched: boolean }}
 * @throws {SourceUnavailableError} without cargo or network
 */
function fetchLibpq() {
  const lock = readLock();
  const stamp = JSON.stringify(lock);
  if (fs.existsSync(STAMP) && fs.readFileSync(STAMP, 'utf8').trim() === stamp) {
    return { version: lock.libpq, fetched: false };
  }
  const temporary = fs.mkdtempSync(path.join(os.tmpdir(), 'pg-conduit-libpq-'));
  try {
    const crate = vendor(temporary);
    verify(crate, lock);
    fs.rmSync(TARGET, { recursive: true, force: true });
    fs.mkdirSync(path.join(TARGET, 'include'), { recursive: true });
    for (const name of ['source', 'additional_include', 'build.rs']) {
      fs.cpSync(path.join(crate, name), path.join(TARGET, name), { recursive: true });
    }
    // libpq.gyp's own versions come first; without these nobody can mistake which count.
    fs.rmSync(path.join(TARGET, 'additional_include', 'pg_config_paths.h'), { force: true });
    for (const name of PUBLIC_HEADERS) {
      fs.copyFileSync(path.join(crate, name), path.join(TARGET, 'include', path.basename(name)));
    }
    fs.copyFileSync(path.join(DEPS, 'libpq-config', 'COPYRIGHT'), path.join(TARGET, 'COPYRIGHT'));
    fs.writeFileSync(STAMP, `${stamp}\n`); // last: it vouches for all the rest
  } finally {
    fs.rmSync(temporary, { recursive: true, force: true });
  }
  return { version: lock.libpq, fetched: true };
}

module.exports = { fetchLibpq, readLock, SourceUnavailableError };

if (require.main === module) {
  try {
    const { version, fetched } = fetchLibpq();
    console.log(`libpq ${version} is ${fetched ? 'now' : 'already'} in deps/libpq`);
  } catch (/** @type {any} */ error) {
    console.error(error.message);
    process.exitCode = error instanceof SourceUnavailableError ? 2 : 1;
  }
}
