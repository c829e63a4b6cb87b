'use strict';

// Options of a pool from outside, for tests that are to hold however a pool is set up:
// PG_CONDUIT_TEST_POOL='{"max": 5, "syncGroup": "all"}' npx mocha test/oracle/oracle.test.js

/** @returns {Record<string, any>} */
function givenPoolOptions() {
  const text = process.env.PG_CONDUIT_TEST_POOL;
  if (!text) return {};
  try {
    return JSON.parse(text);
  } catch (cause) {
    throw new Error(`PG_CONDUIT_TEST_POOL is no JSON: ${text}`, { cause });
  }
}

module.exports = { givenPoolOptions };
