'use strict';

// Knows libpq's C sources in deps/libpq: which version they are, and how another one gets there, which is the crate
// pq-src, pinned by deps/libpq-source/Cargo.lock, downloaded by `cargo vendor` and checked file by file. The patches of
// deps/libpq-patches are applied then, and nothing else is changed. They are in the repository, so that a build needs
// neither cargo nor a network. scripts/build.js calls fetchLibpq(); by hand, after Cargo.lock or a patch was changed:
// node scripts/fetch-libpq.js

const { spawnSync } = require('node:child_process');
const { createHash } = require('node:crypto');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { applyPatches, PATCHES, patchFiles, unpatchedTexts } = require('./libpq-patches.js');

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

/**
 * @returns {{ crate: string, libpq: string, checksum: string, patches: Record<string, string> }} what the lock file
 *   pins, and the SHA-256 of each patch
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
  const patches = patchFiles().map((name) => [name, sha256(path.join(PATCHES, name))]);
  return { crate, libpq, checksum, patches: Object.fromEntries(patches) };
}

/** @param {string} file */
function sha256(file) {
  return createHash('sha256').update(fs.readFileSync(file)).digest('hex');
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
    throw new Error(
      `cargo, which fetches libpq's sources, could not be started (${run.error.message})`,
    );
  }
  if (run.status !== 0) {
    throw new Error(`\`cargo vendor\` could not fetch libpq's sources:\n${run.stderr.trim()}`);
  }
  return path.join(folder, 'vendor', CRATE);
}

/**
 * @param {string} folder
 * @param {string} libpq the version that is wanted
 * @returns {string}
 */
function vendorOrExplain(folder, libpq) {
  try {
    return vendor(folder);
  } catch (/** @type {any} */ error) {
    throw new Error(
      `deps/libpq does not have the sources of libpq ${libpq}, or not these patches. If they were removed, ` +
        '`git checkout -- deps/libpq` brings them back; `PG_CONDUIT_LIBPQ=system npm run build:release` ' +
        `compiles with an installed libpq instead.\nTo fetch them: ${error.message}`,
      { cause: error },
    );
  }
}

/**
 * @param {string} folder the vendored crate
 * @param {{ crate: string, checksum: string }} lock what it is checked against
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
    if (sha256(path.join(folder, name)) !== expected) {
      throw new Error(`${CRATE} ${version}: ${name} does not have its recorded checksum`);
    }
  }
}

/**
 * @returns {string} of all that was fetched, the patches taken back: changes with each file and each name
 * @throws {Error} if a file that is patched is not what the patches make of it
 */
function digestSources() {
  const unpatched = unpatchedTexts(TARGET);
  const hash = createHash('sha256');
  for (const entry of fs.readdirSync(TARGET, { recursive: true }).map(String).sort()) {
    const file = path.join(TARGET, entry);
    if (file === STAMP || fs.statSync(file).isDirectory()) continue;
    const name = entry.replaceAll(path.sep, '/');
    hash.update(`\0${name}\0`).update(unpatched.get(name) ?? fs.readFileSync(file));
  }
  return hash.digest('hex');
}

/** @returns {Record<string, any>} what deps/libpq says that it is */
function readStamp() {
  return fs.existsSync(STAMP) ? JSON.parse(fs.readFileSync(STAMP, 'utf8')) : {};
}

/**
 * Makes sure that deps/libpq holds the pinned sources; does nothing when it does.
 * @returns {{ version: string, fetched: boolean }}
 */
function fetchLibpq() {
  const lock = readLock();
  const { checksum, patches } = readStamp();
  if (checksum === lock.checksum && JSON.stringify(patches) === JSON.stringify(lock.patches)) {
    return { version: lock.libpq, fetched: false };
  }
  const temporary = fs.mkdtempSync(path.join(os.tmpdir(), 'pg-conduit-libpq-'));
  try {
    const crate = vendorOrExplain(temporary, lock.libpq);
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
    applyPatches(TARGET);
    // Last: it vouches for all the rest.
    const stamp = { ...lock, sources: digestSources() };
    fs.writeFileSync(STAMP, `${JSON.stringify(stamp, null, 2)}\n`);
  } finally {
    fs.rmSync(temporary, { recursive: true, force: true });
  }
  return { version: lock.libpq, fetched: true };
}

module.exports = { digestSources, fetchLibpq, readLock, readStamp };

if (require.main === module) {
  try {
    const { version, fetched } = fetchLibpq();
    console.log(`libpq ${version} is ${fetched ? 'now' : 'already'} in deps/libpq`);
  } catch (/** @type {any} */ error) {
    console.error(error.message);
    process.exitCode = 1;
  }
}
