'use strict';

// Makes a Query from the arguments of query(), in all forms that `pg` takes, and calls callbacks.
// Used in this folder and by the pool.

const { ParameterError } = require('../base');
const { isAbortSignal, MAX_SIZE, prepareParameters, Query, tooLargeError } = require('../query');
const { isRowKeys } = require('../rows');
const { bindNames, isNamed } = require('./named-parameters');

/**
 * @typedef {import('../query').Callback} Callback
 * @typedef {import('../query').Limits} Limits
 */

/** @type {readonly unknown[]} */
const NO_VALUES = Object.freeze([]);
const NO_OPTIONS = Object.freeze({});
const SYNC_GROUPS = ['off', 'reads', 'all'];

/**
 * @param {any} text an SQL text, or { text, values, name, rowMode, types, prepare, syncGroup,
 *   signal, timeoutMillis, callback }
 * @param {any} values an array, or the callback
 * @param {any} third the callback, or the limits
 * @param {import('../query').QueryDefaults} defaults
 * @returns {Query} `refusal` says why it cannot be sent, if it cannot
 */
function readQuery(text, values, third, defaults) {
  const limits = isLimits(third) ? third : undefined;
  let callback = limits === undefined ? third : undefined;
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
  // As in `pg`: callers pass the result of a condition, and what is falsy means no values.
  values ||= NO_VALUES;
  /** @type {readonly import('../query').Parameter[]} */
  let parameters = [];
  /** @type {ParameterError | undefined} */
  let refusal;
  try {
    if (defaults.namedParameters && typeof text === 'string' && isNamed(values)) {
      [text, values] = bindNames(text, values);
    }
    checkArguments(text, values, options);
    if (limits !== undefined) checkLimits(limits);
    if (callback && typeof callback !== 'function') {
      throw new ParameterError('callback is not a function');
    }
    parameters = prepareParameters(values);
  } catch (error) {
    refusal = /** @type {ParameterError} */ (error);
  }
  const query = new Query(refusal === undefined ? text : '', parameters, options, defaults);
  if (refusal !== undefined) query.signal = undefined;
  else if (limits !== undefined) query.limit(limits);
  query.refusal = query.size > MAX_SIZE ? tooLargeError() : refusal;
  query.callback = typeof callback === 'function' ? callback : undefined;
  return query;
}

/**
 * @param {any} text
 * @param {any} values
 * @param {Record<string, any> | null | undefined} options `signal`, and `batchSize` for streams
 * @param {import('../query').QueryDefaults} defaults
 * @returns {Query} as readQuery()
 */
function readStreamed(text, values, options, defaults) {
  const { signal } = options ?? {};
  const query = readQuery(text, values, options && { signal }, defaults);
  if (query.rowMode === 'columns') {
    query.refusal ??= new ParameterError(
      "rowMode: 'columns' is for query() and batch(): streams and cursors give out row by row",
    );
  }
  for (const [name, value] of Object.entries(options ?? {})) {
    if (name === 'batchSize' || name === 'signal' || value === undefined) continue;
    query.refusal ??= new ParameterError(
      name === 'timeoutMillis'
        ? 'timeoutMillis does not work for streams and cursors: give them a signal, AbortSignal.timeout(milliseconds)'
        : `unknown option "${name}": after the values a stream takes { batchSize, signal }`,
    );
  }
  return query;
}

/** @param {unknown} third of query() @returns {third is Limits} it is no callback */
function isLimits(third) {
  return typeof third === 'object' && third !== null;
}

/**
 * @param {object} limits
 * @throws {ParameterError}
 */
function checkLimits(limits) {
  for (const [name, value] of Object.entries(limits)) {
    if (name === 'signal' || name === 'timeoutMillis' || value === undefined) continue;
    throw new ParameterError(
      `unknown option "${name}": after the values query() takes { signal, timeoutMillis }, or a callback`,
      { hint: 'pass other options with the text: { text, values, rowMode, … }' },
    );
  }
  checkDeadline(limits);
}

/**
 * @param {any} text
 * @param {any} values
 * @param {Record<string, any>} options
 * @throws {ParameterError}
 */
function checkArguments(text, values, options) {
  if (typeof text !== 'string') {
    if (options === NO_OPTIONS && (text === null || text === undefined)) {
      throw new ParameterError('Client was passed a null or undefined query');
    }
    throw new ParameterError(
      'A query must have either text or a name. Supplying neither is unsupported.',
      { hint: `give an SQL text, or { text, values }; it is of the type ${typeof text}` },
    );
  }
  if (!Array.isArray(values)) {
    throw new ParameterError('Query values must be an array', { hint: hintOfValues(values) });
  }
  if (options === NO_OPTIONS) return;
  const { rowMode, types, name, prepare, rowKeys, syncGroup } = options;
  if (rowMode && rowMode !== 'array' && rowMode !== 'columns') {
    throw new ParameterError(
      `rowMode must be 'array', 'columns' or nothing, not ${String(rowMode)}`,
    );
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
  if (rowKeys !== undefined && !isRowKeys(rowKeys)) {
    throw new ParameterError("rowKeys must be 'camel', a function of a column's name, or false");
  }
  checkDeadline(options);
  if (syncGroup !== undefined && !SYNC_GROUPS.includes(syncGroup)) {
    throw new ParameterError("syncGroup must be 'off', 'reads' or 'all'");
  }
}

/** @param {unknown} values that are no array */
function hintOfValues(values) {
  if (typeof values === 'object' && values !== null) {
    const names = Object.keys(values);
    if (names.length > 0 && names.every((name) => name === 'signal' || name === 'timeoutMillis')) {
      return `pass the limits after the values: query(text, [], { ${names.join(', ')} })`;
    }
  }
  return `one for each of $1, $2, …; they are of the type ${typeof values}; for :name, set the option namedParameters`;
}

/**
 * @param {Record<string, any>} options
 * @throws {ParameterError}
 */
function checkDeadline({ signal, timeoutMillis, query_timeout }) {
  if (signal !== undefined && signal !== null && !isAbortSignal(signal)) {
    throw new ParameterError('signal must be an AbortSignal');
  }
  for (const millis of [timeoutMillis, query_timeout || undefined]) {
    if (millis !== undefined && !(Number.isInteger(millis) && millis >= 0)) {
      throw new ParameterError('timeoutMillis must be a whole number of milliseconds, 0 for none');
    }
  }
}

/**
 * @param {Pick<Query, 'callback' | 'promise'>} query
 * @param {PromiseConstructor | undefined} Own the user's own, if there is one
 * @param {null} [noError] passed to the callback in place of an error, as in `pg`
 * @returns {Promise<any> | undefined} nothing with a callback, which is called
 */
function answer(query, Own, noError) {
  const { callback, promise } = query;
  if (callback === undefined) return Own === undefined ? promise : Own.resolve(promise);
  callBack(promise, callback, noError);
  return undefined;
}

/**
 * Calls back as Node.js does: outside of the promise, so that what the callback throws is an
 * uncaught exception and not a rejection.
 * @param {Promise<any>} promise
 * @param {Callback} callback
 * @param {null} [noError] passed to the callback if there is no error
 */
function callBack(promise, callback, noError) {
  promise.then(
    (value) => process.nextTick(callback, noError, value),
    (error) => process.nextTick(callback, error),
  );
}

/** @param {string} method that takes nothing but a callback */
function callbackError(method) {
  return new ParameterError(`callback is not a function: ${method} takes a callback, or nothing`);
}

/**
 * @param {Promise<void>} ended
 * @param {(error?: any) => void} callback which, as in `pg`, gets no arguments on success
 */
function callBackEnd(ended, callback) {
  callBack(ended, (error) => (error ? callback(error) : callback()));
}

module.exports = {
  answer,
  callBack,
  callBackEnd,
  callbackError,
  checkDeadline,
  checkLimits,
  isLimits,
  readQuery,
  readStreamed,
};
