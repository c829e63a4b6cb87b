'use strict';

// For tests that need what not every machine has, such as IPv6: they are skipped, and after mocha's summary
// each reason is told in a line (global.js prints it). A skipped test that says nothing would look like one
// that nobody wrote.

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');

/** Names the file in which the workers of a parallel run tell the process that prints. */
const VARIABLE = 'PG_CONDUIT_TEST_NOT_RUN';
/** Not passed on: programs that a test starts, such as another mocha, speak for themselves. */
const PARENTS_FILE = process.env[VARIABLE];
delete process.env[VARIABLE];

/** @type {Map<string, Set<string>>} full titles */
const testsByReason = new Map();

/** @param {string} reason @param {string} title */
function add(reason, title) {
  const titles = testsByReason.get(reason) ?? new Set();
  testsByReason.set(reason, titles.add(title));
}

/**
 * Skips the test, or in a hook `before` all tests of its suite.
 * @param {Mocha.Context} context of the test or hook
 * @param {string} reason what the machine lacks
 * @returns {never}
 */
function cannotRun(context, reason) {
  const runnable = context.runnable();
  /** @type {string[]} */
  const titles = [];
  if (runnable.type === 'hook') runnable.parent.eachTest((test) => titles.push(test.fullTitle()));
  else titles.push(runnable.fullTitle());
  for (const title of titles) {
    if (PARENTS_FILE === undefined) add(reason, title);
    else fs.appendFileSync(PARENTS_FILE, `${JSON.stringify([reason, title])}\n`);
  }
  return context.skip();
}

/** By the process that is about to start workers. */
function collectFromWorkers() {
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'conduit-not-run-'));
  process.env[VARIABLE] = path.join(folder, 'tests');
}

function readCollected() {
  const file = process.env[VARIABLE];
  if (file === undefined) return;
  delete process.env[VARIABLE];
  const lines = fs.existsSync(file) ? fs.readFileSync(file, 'utf8').trim().split('\n') : [];
  for (const line of lines) add(...JSON.parse(line));
  fs.rmSync(path.dirname(file), { recursive: true });
}

/** @returns {string[]} a line for each reason */
function notRun() {
  return [...testsByReason].map(([reason, titles]) => {
    const count = titles.size === 1 ? '1 test' : `${titles.size} tests`;
    return `  ${count} could not run here: ${reason} (${[...titles].join('; ')})`;
  });
}

/** By the process that prints the summary, after it. */
function printNotRun() {
  readCollected();
  for (const line of notRun()) console.log(line);
}

module.exports = { cannotRun, collectFromWorkers, notRun, printNotRun };
