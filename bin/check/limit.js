'use strict';

// Time for the check: nothing of it waits for ever, whatever a server does or does not do.

const { setTimeout: delay } = require('node:timers/promises');

/** What was asked has not been answered in time. */
class StepTimeout extends Error {
  code = 'ERR_CHECK_TIMEOUT';

  /** @param {number} millis */
  constructor(millis) {
    super(`no answer within ${showMillis(millis)}`);
  }
}

/**
 * @template T
 * @param {number} millis
 * @param {Promise<T>} promise what becomes of it later is ignored
 * @returns {Promise<T>}
 * @throws {StepTimeout}
 */
async function within(millis, promise) {
  const controller = new AbortController();
  const late = delay(millis, undefined, { signal: controller.signal }).then(() => {
    throw new StepTimeout(millis);
  });
  try {
    return await Promise.race([promise, late]);
  } finally {
    controller.abort();
  }
}

/** @param {number} millis @returns {string} such as "0.31 ms", "12 ms", "5 s" */
function showMillis(millis) {
  if (millis >= 1000) return `${Number((millis / 1000).toFixed(2))} s`;
  if (millis >= 10) return `${Math.round(millis)} ms`;
  return `${Number(millis.toPrecision(2))} ms`;
}

/** @param {number} since of performance.now() @returns {number} with a resolution of 10 us */
function millisSince(since) {
  return roundMillis(performance.now() - since);
}

/** @param {number} millis */
function roundMillis(millis) {
  return Math.round(millis * 100) / 100;
}

module.exports = { millisSince, roundMillis, showMillis, StepTimeout, within };
