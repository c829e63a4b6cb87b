'use strict';

// What a call ends in, for tests that look at the error or at a callback's arguments.

const assert = require('node:assert/strict');
const { Client } = require('../..');

/** @param {Promise<any>} promise that must reject */
async function errorOf(promise) {
  return promise.then(
    () => assert.fail('should have been rejected'),
    (error) => error,
  );
}

/** What it ends in, whichever that is. @param {Promise<any>} promise */
function outcomeOf(promise) {
  return promise.then(
    (value) => ({ value, error: undefined }),
    (error) => ({ value: undefined, error }),
  );
}

/** What connecting with these options ends in; the client is closed then. */
async function connectError(config) {
  const client = new Client(config);
  try {
    return await errorOf(client.connect());
  } finally {
    await client.end();
  }
}

/** @param {(error: any, value: any) => void} call */
function called(call) {
  return new Promise((resolve) => {
    call((...args) => resolve(args));
  });
}

module.exports = { called, connectError, errorOf, outcomeOf };
