'use strict';

// In which format the rows of an execution are requested: as the server's text, if a user's parser
// needs that; in binary, if the addon can decode every column; else as text that the addon decodes.
// Used by command-writer.js.

const { callLocked, flag, messageOf, ParameterError, standFor } = require('../base');
const { getTypesEpoch, isDefaultParser, ownTypes, types: defaultTypes } = require('../rows');

/**
 * @typedef {import('../rows').TypeSource} TypeSource
 * @typedef {import('../statements').Statement} Statement
 */

/** Types that the addon decodes from text itself, without calling their parsers. */
const TEXT_DECODED_OIDS = [16, 17, 20, 21, 23, 26, 114, 700, 701, 3802];

/** @param {TypeSource} types */
function hasCustomTextDecoded(types) {
  return TEXT_DECODED_OIDS.some((oid) => !isDefaultParser(oid, types.getTypeParser(oid, 'text')));
}

const ofDefaultTypes = { epoch: -1, flags: 0 };

/**
 * Calls `types` of the user's in the middle of a query's commands. Nothing that it requests may
 * come between these, and what it throws rejects this query alone.
 * @param {() => boolean} hasCustom
 * @throws {ParameterError}
 */
function askLocked(hasCustom) {
  try {
    return callLocked(hasCustom);
  } catch (error) {
    const refusal = new ParameterError(`types.getTypeParser() threw: ${messageOf(error)}`);
    throw standFor(refusal, error);
  }
}

/**
 * For a statement whose columns are not known yet, or may differ each time.
 * @param {TypeSource} types
 * @returns {number}
 * @throws {ParameterError}
 */
function unpreparedFlags(types) {
  if (types === ownTypes) return 0;
  if (types !== defaultTypes) {
    return askLocked(() => hasCustomTextDecoded(types)) ? flag.rawText : 0;
  }
  const epoch = getTypesEpoch();
  if (ofDefaultTypes.epoch !== epoch) {
    ofDefaultTypes.epoch = epoch;
    ofDefaultTypes.flags = hasCustomTextDecoded(types) ? flag.rawText : 0;
  }
  return ofDefaultTypes.flags;
}

/**
 * For a prepared statement that keeps its columns. They are known after the first execution, and
 * cannot change then, since the server would refuse to execute it (RevalidateCachedQuery). For a
 * utility statement the server makes no such promise.
 * @param {Statement} statement
 * @param {TypeSource} types
 * @param {import('./session-formats').SessionFormats} formats
 * @returns {number}
 * @throws {ParameterError}
 */
function preparedFlags(statement, types, formats) {
  const { shape } = statement;
  if (shape === undefined) return unpreparedFlags(types);
  const epoch = getTypesEpoch();
  if (types === defaultTypes && statement.flagsEpoch === epoch) return statement.flags;
  let flags = 0;
  const hasCustom =
    types === defaultTypes
      ? shape.hasCustomParser(types)
      : askLocked(() => shape.hasCustomParser(types));
  if (hasCustom) flags = flag.rawText;
  else if (shape.isBinaryDecodable && formats.allowsBinary(shape)) flags = flag.binary;
  if (types === defaultTypes) {
    statement.flagsEpoch = epoch;
    statement.flags = flags;
  }
  return flags;
}

module.exports = { unpreparedFlags, preparedFlags };
