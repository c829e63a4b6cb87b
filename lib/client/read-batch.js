'use strict';

// Makes a Batch from the arguments of batch(). Used by client.js and pool.js.

const { ParameterError } = require('../base');
const { Batch, batchTooLargeError, Measure, Query } = require('../query');
const { checkDeadline, readQuery } = require('./query-arguments');

/**
 * @param {any} item of a batch, which cannot be made into a query
 * @param {number} index
 * @returns {ParameterError | undefined} says what to write instead; nothing if the item has a text
 */
function mistakenFor(item, index) {
  if (typeof item === 'string' || typeof item?.text === 'string') return undefined;
  if (Array.isArray(item)) {
    return new ParameterError(
      `statement ${index} of batch() is an array: write { text, values } in place of [text, values]`,
    );
  }
  if (isPromise(item)) {
    return new ParameterError(
      `statement ${index} of batch() is a promise, and a query that has one is sent already: write ` +
        'the text, or { text, values }, in place of query(text, values)',
    );
  }
  return new ParameterError(
    `statement ${index} of batch() must be an SQL text or { text, values }, not ${kindOf(item)}`,
  );
}

/** @param {any} value */
function isPromise(value) {
  return typeof value?.then === 'function';
}

/** @param {any} value that is no text @returns {string} a part of a sentence */
function kindOf(value) {
  if (value === null || value === undefined) return String(value);
  if (isPromise(value)) return 'a promise';
  return typeof value === 'object' ? 'an object without text' : `a ${typeof value}`;
}

/**
 * @param {any} list texts, or { text, values, name, rowMode, types, prepare }, or members that are
 *   made already
 * @param {import('../query').QueryDefaults} defaults
 * @param {any} options signal, timeoutMillis
 * @returns {Batch}
 */
function readBatch(list, defaults, options) {
  if (!Array.isArray(list)) {
    const batch = new Batch([]);
    const isOne = typeof list === 'string' || typeof list?.text === 'string';
    const given = isOne ? 'one alone' : kindOf(list);
    batch.refusal = new ParameterError(
      `batch() needs an array of SQL texts, or of { text, values }, not ${given}`,
    );
    return batch;
  }
  const measure = new Measure();
  // By index, since a hole is an error, too.
  const members = Array.from(list, (item, index) => {
    const query = item instanceof Query ? item : readQuery(item, undefined, undefined, defaults);
    if (query.refusal !== undefined) query.refusal = mistakenFor(item, index) ?? query.refusal;
    if (query.signal !== undefined || query.timeoutMillis !== undefined) {
      query.refusal ??= new ParameterError(
        'a statement of a batch cannot be given up by itself: pass signal and timeoutMillis to batch()',
      );
    }
    // If only the addon rejected it, its neighbours would be committed.
    query.refusal ??= measure.add(query.text, query.parameters);
    return query;
  });
  /** @type {Error | undefined} */
  let refusal;
  try {
    checkDeadline(options ?? {});
  } catch (error) {
    refusal = /** @type {Error} */ (error);
  }
  const batch = new Batch(members, refusal === undefined ? (options ?? {}) : {});
  if (measure.isTooLarge) batch.refusal ??= batchTooLargeError();
  batch.refusal = refusal ?? batch.refusal;
  if (batch.refusal === undefined && members.length === 0) batch.finish();
  return batch;
}

module.exports = { readBatch };
