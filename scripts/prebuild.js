'use strict';

// The binaries that the package brings along. `npm run prebuild -- --all` compiles one for each target of
// prebuilds.js, with the cross compiler that PyPI has (zig c++, pinned in requirements-prebuild.txt); what is up to
// date stays. Without --all, and so before `npm pack`, this machine's own build is taken where not all of them are
// there. `npm publish` runs --check.

const { execFileSync } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { parseArgs } = require('node:util');
const zlib = require('node:zlib');
const Table = require('cli-table3');
const { copySources } = require('./build.js');
const { fetchLibpq } = require('./fetch-libpq.js');
const { nodeDir, versionOfHeaders } = require('./native-headers.js');
const { runNodeGyp } = require('./node-gyp.js');
const { VENV_PYTHON, ensureRequirements } = require('./python-tools.js');
const { FOLDER, HEADERS_MAJOR, REQUIREMENTS, TARGETS } = require('./prebuilds.js');
const { faults, inspect, isUpToDate, record } = require('./prebuilds.js');

/** @typedef {import('./prebuilds.js').Target} Target */

const ROOT = path.join(__dirname, '..');
const WORK = path.join(ROOT, 'build', 'prebuild');
const UNCHECKED = 'PG_CONDUIT_PACK_WITHOUT_PREBUILDS';
const USAGE = `Usage: node scripts/prebuild.js [options]
  without options: the binary of this machine alone, unless all are there and up to date
  --all     all of them, which are then fit to be published
  --force   with --all: make again what is up to date
  --check   make nothing: fail unless all are there, sound and up to date
Environment: ${UNCHECKED}=1 lets \`npm pack\` go on without any; JOBS, npm_config_nodedir`;

/** @returns {string} the version of the headers */
function checkHost() {
  if (process.platform !== 'linux') throw new Error('prebuilds are made on Linux only');
  const folder = nodeDir();
  const version = folder && versionOfHeaders(folder);
  if (version?.split('.')[0] !== HEADERS_MAJOR) {
    throw new Error(
      `prebuilds are made against the headers of Node.js ${HEADERS_MAJOR}, the lowest that is ` +
        `supported, and here are ${version ? `those of ${version}` : 'none'}: run this with Node.js ` +
        `${HEADERS_MAJOR} as its archive is unpacked, or set npm_config_nodedir to such a folder`,
    );
  }
  return version;
}

/** @returns {string} */
function findZig() {
  ensureRequirements(REQUIREMENTS);
  const where = 'import os, ziglang; print(os.path.dirname(ziglang.__file__))';
  const folder = execFileSync(VENV_PYTHON, ['-c', where], { encoding: 'utf8' }).trim();
  return path.join(folder, 'zig');
}

/**
 * Programs without arguments and spaces in their names, since make cannot quote CXX.
 * @param {string} folder
 * @param {string} zig
 * @param {Target} target
 */
function writeTools(folder, zig, { triple }) {
  fs.mkdirSync(folder, { recursive: true });
  // The C++ library of zig checks itself no more than others do, nor is there a debugger to tell it to.
  const flags = `-target ${triple} -fno-sanitize=undefined`;
  const tools = { 'zig-cc': `cc ${flags}`, 'zig-c++': `c++ ${flags}`, 'zig-ar': 'ar' };
  for (const [name, command] of Object.entries(tools)) {
    const script = `#!/bin/sh\nexec "${zig}" ${command} "$@"\n`;
    fs.writeFileSync(path.join(folder, name), script, { mode: 0o755 });
  }
}

/**
 * @param {Target} target
 * @param {string} zig
 */
function make(target, zig) {
  const folder = path.join(WORK, target.file.replace(/\.node$/, ''));
  const tools = path.join(folder, 'tools');
  copySources(folder);
  writeTools(tools, zig, target);
  const cache = path.join(ROOT, 'build', 'zig-cache');
  runNodeGyp({
    folder,
    logFile: path.join(folder, 'build.log'),
    verbose: false,
    args: [`--arch=${target.arch}`],
    variables: { libpq: 'bundled' },
    jobs: process.env.JOBS || String(os.availableParallelism()),
    env: {
      PATH: `${tools}${path.delimiter}${process.env.PATH}`,
      ...{ CC: 'zig-cc', CXX: 'zig-c++', AR: 'zig-ar', LDFLAGS: '-s' },
      ...{ ZIG_GLOBAL_CACHE_DIR: cache, ZIG_LOCAL_CACHE_DIR: cache },
    },
  });
  const made = path.join(FOLDER, target.file);
  fs.mkdirSync(path.dirname(made), { recursive: true });
  fs.copyFileSync(path.join(folder, 'build', 'Release', 'pg_conduit.node'), made);
}

/** @param {Target} target @returns {boolean} whether this machine can run it */
function isOfHost({ arch, libc }) {
  const { header } = /** @type {any} */ (process.report.getReport());
  const hostLibc = header.glibcVersionRuntime ? 'glibc' : 'musl';
  return process.platform === 'linux' && process.arch === arch && hostLibc === libc;
}

/** Prints what the binaries are. @throws {Error} one of them is not what it must be */
function report() {
  const table = new Table({
    head: ['prebuilds/', 'KB', 'KB gzipped', 'glibc'],
    style: { head: [], border: [], compact: true },
  });
  const complaints = [];
  const all = TARGETS.map((target) => ({ target, facts: inspect(path.join(FOLDER, target.file)) }));
  // The one that is loaded here speaks for the others.
  const sample = all.find(({ target }) => isOfHost(target));
  for (const { target, facts } of all) {
    const file = path.join(FOLDER, target.file);
    const found = faults(target, facts);
    if (sample && target.libc === 'glibc') {
      const known = new Set(sample.facts.fromNode);
      const unknown = facts.fromNode.filter((name) => !known.has(name));
      if (unknown.length > 0) found.push(`it asks Node.js for ${unknown.join(', ')}`);
    }
    complaints.push(...found.map((fault) => `${target.file}: ${fault}`));
    const bytes = fs.readFileSync(file);
    const kilobytes = [bytes.length, zlib.gzipSync(bytes).length].map((n) => Math.round(n / 1024));
    table.push([target.file, ...kilobytes, facts.glibc ?? '-']);
  }
  console.log(table.toString());
  const exported = new Set(all.flatMap(({ facts }) => facts.exported));
  console.log(`exported symbols: ${[...exported].join(', ')}`);
  if (sample) {
    const file = path.join(FOLDER, sample.target.file);
    const print = `console.log(require(${JSON.stringify(file)}).libpqVersion)`;
    const loaded = execFileSync(process.execPath, ['-e', print], { encoding: 'utf8' }).trim();
    console.log(`loaded here: ${sample.target.file}, libpq ${loaded}`);
  }
  if (complaints.length > 0) throw new Error(complaints.join('\n'));
}

/**
 * Puts this machine's own build into prebuilds/, which then has nothing that is older than the sources.
 * @returns {string} what can be said of it
 */
function takeOwnBuild() {
  if (process.env.PG_CONDUIT_LIBPQ === 'system') {
    throw new Error('a package for others is made with the bundled libpq: unset PG_CONDUIT_LIBPQ');
  }
  // What it says does not belong into stdout, which is npm's: somebody may read its --json.
  execFileSync(process.execPath, [path.join(__dirname, 'build.js'), '--if-needed'], {
    stdio: ['ignore', 2, 2],
  });
  const ready = TARGETS.filter(isUpToDate).map(({ file }) => file);
  for (const { file } of TARGETS) {
    if (!ready.includes(file)) fs.rmSync(path.join(FOLDER, file), { force: true });
  }
  const own = TARGETS.find(isOfHost)?.file ?? `${process.platform}-${process.arch}/pg-conduit.node`;
  if (!ready.includes(own)) {
    const file = path.join(FOLDER, own);
    fs.mkdirSync(path.dirname(file), { recursive: true });
    fs.copyFileSync(path.join(ROOT, 'build', 'Release', 'pg_conduit.node'), file);
  }
  const which = [...new Set([own, ...ready])].join(', ');
  return (
    `the package has no binaries but ${which}, and must not be published; ` +
    '`npm run prebuild -- --all` makes all of them'
  );
}

function check() {
  const missing = TARGETS.filter((target) => !isUpToDate(target)).map(({ file }) => file);
  if (missing.length > 0) {
    throw new Error(
      `prebuilds/ lacks ${missing.join(', ')}, or they are older than the sources: run ` +
        '`npm run prebuild -- --all`',
    );
  }
  const found = TARGETS.flatMap((target) =>
    faults(target, inspect(path.join(FOLDER, target.file))),
  );
  if (found.length > 0) throw new Error(`prebuilds/ is not what it must be: ${found.join('; ')}`);
}

function main() {
  const { values } = parseArgs({
    options: {
      all: { type: 'boolean', default: false },
      force: { type: 'boolean', default: false },
      check: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) {
    console.log(USAGE);
    return;
  }
  fetchLibpq();
  if (values.check) {
    check();
    return;
  }
  if (!values.all) {
    if (process.env[UNCHECKED] !== '1' && !TARGETS.every(isUpToDate)) {
      console.error(`prebuild: ${takeOwnBuild()}`);
    }
    return;
  }
  const wanted = TARGETS.filter((target) => values.force || !isUpToDate(target));
  if (wanted.length > 0) {
    const version = checkHost();
    const zig = findZig();
    for (const target of wanted) {
      const started = performance.now();
      make(target, zig);
      record(target, version);
      const seconds = ((performance.now() - started) / 1000).toFixed(1);
      console.log(`prebuild: ${target.file} made in ${seconds} s`);
    }
  }
  report();
}

try {
  main();
} catch (/** @type {any} */ error) {
  console.error(`prebuild: ${error.message}`);
  process.exitCode = 1;
}
