'use strict';

// A worker of a parallel run that ends by itself between two files, by an error that came too late for its test or
// by a signal, must fail the run: mocha and workerpool would wait for ever for the end of what has ended, or end
// without a summary and with the status 0.

const { subscribe } = require('node:diagnostics_channel');
const path = require('node:path');

const WORKER = path.join('mocha', 'lib', 'nodejs', 'worker.js');

/** @type {string[]} how workers ended that should not have */
const ends = [];
let isComplete = false;

/** By the process that is about to start workers. */
function watchWorkers() {
  subscribe('child_process', (message) => {
    const { process: child } =
      /** @type {{ process: import('node:child_process').ChildProcess }} */ (message);
    child.once('exit', (code, signal) => {
      if (!child.spawnargs.some((argument) => argument.endsWith(WORKER))) return;
      if (code !== 0 && !child.killed) ends.push(signal ?? `status ${code}`);
      // workerpool waits for ever for the end of a worker that has ended, unless it counts as killed.
      /** @type {any} */ (child).killed = true;
    });
  });
}

/** By the process whose status counts, when it begins. */
function failUnlessComplete() {
  process.once('exit', () => {
    if (isComplete) return;
    console.error('The tests did not come to their end');
    process.exitCode ||= 1;
  });
}

/** By the same process, after the summary. @throws {Error} if a worker has ended by itself */
function complete() {
  isComplete = true;
  if (ends.length === 0) return;
  throw new Error(
    `A process that ran tests ended between two files (${ends.join(', ')}): see what it printed`,
  );
}

module.exports = { complete, failUnlessComplete, watchWorkers };
