'use strict';

// Submittables (pg-query-stream, pg-cursor, `pg`'s Query) that are given to pool.query(), as with pg-pool: each runs on
// a client that is borrowed for it, and given back when it is over. Used by pool.js.

const { callApart } = require('../base');
const { watchSubmittable } = require('../client');

/** For one that was told of an error before it had a connection. */
const NO_CONNECTION = { sync() {} };

/**
 * @param {any} submittable
 * @param {Promise<import('./loan').LentClient>} borrowed
 * @returns {Promise<any>} its result, if it calls back with one, when it is over
 */
async function runSubmittable(submittable, borrowed) {
  let result;
  /** @type {unknown} */
  let failure;
  const { callback } = submittable;
  submittable.callback = (/** @type {any} */ error, /** @type {any} */ value) => {
    failure = error;
    result = value;
    if (typeof callback === 'function') callback(error, value);
  };
  let client;
  try {
    client = await borrowed;
  } catch (error) {
    // Whoever reads its rows is told, too.
    callApart(() => submittable.handleError?.(error, NO_CONNECTION));
    throw error;
  }
  try {
    // A stream that was destroyed meanwhile would never be read.
    if (submittable.destroyed) return undefined;
    await new Promise((resolve) => {
      watchSubmittable(submittable, () => resolve(undefined));
      /** @type {any} */ (client).query(submittable);
    });
  } finally {
    client.release();
  }
  if (failure) throw failure;
  return result;
}

module.exports = { runSubmittable };
