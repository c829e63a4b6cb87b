'use strict';

// What `pg` has under `utils` and `pg/lib/utils`, as far as others use it.

const { escapeIdentifier, escapeLiteral } = require('../escape');
const { defaults } = require('./defaults');
const { prepareValue } = require('../types/prepare-value');

/**
 * @param {any} config a text, or { text, values, … }
 * @param {any} [values] or the callback
 * @param {any} [callback]
 */
function normalizeQueryConfig(config, values, callback) {
  const normalized = typeof config === 'string' ? { text: config } : { ...config };
  if (typeof values === 'function') normalized.callback = values;
  else if (values) normalized.values = values;
  if (callback) normalized.callback = callback;
  return normalized;
}

module.exports = {
  // By itself: others give it to map().
  prepareValue: (/** @type {unknown} */ value) => prepareValue(value, defaults),
  normalizeQueryConfig,
  escapeIdentifier,
  escapeLiteral,
};
