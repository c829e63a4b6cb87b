'use strict';

// Builds the addon in a checkout: `npm run build` and, with --if-needed, the `prepare`
// script call it. Chooses the bundled libpq or an installed one, runs node-gyp and
// stays silent about the compiler unless something fails. docs/building.md explains.

const { spawnSync } = require('node:child_process');
const { createHash } = require('node:crypto');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { parseArgs } = require('node:util');
const { fetchLibpq, SourceUnavailableError } = require('./fetch-libpq.js');
const { findLibpq } = require('./find-libpq.js');

const ROOT = path.join(__dirname, '..');
const USAGE = `Usage: node scripts/build.js [options]
  --if-needed   do nothing when the addon is up to date
  --debug       build/Debug instead of build/Release
  --sanitize    with AddressSanitizer and UndefinedBehaviorSanitizer
  --clean       remove build/ first
  --verbose     show what node-gyp prints
Environment: PG_CONDUIT_LIBPQ=bundled|system (unset: bundled, else system), PG_CONFIG, JOBS`;

/** What a build depends on, besides the options. */
const INPUTS = [
  'binding.gyp',
  'src',
  'deps/exports.map',
  'deps/libpq-config',
  'deps/libpq-peek.c',
  'deps/libpq-scram.c',
  'deps/libpq.gyp',
  'deps/sanitize.gypi',
  'scripts/build.js',
  'scripts/find-libpq.js',
];

/**
 * @param {string | undefined} wish PG_CONDUIT_LIBPQ
 * @returns {{ kind: 'bundled' | 'system', version: string, notice?: string }}
 */
function chooseLibpq(wish) {
  if (!['bundled', 'system', '', undefined].includes(wish)) {
    throw new Error(`PG_CONDUIT_LIBPQ must be "bundled" or "system", not "${wish}"`);
  }
  if (wish === 'system') return { kind: 'system', version: findLibpq().version };
  try {
    return { kind: 'bundled', version: fetchLibpq().version };
  } catch (/** @type {any} */ error) {
    if (wish === 'bundled' || !(error instanceof SourceUnavailableError)) throw error;
    try {
      return { kind: 'system', version: findLibpq().version, notice: error.message };
    } catch (/** @type {any} */ systemError) {
      throw new Error(
        `${error.message}\nAn installed libpq could serve instead, but:\n${systemError.message}`,
        { cause: systemError },
      );
    }
  }
}

/**
 * @param {object} options what else the build depends on
 * @returns {string}
 */
function digest(options) {
  const hash = createHash('sha256').update(JSON.stringify(options));
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
 * The headers beside a Node.js that was installed with them spare a download.
 * @returns {string | undefined}
 */
function installedNodeDir() {
  if (process.env.npm_config_nodedir) return undefined; // node-gyp reads it itself
  const prefix = path.join(path.dirname(process.execPath), '..');
  const folder = path.join(prefix, 'include', 'node');
  const header = path.join(folder, 'node_version.h');
  if (!fs.existsSync(path.join(folder, 'node.h')) || !fs.existsSync(header)) return undefined;
  const text = fs.readFileSync(header, 'utf8');
  const version = ['MAJOR', 'MINOR', 'PATCH'].map(
    (part) => text.match(new RegExp(`NODE_${part}_VERSION (\\d+)`))?.[1],
  );
  // Another Node.js may have left its headers in the same prefix.
  return `v${version.join('.')}` === process.version ? prefix : undefined;
}

/**
 * @returns {string} the checkout's node-gyp or, in an installed package, npm's own
 */
function findNodeGyp() {
  try {
    return require.resolve('node-gyp/bin/node-gyp.js');
  } catch {
    if (process.env.npm_config_node_gyp) return process.env.npm_config_node_gyp;
    throw new Error(
      'node-gyp is missing: run `npm install` in this checkout first, or start this script by `npm run build`',
    );
  }
}

/**
 * @param {{ buildType: string, libpq: string, sanitize: string, verbose: boolean }} options
 */
function runNodeGyp({ buildType, libpq, sanitize, verbose }) {
  const nodeGyp = findNodeGyp();
  const nodeDir = installedNodeDir();
  const jobs = process.env.JOBS || String(os.availableParallelism());
  const common = [
    buildType === 'Debug' ? '--debug' : '--release',
    `--loglevel=${verbose ? 'info' : 'warn'}`,
    ...(nodeDir ? [`--nodedir=${nodeDir}`] : []),
  ];
  const logFile = path.join(ROOT, 'build', 'build.log');
  const log = verbose ? undefined : fs.openSync(logFile, 'w');
  const steps = [
    ['configure', ...common, '--', `-Dlibpq=${libpq}`, `-Dsanitize=${sanitize}`],
    ['build', ...common, '--jobs', jobs],
  ];
  for (const args of steps) {
    const run = spawnSync(process.execPath, [nodeGyp, ...args], {
      cwd: ROOT,
      stdio: ['ignore', log ?? 'inherit', log ?? 'inherit'],
    });
    if (run.error) throw run.error;
    if (run.status !== 0) {
      if (log) process.stderr.write(fs.readFileSync(logFile));
      throw new Error(
        `node-gyp ${args[0]} failed (${run.signal ?? `exit code ${run.status}`}); its output is above`,
      );
    }
  }
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
  if (values.help) {
    console.log(USAGE);
    return;
  }
  const started = performance.now();
  const buildType = values.debug ? 'Debug' : 'Release';
  const sanitize = values.sanitize ? 'address,undefined' : '';
  const addon = `build/${buildType}/pg_conduit.node`;
  const stampFile = path.join(ROOT, 'build', buildType, 'pg_conduit.stamp');

  const libpq = chooseLibpq(process.env.PG_CONDUIT_LIBPQ);
  if (libpq.notice) {
    console.warn(`${libpq.notice}\nUsing the libpq installed on this machine instead.`);
  }
  const inputs = digest({
    libpq: [libpq.kind, libpq.version],
    sanitize,
    node: [process.version, process.arch],
    nodeAddonApi: fs.readFileSync(require.resolve('node-addon-api/package.json'), 'utf8'),
  });
  // With the addon's own time, so that a build past this script is not taken for ours.
  const stamp = () => `${inputs} ${fs.statSync(path.join(ROOT, addon)).mtimeMs}`;
  const built = fs.existsSync(path.join(ROOT, addon)) && fs.existsSync(stampFile);
  if (
    values['if-needed'] &&
    !values.clean &&
    built &&
    fs.readFileSync(stampFile, 'utf8') === stamp()
  ) {
    console.log(`pg-conduit: ${addon} is up to date`);
    return;
  }

  if (values.clean) fs.rmSync(path.join(ROOT, 'build'), { recursive: true, force: true });
  fs.mkdirSync(path.join(ROOT, 'build'), { recursive: true });
  fs.rmSync(stampFile, { force: true });
  console.log(
    `pg-conduit: compiling with the ${libpq.kind} libpq ${libpq.version}${sanitize && ', sanitizers'} ...`,
  );
  runNodeGyp({ buildType, libpq: libpq.kind, sanitize, verbose: values.verbose });
  fs.writeFileSync(stampFile, stamp());
  const kilobytes = Math.round(fs.statSync(path.join(ROOT, addon)).size / 1024);
  const seconds = ((performance.now() - started) / 1000).toFixed(1);
  console.log(`pg-conduit: built ${addon} (${kilobytes} KB) in ${seconds} s`);
}

try {
  main();
} catch (/** @type {any} */ error) {
  console.error(`pg-conduit: ${error.message}`);
  process.exitCode = 1;
}
