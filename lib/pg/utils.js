'use strict';

// `utils` and `pg/lib/utils` of `pg`, as far as others use them.

const { escapeIdentifier, escapeLiteral } = require('../base');
const { defaults } = require('../options');
const { prepareValue: prepare } = require('../rows');

/** With one argument only: others pass it to map(). @param {unknown} value */
function prepareValue(value) {
  return prepare(value, defaults);
}

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

// Plain names only, which ES modules can then import.
module.exports = { prepareValue, normalizeQueryConfig, escapeIdentifier, escapeLiteral };
