'use strict';

// In which form the rows of an execution are asked for: as the server's text,
// when somebody's parser wants it; in binary, when the addon can decode every
// column; else as text that the addon decodes. Used by connection.js.

const { callLocked, causeOf, flag, messageOf, ParameterError } = require('../base');
const { getTypesEpoch, isDefaultParser, ownTypes, types: defaultTypes } = require('../rows');

/**
 * @typedef {import('../rows').TypeSource} TypeSource
 * @typedef {import('../statements').Statement} Statement
 */

/** Types that the addon decodes from text itself, so that their parsers are not asked. */
const TEXT_DECODED_OIDS = [16, 17, 20, 21, 23, 26, 114, 700, 701, 3802];

/** @param {TypeSource} types */
function hasCustomTextDecoded(types) {
  return TEXT_DECODED_OIDS.some((oid) => !isDefaultParser(oid, types.getTypeParser(oid, 'text')));
}

const ofDefaultTypes = { epoch: -1, flags: 0 };

/**
 * Asks parsers of the user's, in the middle of a query's commands: nothing that they ask for may come between
 * these, and what they throw is told to the query alone.
 * @param {() => boolean} hasCustom
 * @throws {ParameterError}
 */
function askLocked(hasCustom) {
  try {
    return callLocked(hasCustom);
  } catch (error) {
    throw new ParameterError(`types.getTypeParser() threw: ${messageOf(error)}`, {
      cause: causeOf(error),
    });
  }
}

/**
 * For a statement whose columns are not known yet, or may be others each time.
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
 * For a prepared statement that keeps its columns: they are known only after a first execution,
 * and then cannot change any more, since the server would refuse to run it (RevalidateCachedQuery).
 * Of a utility statement it makes no such promise.
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
