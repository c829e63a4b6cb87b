'use strict';

// The options date: 'string' and timestamp: 'string': what the server writes, without a shift of time
// zones and with all of its microseconds. Used by options.js.

const { types } = require('.');
const { TypeOverrides } = require('./type-overrides');

const TEXT_ARRAY = 1009;
/** Each with its array. @type {Record<'date' | 'timestamp', [number, number][]>} */
const OIDS = {
  date: [[1082, 1182]],
  // With and without a time zone.
  timestamp: [
    [1114, 1115],
    [1184, 1185],
  ],
};

/**
 * @param {import('../row-builder').TypeSource} source
 * @param {('date' | 'timestamp')[]} kinds that are to be texts
 * @returns {import('../row-builder').TypeSource}
 */
function datesAsText(source, kinds) {
  if (kinds.length === 0) return source;
  const overrides = new TypeOverrides(/** @type {any} */ (source));
  const textArray = types.getTypeParser(TEXT_ARRAY, 'text');
  for (const [oid, arrayOid] of kinds.flatMap((kind) => OIDS[kind])) {
    overrides.setTypeParser(oid, 'text', (/** @type {string} */ text) => text);
    overrides.setTypeParser(arrayOid, 'text', textArray);
  }
  return overrides;
}

module.exports = { datesAsText };
