'use strict';

// Proves of a checker of memory that it would find something: an addon of its own, built like ours
// (test/native/planted), has bugs on purpose, and each of them must end the process with a report that
// names it; what has none must end well. Called by test-memory.js.

const { spawnSync } = require('node:child_process');
const path = require('node:path');
const { nodeHeaders } = require('./native-headers');

const FOLDER = path.join(__dirname, '..', 'test', 'native', 'planted');

/** @typedef {import('./test-memory').Checker} Checker */

/**
 * Each bug, and what the report says: of the sanitizers, of valgrind.
 * @type {Record<string, { sanitizers: RegExp, valgrind?: RegExp }>}
 */
const BUGS = {
  readPastEnd: { sanitizers: /heap-buffer-overflow/, valgrind: /Invalid read of size/ },
  writePastEnd: { sanitizers: /heap-buffer-overflow/, valgrind: /Invalid write of size/ },
  useAfterFree: { sanitizers: /heap-use-after-free/, valgrind: /Invalid read of size/ },
  leak: { sanitizers: /Direct leak of/, valgrind: /definitely lost/ },
  leakOfMalloc: { sanitizers: /Direct leak of/, valgrind: /definitely lost/ },
  overflow: { sanitizers: /signed integer overflow/ },
};

/** @param {string} sanitize @returns {string} the addon */
function build(sanitize) {
  const nodeGyp = require.resolve('node-gyp/bin/node-gyp.js');
  const { status, stdout, stderr } = spawnSync(
    process.execPath,
    [
      ...[nodeGyp, 'rebuild', '--directory', FOLDER, '--loglevel=warn'],
      ...[`--nodedir=${path.join(nodeHeaders(), '..', '..')}`, '--', `-Dsanitize=${sanitize}`],
    ],
    { encoding: 'utf8' },
  );
  if (status !== 0) {
    throw new Error(`the addon with planted bugs is not built:\n${stdout}${stderr}`);
  }
  return path.join(FOLDER, 'build', 'Release', 'planted.node');
}

/** @param {Checker} checker @throws {Error} it has missed a bug, or found one where there is none */
function checkPlantedBugs(checker) {
  const addon = build(checker.sanitize);
  const [program, ...args] = checker.command;
  /** @param {string} name of a function */
  const call = (name) =>
    spawnSync(program, [...args, '-e', `require(${JSON.stringify(addon)}).${name}()`], {
      encoding: 'utf8',
      env: { ...process.env, ...checker.env },
    });
  const sound = call('sound');
  if (sound.status !== 0) throw new Error(`a bug was found where there is none:\n${sound.stderr}`);
  const found = [];
  for (const [name, { sanitizers, valgrind }] of Object.entries(BUGS)) {
    const report = checker.sanitize === '' ? valgrind : sanitizers;
    if (report === undefined) continue;
    const { status, signal, stderr } = call(name);
    // By its report and its place, not by a crash of its own.
    const isFound = status !== 0 && report.test(stderr) && stderr.includes('planted');
    if (!isFound) {
      throw new Error(`the planted bug ${name} was missed (${signal ?? status}):\n${stderr}`);
    }
    found.push(name);
  }
  console.log(`planted bugs that were found: ${found.join(', ')}`);
}

module.exports = { checkPlantedBugs };
