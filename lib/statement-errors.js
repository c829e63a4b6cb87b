'use strict';

// What an error says of the prepared statement that was executed: whether it may be out of date, and
// whether the server raised the error before anything ran. By fields that the server does not translate,
// or by what all translations share. Called by prepared-statements.js.

/** @typedef {import('./errors').DatabaseError} DatabaseError */

/** What the server says of an OID that it does not know any more. */
const INTERNAL_ERROR = 'XX000';
/** Routines that know nothing of a type. */
const TYPE_LOOKUPS = new Set(['getTypeInputInfo', 'getTypeBinaryInputInfo']);

/**
 * "unnamed portal parameter $1 = '...'", the whole context of an error of Bind since PostgreSQL 13. That of
 * an execution, "unnamed portal with parameters: $1 = '5'", has a colon in each language.
 */
const OF_PARAMETER = /^[^\n"':：$=]*\$\d+[^\n"':：$=]*(?:= '(?:[^']|'')*')?$/;
/**
 * That one, which stands there if `log_parameter_max_length_on_error` is set. The innermost context comes
 * first: in front of it there would be the function that has failed.
 */
const OF_PORTAL = /^[^\n"'$=]*[:：] (?:« )?\$1 = /;

/**
 * SQLSTATEs that only an execution ends in, whatever types its parameters have. Exempting is the list: what is
 * not known costs a Parse.
 */
const OF_EXECUTION = /^(?:08|21|22012|23|25|26|40|42501|53|54|55|57|58|P0)/;

/**
 * The type of a parameter was dropped, perhaps to be made anew under its name: a prepared statement
 * knows it by its OID. Bind finds that out, so that nothing ran; its context is the parameter alone.
 * @param {DatabaseError} error
 */
function isOfDroppedType({ code, routine, where }) {
  if (code !== INTERNAL_ERROR || !TYPE_LOOKUPS.has(String(routine))) return false;
  return where === undefined || OF_PARAMETER.test(where);
}

/** @param {DatabaseError} error @returns {boolean} whether it is not from inside a function */
function isOfPortal({ where }) {
  return where === undefined || OF_PORTAL.test(where);
}

/** Its result has other columns now. @param {DatabaseError} error */
function isOfChangedResult(error) {
  return error.code === '0A000' && error.routine === 'RevalidateCachedQuery' && isOfPortal(error);
}

/**
 * A parameter does not fit its type: the value is wrong, or the type is not that any more. Bind finds it out, so
 * that nothing ran.
 * @param {DatabaseError} error
 */
function isOfParameter({ where }) {
  return where !== undefined && OF_PARAMETER.test(where);
}

/**
 * A text that was parsed before does not fit the tables any more: Bind has analysed it anew, and no value has a part
 * in that. What the executor says of a place in the text, as it starts, is 0A000.
 * @param {DatabaseError} error
 * @param {import('./statement-registry').StatementInfo} info
 */
function isOfAnalysis(error, info) {
  const { code, position, internalQuery } = error;
  if (position === undefined || internalQuery !== undefined || code === '0A000') return false;
  return info.isAnalyzedFirst && isOfPortal(error);
}

/** @param {DatabaseError} error */
function isOfExecution({ code }) {
  return OF_EXECUTION.test(String(code));
}

module.exports = {
  isOfAnalysis,
  isOfChangedResult,
  isOfDroppedType,
  isOfExecution,
  isOfParameter,
};
