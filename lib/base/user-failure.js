'use strict';

// Errors that the caller's own code has thrown while a query was made or its rows were read: toPostgres(), toJSON(), a type
// parser. The caller is told of them by the same object, as by `pg`. Inside the driver an error of ours stands for each, so
// that what is decided by the class or the code of an error (what the server has said, what is sent again) is never
// decided by the caller's. Used by query/, connection/decode-flags.js and caller-stack.js.

const { isNativeError } = require('node:util/types');
const { keepStack } = require('./errors');
const { causeOf } = require('./user-code');

/** What was thrown, by the error that stands for it. @type {WeakMap<Error, any>} */
const thrownFor = new WeakMap();
/** Errors that stood for others. */
const standIns = new WeakSet();

/** What an error of ours says about the query, and the caller's is to say, too. */
const TOLD = ['index', 'query'];

/**
 * @template {Error} E
 * @param {E} error of ours, which says where it was thrown; its `cause` becomes what was thrown
 * @param {unknown} thrown anything
 * @returns {E}
 */
function standFor(error, thrown) {
  const cause = causeOf(thrown);
  if (cause !== undefined) define(error, 'cause', cause, false);
  if (isNativeError(cause)) thrownFor.set(error, cause);
  return error;
}

/**
 * @param {any} error that a promise is to be rejected with
 * @returns {any} what was thrown, with our error as its cause, if that stands for an error that can say the outcome
 */
function toldError(error) {
  const thrown = thrownFor.get(error);
  if (thrown === undefined || !tellOutcome(thrown, error.outcome)) return error;
  for (const name of TOLD) {
    if (error[name] !== undefined) define(thrown, name, error[name], true);
  }
  const { value } = Object.getOwnPropertyDescriptor(thrown, 'cause') ?? {};
  if (value === undefined || standIns.has(value)) {
    // Not in a circle: there is code that follows causes to their end.
    define(error, 'cause', undefined, false);
    define(thrown, 'cause', error, false);
    standIns.add(error);
  }
  return keepStack(thrown);
}

/**
 * @param {Error} thrown perhaps once more, for another query: 'unknown' is never turned into 'not-run'
 * @param {import('./errors').Outcome} outcome
 * @returns {boolean} whether it says it now
 */
function tellOutcome(thrown, outcome) {
  const { value } = Object.getOwnPropertyDescriptor(thrown, 'outcome') ?? {};
  return define(thrown, 'outcome', value === 'unknown' ? value : outcome, true);
}

/**
 * It calls no accessor, and throws nothing if the error is frozen.
 * @param {object} error
 * @param {string} name
 * @param {unknown} value
 * @param {boolean} enumerable
 */
function define(error, name, value, enumerable) {
  const descriptor = { value, enumerable, configurable: true, writable: true };
  return Reflect.defineProperty(error, name, descriptor);
}

module.exports = { standFor, toldError };
