'use strict';

// Builds the addon: in a checkout `npm run build:release` and, with --if-needed, the script `preprepare` call it,
// in an installed package `npx pg-conduit build` (bin/pg-conduit.js). Chooses the bundled libpq or an
// installed one, runs node-gyp and stays silent about the compiler unless something fails.
// docs/building.md explains.

const { createHash } = require('node:crypto');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { parseArgs } = require('node:util');
const { fetchLibpq } = require('./fetch-libpq.js');
const { findLibpq, shortcomings } = require('./find-libpq.js');
const { checkTools, runNodeGyp } = require('./node-gyp.js');

const ROOT = path.join(__dirname, '..');
const USAGE = `Usage: node scripts/build.js [options]
  --if-needed   do nothing when the addon is up to date
  --debug       build/Debug instead of build/Release
  --sanitize    with AddressSanitizer and UndefinedBehaviorSanitizer
  --clean       remove build/ first
  --verbose     show what node-gyp prints
Environment: PG_CONDUIT_LIBPQ=bundled|system (unset: bundled), PG_CONFIG, JOBS`;

const BUILD = path.join(ROOT, 'build');
/** What is published has no binding.gyp at its root (it says why), and is compiled in a copy that has one. */
const IS_CHECKOUT = fs.existsSync(path.join(ROOT, 'binding.gyp'));
const COPY = path.join(BUILD, 'copy');
const BINDING_GYP = {
  targets: [{ target_name: 'package', type: 'none', dependencies: ['src/addon.gyp:pg_conduit'] }],
};

/** All that is compiled or says how, since node-gyp wants it below the folder that it runs in. */
const SOURCES = ['src', 'deps', 'scripts/find-libpq.js'];

/** What a build depends on, besides the options. */
const INPUTS = [
  'src',
  'deps/exports.map',
  'deps/libpq-config',
  'deps/libpq-patches',
  'deps/libpq-peek.c',
  'deps/libpq-scram.c',
  'deps/libpq-tls.c',
  'deps/libpq.gyp',
  'deps/sanitize.gypi',
  'scripts/build.js',
  'scripts/find-libpq.js',
  'scripts/node-gyp.js',
];

/**
 * An installed libpq is never taken without being asked for: it is mostly an older one.
 * @param {string | undefined} wish PG_CONDUIT_LIBPQ
 * @returns {{ kind: 'bundled' | 'system', version: string }}
 */
function chooseLibpq(wish) {
  if (!['bundled', 'system', '', undefined].includes(wish)) {
    throw new Error(`PG_CONDUIT_LIBPQ must be "bundled" or "system", not "${wish}"`);
  }
  if (wish === 'system') return { kind: 'system', version: findLibpq().version };
  return { kind: 'bundled', version: fetchLibpq().version };
}

/** In a checkout `npx pg-conduit build` may be the first command of all. @throws {Error} says which it is */
function checkPackages() {
  try {
    require.resolve('node-addon-api');
  } catch (error) {
    if (!IS_CHECKOUT) throw error;
    throw new Error(
      `${ROOT} is a checkout, and its packages are not installed: run \`npm install\` there, which ` +
        'compiles it, too',
      { cause: error },
    );
  }
}

/**
 * @param {object} options what else the build depends on
 * @returns {string} changes with all that goes into an addon
 */
function digestInputs(options) {
  // @ts-expect-error it declares no types
  const { version } = require('node-addon-api');
  const hash = createHash('sha256').update(JSON.stringify({ ...options, nodeAddonApi: version }));
  /** @param {string} name */
  const add = (name) => {
    const file = path.join(ROOT, name);
    if (fs.statSync(file).isDirectory()) {
      for (const entry of fs.readdirSync(file).sort()) add(`${name}/${entry}`);
    } else {
      hash.update(`\0${name}\0`).update(fs.readFileSync(file));
    }
  };
  INPUTS.forEach(add);
  return hash.digest('hex');
}

/**
 * @param {string} folder gets what node-gyp needs, and nothing else
 */
function copySources(folder) {
  fs.rmSync(folder, { recursive: true, force: true });
  for (const name of SOURCES) {
    fs.cpSync(path.join(ROOT, name), path.join(folder, name), { recursive: true });
  }
  fs.writeFileSync(path.join(folder, 'binding.gyp'), JSON.stringify(BINDING_GYP));
}

/**
 * @typedef {object} BuildOptions
 * @property {boolean} [ifNeeded] do nothing when the addon is up to date
 * @property {boolean} [debug]
 * @property {boolean} [sanitize]
 * @property {boolean} [clean]
 * @property {boolean} [verbose]
 */

/** @param {BuildOptions} options */
function build({ ifNeeded, debug, sanitize, clean, verbose = false }) {
  const started = performance.now();
  const buildType = debug ? 'Debug' : 'Release';
  const sanitizers = sanitize ? 'address,undefined' : '';
  const addon = `build/${buildType}/pg_conduit.node`;
  const stampFile = path.join(BUILD, buildType, 'pg_conduit.stamp');

  checkPackages();
  const libpq = chooseLibpq(process.env.PG_CONDUIT_LIBPQ);
  const inputs = digestInputs({
    libpq: [libpq.kind, libpq.version],
    sanitize: sanitizers,
    node: [process.version, process.arch],
  });
  // With the addon's own time, so that a build past this script is not taken for ours.
  const stamp = () => `${inputs} ${fs.statSync(path.join(ROOT, addon)).mtimeMs}`;
  const isBuilt = fs.existsSync(path.join(ROOT, addon)) && fs.existsSync(stampFile);
  if (ifNeeded && !clean && isBuilt && fs.readFileSync(stampFile, 'utf8') === stamp()) {
    console.log(`pg-conduit: ${addon} is up to date`);
    return;
  }

  checkTools();
  if (clean) fs.rmSync(BUILD, { recursive: true, force: true });
  fs.mkdirSync(BUILD, { recursive: true });
  fs.rmSync(stampFile, { force: true });
  const what = `the ${libpq.kind} libpq ${libpq.version}${sanitize ? ', sanitizers' : ''}`;
  console.log(`pg-conduit: compiling with ${what} ...`);
  if (libpq.kind === 'system') {
    console.log(`pg-conduit: less than with the bundled one: ${shortcomings(libpq.version)}`);
  }
  if (!IS_CHECKOUT) copySources(COPY);
  runNodeGyp({
    folder: IS_CHECKOUT ? ROOT : COPY,
    logFile: path.join(BUILD, 'build.log'),
    verbose,
    buildType,
    variables: { libpq: libpq.kind, sanitize: sanitizers },
    jobs: process.env.JOBS || String(os.availableParallelism()),
  });
  if (!IS_CHECKOUT) {
    // lib/native/binding.js looks in one place only.
    fs.mkdirSync(path.dirname(stampFile), { recursive: true });
    fs.copyFileSync(path.join(COPY, addon), path.join(ROOT, addon));
    fs.rmSync(COPY, { recursive: true });
  }
  fs.writeFileSync(stampFile, stamp());
  const kilobytes = Math.round(fs.statSync(path.join(ROOT, addon)).size / 1024);
  const seconds = ((performance.now() - started) / 1000).toFixed(1);
  console.log(`pg-conduit: built ${addon} (${kilobytes} KB) in ${seconds} s`);
}

function main() {
  const { values } = parseArgs({
    options: {
      'if-needed': { type: 'boolean', default: false },
      debug: { type: 'boolean', default: false },
      sanitize: { type: 'boolean', default: false },
      clean: { type: 'boolean', default: false },
      verbose: { type: 'boolean', default: false },
      help: { type: 'boolean', default: false },
    },
  });
  if (values.help) console.log(USAGE);
  else build({ ...values, ifNeeded: values['if-needed'] });
}

module.exports = { build, copySources, digestInputs };

if (require.main === module) {
  try {
    main();
  } catch (/** @type {any} */ error) {
    console.error(`pg-conduit: ${error.message}`);
    process.exitCode = 1;
  }
}
