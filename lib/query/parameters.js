'use strict';

// The parameters of one query. They are converted when query() is called, so that none of the
// caller's code (toPostgres, toJSON) runs while commands are written. Bytes are not copied: a
// Buffer may be changed when its query is settled, not before. Used by query-arguments.js.

const { constants } = require('node:buffer');
const { causeOf, lengthOf, messageOf, ParameterError, standFor } = require('../base');
const { defaults } = require('../options');
const { findThrown, prepareValue, UnsuitableError } = require('../rows');

/** SQLSTATEs. */
const PROTOCOL_VIOLATION = '08P01';
const CHARACTER_NOT_IN_REPERTOIRE = '22021';

/** The Bind message counts parameters in 16 bits. */
const MAX_PARAMETERS = 65535;
/**
 * The most that the server takes in one message (PQ_LARGE_MESSAGE_LIMIT); the addon counts exactly.
 */
const MAX_SIZE = 0x3fffffff;
/** Not less than the addon counts. */
const MESSAGE_OVERHEAD = 1024;
const PARAMETER_OVERHEAD = 20;
/**
 * libpq counts in 31 bits what it has not written yet, and moves it as a whole after each partial
 * write, so that twice as much takes four times as long. So a batch is no larger than one message
 * may be. The texts of one tick are one string.
 */
const MAX_BATCH_SIZE = MAX_SIZE;
const MAX_BATCH_UNITS = constants.MAX_STRING_LENGTH - (2 << 20);

/** @typedef {import('../native').Parameter} Parameter */

/**
 * @param {unknown} value
 * @returns {Parameter}
 */
function prepare(value) {
  switch (typeof value) {
    case 'string':
      return value;
    case 'number':
      return (value | 0) === value ? value : String(value);
    case 'undefined':
      return null;
    default:
      return value === null ? null : prepareValue(value, defaults);
  }
}

/**
 * @param {readonly unknown[]} values
 * @returns {Parameter[]}
 * @throws {ParameterError}
 */
function prepareParameters(values) {
  const count = values.length;
  if (count > MAX_PARAMETERS) {
    throw new ParameterError(
      `a query takes at most ${MAX_PARAMETERS} parameters, and got ${count}: send fewer rows at ` +
        'a time, or pass an array and use unnest($1::…[])',
    );
  }
  /** @type {Parameter[]} */
  const parameters = new Array(count);
  let index = 0;
  try {
    for (; index < count; ++index) parameters[index] = prepare(values[index]);
  } catch (error) {
    // Until its stack is read, an error keeps its call frames alive, and so the client.
    forgetFrames(error);
    throw refusalOf(error, index);
  }
  return parameters;
}

/**
 * @param {unknown} error of prepareValue(), or anything that the caller's code has thrown
 * @param {number} index of the parameter
 */
function refusalOf(error, index) {
  const thrown = findThrown(error);
  const message = `parameter $${index + 1}: ${messageOf(error)}`;
  if (thrown !== undefined) return standFor(new ParameterError(message), thrown);
  const refusal = new ParameterError(message, { cause: causeOf(error) });
  if (error instanceof UnsuitableError) refusal.code = error.code ?? refusal.code;
  return refusal;
}

/** @param {any} error perhaps one with a getter that throws */
function forgetFrames(error) {
  try {
    void error?.stack;
  } catch {
    // With such a getter, what it keeps alive is its own affair.
  }
}

/**
 * @param {string} text
 * @param {readonly Parameter[]} parameters
 * @returns {number} a lower bound of the bytes that are sent for them
 */
function sizeInFlight(text, parameters) {
  let size = text.length;
  for (const parameter of parameters) {
    if (typeof parameter === 'object' || typeof parameter === 'string') {
      if (typeof parameter === 'string') size += parameter.length;
      else if (parameter !== null) size += lengthOf(parameter);
    }
  }
  return size;
}

/** The size of several queries that are sent together. */
class Measure {
  /** Bytes that are sent, not less than the addon counts. */
  #size = 0;
  /** UTF-16 units of all texts. */
  #units = 0;

  /**
   * @param {string} text
   * @param {readonly Parameter[]} parameters
   * @returns {ParameterError | undefined} an error that the addon would report only when everything
   *   in front of it is sent already
   */
  add(text, parameters) {
    if (text.includes('\0')) return nulError(-1);
    let size = Buffer.byteLength(text) + MESSAGE_OVERHEAD;
    let units = text.length + 1;
    for (const [index, parameter] of parameters.entries()) {
      size += PARAMETER_OVERHEAD;
      if (typeof parameter === 'string') {
        if (parameter.includes('\0')) return nulError(index);
        size += Buffer.byteLength(parameter);
        units += parameter.length + 1;
      } else if (typeof parameter === 'object' && parameter !== null) {
        size += lengthOf(parameter);
      }
    }
    this.#size += size;
    this.#units += units;
    return size > MAX_SIZE ? tooLargeError() : undefined;
  }

  get isTooLarge() {
    return this.#size > MAX_BATCH_SIZE || this.#units > MAX_BATCH_UNITS;
  }
}

/**
 * @param {string} text
 * @param {readonly Parameter[]} parameters
 * @returns {ParameterError | undefined} why the addon would refuse it
 */
function findUnsendable(text, parameters) {
  return new Measure().add(text, parameters);
}

/** @param {number} index of the parameter, -1 for the text */
function nulError(index) {
  const what = index < 0 ? 'the text of the query' : `parameter $${index + 1}`;
  const error = new ParameterError(
    `${what} contains a NUL character (\\0), which PostgreSQL's text cannot hold: remove it, ` +
      'or send the value as a Buffer to a bytea column',
  );
  // What the server tells who sends it.
  error.code = index < 0 ? PROTOCOL_VIOLATION : CHARACTER_NOT_IN_REPERTOIRE;
  return error;
}

/** @param {{ cause?: unknown }} [options] */
function tooLargeError(options) {
  return new ParameterError(
    'the query and its parameters are larger than 1 GB, or their text than 512 MB, which ' +
      'is more than a message to PostgreSQL or a JavaScript string may hold: send it in parts',
    options,
  );
}

function batchTooLargeError() {
  return new ParameterError(
    'the statements of the batch and their parameters are larger than 1 GB, or their texts than ' +
      '512 MB, which is more than can be sent together: make several batches of them',
  );
}

module.exports = {
  Measure,
  batchTooLargeError,
  prepareParameters,
  sizeInFlight,
  findUnsendable,
  nulError,
  tooLargeError,
  MAX_SIZE,
};
