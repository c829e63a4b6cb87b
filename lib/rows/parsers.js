'use strict';

// Which parser makes the value of a column of its text. Used by shape.js, columns.js and, through
// the door, for submittables.

const { ResultError } = require('../base');
const { types: defaultTypes, isDefaultParser, isIdentityParser } = require('./types');

/**
 * @typedef {(value: any) => any} Parser
 * @typedef {import('./types/type-overrides').TypeSource} TypeSource
 * @typedef {'string' | 'number' | 'bigint'} Int8
 */

const INT8_OID = 20;
const INT8_ARRAY_OID = 1016;
const TIMESTAMPTZ_OID = 1184;

const MILLIS_PER_DAY = 86400000;

/** @returns {never} */
function rejectUnsafeInteger() {
  throw new ResultError(
    "an int8 value is beyond 2^53 and has no exact number: use int8: 'bigint' or int8: 'string'",
  );
}

/**
 * @param {number} oid
 * @param {TypeSource} types
 * @param {Int8} int8
 * @returns {Parser | null} null if the text is the value
 */
function findParser(oid, types, int8) {
  const parser = types.getTypeParser(oid, 'text');
  if (!isDefaultParser(oid, parser)) return parser;
  if (int8 !== 'string' && (oid === INT8_OID || oid === INT8_ARRAY_OID)) {
    const parseInt8 = int8 === 'bigint' ? BigInt : parseSafeInteger;
    if (oid === INT8_OID) return parseInt8;
    return (text) =>
      defaultTypes.arrayParser
        .create(text, (item) => (item === null ? null : parseInt8(item)))
        .parse();
  }
  if (oid === TIMESTAMPTZ_OID) return (text) => parseTimestampTz(text, parser);
  return isIdentityParser(oid) ? null : parser;
}

/**
 * The parsers of a client, for submittables, which parse texts themselves.
 * @param {{ types: TypeSource, int8: Int8 }} defaults
 * @returns {TypeSource}
 */
function textParsers({ types, int8 }) {
  return { getTypeParser: (oid) => findParser(oid, types, int8) ?? String };
}

/**
 * pg-types uses Date.UTC(), which takes the year 1 BC for 1900 and so lacks its leap day. The
 * binary format has no such gap, and both must agree.
 * @param {string} text
 * @param {Parser} parser
 */
function parseTimestampTz(text, parser) {
  if (!text.startsWith('0001-02-29') || !text.endsWith(' BC')) return parser(text);
  return new Date(parser(text.replace('-29', '-28')).getTime() + MILLIS_PER_DAY);
}

/** @param {string} text */
function parseSafeInteger(text) {
  const value = Number(text);
  return Number.isSafeInteger(value) ? value : rejectUnsafeInteger();
}

module.exports = { findParser, rejectUnsafeInteger, textParsers };
