'use strict';

// The arguments of query(), in all of the forms that `pg` takes, made into a
// Query; and callbacks called. Used by client.js and pool.js.

const { ParameterError } = require('./errors');
const { MAX_SIZE, prepareParameters, tooLargeError } = require('./parameters');
const { Query } = require('./query');

/**
 * @typedef {(error: any, result?: any) => void} Callback
 * @typedef {import('./row-builder').TypeSource} TypeSource
 * @typedef {import('./row-builder').Int8} Int8
 */

/** @type {readonly unknown[]} */
const NO_VALUES = Object.freeze([]);
const NO_OPTIONS = Object.freeze({});
const SYNC_GROUPS = ['off', 'reads', 'all'];

/**
 * @template {Query} [Q=Query]
 * @param {any} text an SQL text, or { text, values, name, rowMode, types, prepare, syncGroup,
 *   signal, timeoutMillis, callback }
 * @param {any} values an array, or the callback
 * @param {any} callback
 * @param {TypeSource} types
 * @param {Int8} int8
 * @param {new (...parameters: ConstructorParameters<typeof Query>) => Q} [Kind] Query without it
 * @returns {Q} `refusal` says why it cannot be sent, if it cannot
 */
function readQuery(text, values, callback, types, int8, Kind = /** @type {any} */ (Query)) {
  if (typeof values === 'function') {
    callback = values;
    values = undefined;
  }
  /** @type {Record<string, any>} */
  let options = NO_OPTIONS;
  if (typeof text === 'object' && text !== null) {
    options = text;
    text = options.text;
    values ??= options.values;
    callback ??= options.callback;
  }
  values ??= NO_VALUES;
  /** @type {readonly import('./parameters').Parameter[]} */
  let parameters = [];
  /** @type {ParameterError | undefined} */
  let refusal;
  try {
    checkArguments(text, values, options);
    parameters = prepareParameters(values);
  } catch (error) {
    refusal = /** @type {ParameterError} */ (error);
  }
  const query = new Kind(refusal === undefined ? text : '', parameters, options, types, int8);
  query.refusal = query.size > MAX_SIZE ? tooLargeError() : refusal;
  query.callback = callback;
  return query;
}

/**
 * @param {any} text
 * @param {any} values
 * @param {Record<string, any>} options
 * @throws {ParameterError}
 */
function checkArguments(text, values, options) {
  if (typeof text !== 'string') {
    throw new ParameterError(
      `query() needs an SQL text, or { text, values }, not ${text === null ? 'null' : typeof text}`,
    );
  }
  if (!Array.isArray(values)) {
    throw new ParameterError(
      `the values of a query must be an array, one for each of $1, $2, …, not ${typeof values}`,
    );
  }
  if (options === NO_OPTIONS) return;
  const { rowMode, types, name, prepare, syncGroup } = options;
  if (rowMode && rowMode !== 'array') {
    throw new ParameterError(`rowMode must be 'array' or nothing, not ${String(rowMode)}`);
  }
  if (types && typeof types.getTypeParser !== 'function') {
    throw new ParameterError('types must have a function getTypeParser(oid, format)');
  }
  if (name && typeof name !== 'string') {
    throw new ParameterError('the name of a query must be a string');
  }
  if (prepare !== undefined && typeof prepare !== 'boolean') {
    throw new ParameterError('prepare must be true or false');
  }
  checkDeadline(options);
  if (syncGroup !== undefined && !SYNC_GROUPS.includes(syncGroup)) {
    throw new ParameterError("syncGroup must be 'off', 'reads' or 'all'");
  }
}

/**
 * @param {Record<string, any>} options
 * @throws {ParameterError}
 */
function checkDeadline({ signal, timeoutMillis, query_timeout }) {
  if (signal && !(signal instanceof AbortSignal)) {
    throw new ParameterError('signal must be an AbortSignal');
  }
  for (const millis of [timeoutMillis, query_timeout]) {
    if (millis !== undefined && !(Number.isInteger(millis) && millis >= 0)) {
      throw new ParameterError('timeoutMillis must be a whole number of milliseconds, 0 for none');
    }
  }
}

/**
 * @param {Query} query
 * @returns {Promise<any> | undefined} nothing with a callback, which is called
 */
function answer(query) {
  const { callback, promise } = query;
  if (callback === undefined) return promise;
  callBack(promise, callback);
  return undefined;
}

/**
 * Calls back as Node does: outside of the promise, so that what the callback
 * throws is an uncaught exception and not a rejection.
 * @param {Promise<any>} promise
 * @param {Callback} callback
 */
function callBack(promise, callback) {
  promise.then(
    (value) => process.nextTick(callback, null, value),
    (error) => process.nextTick(callback, error),
  );
}

module.exports = { answer, callBack, checkDeadline, readQuery };
