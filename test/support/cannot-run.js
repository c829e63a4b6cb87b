'use strict';

// For tests that need what not every machine has, such as IPv6: they are skipped, and after mocha's summary
// each reason is told in a line (global.js and test/install/mocharc.js print it). A skipped test that
// says nothing would look like one that nobody wrote.

/** @type {Map<string, Set<import('mocha').Runnable>>} */
const testsByReason = new Map();

/**
 * Skips the test, or in a hook `before` all tests of its suite.
 * @param {Mocha.Context} context of the test or hook
 * @param {string} reason what the machine lacks
 * @returns {never}
 */
function cannotRun(context, reason) {
  const runnable = context.runnable();
  const tests = testsByReason.get(reason) ?? new Set();
  testsByReason.set(reason, tests);
  if (runnable.type === 'hook') runnable.parent.eachTest((test) => tests.add(test));
  else tests.add(runnable);
  return context.skip();
}

/** @returns {string[]} a line for each reason */
function notRun() {
  return [...testsByReason].map(([reason, tests]) => {
    const titles = [...tests].map((test) => test.fullTitle()).join('; ');
    const count = tests.size === 1 ? '1 test' : `${tests.size} tests`;
    return `  ${count} could not run here: ${reason} (${titles})`;
  });
}

function printNotRun() {
  for (const line of notRun()) console.log(line);
}

module.exports = { cannotRun, notRun, printNotRun };
