'use strict';

// Builds pipeline.c, against the libpq that the addon was built with or else the system's, and runs it.
// One of the programs of ../programs.js.

const { execFileSync } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');
const { runMeasured } = require('./measured');

const ROOT = path.join(__dirname, '..', '..');
const PROGRAM = path.join(ROOT, 'build', 'bench-pipeline');

/** @returns {import('../child').Loaded | { error: string }} */
function buildLimit() {
  const bundled = path.join(ROOT, 'build', 'Release', 'pq.a');
  const errors = [];
  // The bundled one was compiled with Node's OpenSSL headers, and wants that OpenSSL's major version.
  for (const choose of [() => bundledArguments(bundled), systemArguments]) {
    try {
      fs.mkdirSync(path.dirname(PROGRAM), { recursive: true });
      const source = path.join(__dirname, 'pipeline.c');
      const args = ['-O2', '-Wall', '-Wextra', source, '-o', PROGRAM, ...choose()];
      execFileSync(process.env.CC || 'cc', args, { stdio: ['ignore', 'ignore', 'pipe'] });
      const version = execFileSync(PROGRAM, ['--version'], { encoding: 'utf8' }).trim();
      return {
        version: `libpq ${version}`,
        settings:
          'a C program, binary parameters and results, each cell read and none converted; the Sync ' +
          'policy of the case',
      };
    } catch (error) {
      errors.push(/** @type {Error} */ (error).message.split('\n').slice(0, 2).join(' '));
    }
  }
  return { error: errors.join('; ') };
}

/** @param {string} library */
function bundledArguments(library) {
  if (!fs.existsSync(library)) throw new Error('the addon was not built with the bundled libpq');
  const include = path.join(ROOT, 'deps', 'libpq', 'include');
  return [`-I${include}`, library, '-lssl', '-lcrypto', '-lm', '-pthread'];
}

function systemArguments() {
  /** @param {string} what */
  const find = (what) =>
    execFileSync(process.execPath, [path.join(ROOT, 'scripts', 'find-libpq.js'), what], {
      encoding: 'utf8',
    })
      .trim()
      .split(/\s+/);
  const [include] = find('--include-dir');
  return [`-I${include}`, ...find('--libraries')];
}

/** @type {import('../programs').Program['takesPart']} */
function takesPart({ limit }) {
  return limit !== undefined && (limit.connections ?? 1) === 1;
}

/**
 * @param {import('../workloads').Case} one in which it takes part
 * @param {import('../child').Job} job
 * @param {AbortSignal} signal
 * @returns {Promise<import('../child').Message>}
 */
async function runLimit(one, { target, timing }, signal) {
  const {
    mode,
    text,
    rows = 0,
    inFlight,
    burst = false,
    perSync = 1,
  } = /** @type {import('../workloads').Limit} */ (one.limit);
  const numbers = [
    rows,
    inFlight,
    Number(burst),
    perSync,
    timing.warmupMillis,
    timing.measureMillis,
  ];
  const args = [target.connectionString, mode, text, ...numbers.map(String)];
  const { password } = target.config;
  const message = await runMeasured(one, PROGRAM, args, { password, signal });
  // It counts queries, the workload bursts.
  if (burst && message.measurement) message.measurement.operations /= inFlight;
  return message;
}

module.exports = { isAlone: true, probe: buildLimit, run: runLimit, takesPart };
