'use strict';

// Uncaught exceptions, for tests of code that throws where nobody can catch it: mocha would fail the test.

/**
 * @param {() => Promise<void>} run
 * @returns {Promise<unknown[]>} what was thrown meanwhile
 */
async function collectUncaught(run) {
  const listeners = process.listeners('uncaughtException');
  const thrown = [];
  const collect = (/** @type {unknown} */ error) => thrown.push(error);
  process.removeAllListeners('uncaughtException');
  process.on('uncaughtException', collect);
  try {
    await run();
    // What waits in the queue of process.nextTick(), too.
    await new Promise((resolve) => {
      setImmediate(resolve);
    });
  } finally {
    process.off('uncaughtException', collect);
    for (const listener of listeners) process.on('uncaughtException', listener);
  }
  return thrown;
}

module.exports = { collectUncaught };
