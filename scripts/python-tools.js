'use strict';

// Tools that come from PyPI, at the versions that a requirements file of this folder pins, in the
// git-ignored .venv. Called by lint-native.js, prebuild.js and test/install.

const { spawnSync } = require('node:child_process');
const fs = require('node:fs');
const path = require('node:path');

const ROOT = path.join(__dirname, '..');
const VENV = path.join(ROOT, '.venv');
const VENV_BIN = path.join(VENV, process.platform === 'win32' ? 'Scripts' : 'bin');
const VENV_PYTHON = path.join(VENV_BIN, 'python');

class PythonToolsError extends Error {}

/** @param {string} command @param {string[]} args */
function run(command, args) {
  const result = spawnSync(command, args, { cwd: ROOT, stdio: ['ignore', 'inherit', 'inherit'] });
  if (result.error) {
    throw new PythonToolsError(`${command} could not be started: ${result.error.message}`);
  }
  if (result.status !== 0) throw new PythonToolsError(`${command} ${args.join(' ')} failed`);
}

/** Makes .venv when it is not there. */
function ensureVenv() {
  if (spawnSync(VENV_PYTHON, ['-m', 'pip', '--version']).status === 0) return;
  const python = ['python3', 'python'].find((name) => spawnSync(name, ['--version']).status === 0);
  if (!python) throw new PythonToolsError('Python 3 is needed on PATH (python3, with venv)');
  run(python, ['-m', 'venv', VENV]);
}

/** @param {string[]} args of `pip` */
function pip(...args) {
  ensureVenv();
  run(VENV_PYTHON, ['-m', 'pip', '--disable-pip-version-check', ...args]);
}

/**
 * Does nothing when .venv already has what the file pins.
 * @param {string} requirements a file's path
 */
function ensureRequirements(requirements) {
  const pinned = fs.readFileSync(requirements, 'utf8');
  const stamp = path.join(VENV, `installed-${path.basename(requirements)}`);
  if (fs.existsSync(stamp) && fs.readFileSync(stamp, 'utf8') === pinned) return;
  pip('install', '--quiet', '--requirement', requirements);
  fs.writeFileSync(stamp, pinned);
}

module.exports = { PythonToolsError, VENV_BIN, VENV_PYTHON, ensureRequirements, pip };
