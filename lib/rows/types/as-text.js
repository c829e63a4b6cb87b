'use strict';

// The options date, timestamp and numericArrays, each 'string': values as the server writes them,
// without a shift of time zones, and with all microseconds and digits. Used by options.js.

const { types } = require('./index');
const { TypeOverrides } = require('./type-overrides');

const TEXT_ARRAY = 1009;
/**
 * Types and their arrays, with and without a time zone. A numeric by itself is a text anyway.
 * @type {Record<'date' | 'timestamp' | 'numericArrays', { types: number[], arrays: number[] }>}
 */
const OIDS = {
  date: { types: [1082], arrays: [1182] },
  timestamp: { types: [1114, 1184], arrays: [1115, 1185] },
  numericArrays: { types: [], arrays: [1231] },
};

/**
 * @param {import('../parsers').TypeSource} source
 * @param {(keyof typeof OIDS)[]} kinds to be returned as texts
 * @returns {import('../parsers').TypeSource}
 */
function asText(source, kinds) {
  if (kinds.length === 0) return source;
  const overrides = new TypeOverrides(/** @type {any} */ (source));
  const textArray = types.getTypeParser(TEXT_ARRAY, 'text');
  for (const kind of kinds) {
    for (const oid of OIDS[kind].types) {
      overrides.setTypeParser(oid, 'text', (/** @type {string} */ text) => text);
    }
    for (const oid of OIDS[kind].arrays) overrides.setTypeParser(oid, 'text', textArray);
  }
  return overrides;
}

module.exports = { asText };
