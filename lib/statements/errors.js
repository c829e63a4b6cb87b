'use strict';

// What an error says about the prepared statement that was executed: whether it may be out of date,
// and whether the server raised the error before anything ran. Judged by fields that the server
// does not translate, or by what all translations have in common. And what callers are told of an
// error, as they do not know that there is a prepared statement. Called by prepared-statements.js
// and query.js.

const { DatabaseError } = require('../base');

/** What the server reports for an OID that no longer exists. */
const INTERNAL_ERROR = 'XX000';
/** Routines that look up a type by its OID. */
const TYPE_LOOKUPS = new Set(['getTypeInputInfo', 'getTypeBinaryInputInfo']);

/**
 * "unnamed portal parameter $1 = '...'", the whole context of an error of Bind since PostgreSQL 13.
 * The context of an execution, "unnamed portal with parameters: $1 = '5'", has a colon in each
 * language.
 */
const OF_PARAMETER = /^[^\n"':：$=]*\$\d+[^\n"':：$=]*(?:= '(?:[^']|'')*')?$/;
/**
 * The latter, which is there if `log_parameter_max_length_on_error` is set. The innermost context
 * comes first: a function that has failed would be in front of it.
 */
const OF_PORTAL = /^[^\n"'$=]*[:：] (?:« )?\$1 = /;

/**
 * SQLSTATEs that come only from an execution, whatever the types of its parameters are. The list
 * makes exceptions: a code that is not in it costs a Parse.
 */
const OF_EXECUTION = /^(?:08|21|22012|23|25|26|40|42501|53|54|55|57|58|P0)/;

/**
 * The type of a parameter was dropped, and perhaps created again under its name: a prepared
 * statement knows it by its OID. Bind finds that out, so nothing ran; the context is the parameter
 * alone.
 * @param {DatabaseError} error
 */
function isOfDroppedType({ code, routine, where }) {
  if (code !== INTERNAL_ERROR || !TYPE_LOOKUPS.has(String(routine))) return false;
  return where === undefined || OF_PARAMETER.test(where);
}

/**
 * @param {DatabaseError} error
 * @returns {boolean} whether it does not come from inside a function
 */
function isOfPortal({ where }) {
  return where === undefined || OF_PORTAL.test(where);
}

/** The result has other columns now. @param {DatabaseError} error */
function isOfChangedResult(error) {
  return error.code === '0A000' && error.routine === 'RevalidateCachedQuery' && isOfPortal(error);
}

/**
 * A parameter does not fit its type: the value is wrong, or the type has changed. Bind finds that
 * out, so nothing ran.
 * @param {DatabaseError} error
 */
function isOfParameter({ where }) {
  return where !== undefined && OF_PARAMETER.test(where);
}

/**
 * A text that was parsed before does not fit the tables any more. Bind has analysed it again, and
 * no value plays a part in that. An error with a position that the executor raises as it starts is
 * 0A000.
 * @param {DatabaseError} error
 * @param {import('./registry').StatementInfo} info
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

/** Statement names, as the addon makes them. */
const OWN_NAME = /pgc_[a-z2-7]{10}_\d+/g;

/**
 * The server's error. A wrong number of values is reported as in `pg`, which prepares only what the
 * caller names.
 * @param {Readonly<Record<string, string>>} fields by field code
 * @param {{ name: string | undefined, parameters: readonly unknown[] }} query
 */
function toDatabaseError(fields, { name = '', parameters }) {
  const { C: code, R: routine, M: message = '' } = fields;
  if (code !== '08P01' || routine !== 'exec_bind_message') return new DatabaseError(fields);
  const error = new DatabaseError({ ...fields, M: message.replace(OWN_NAME, () => name) });
  const given = parameters.length;
  // Their order depends on the language.
  const counts = message.replace(OWN_NAME, '').match(/\d+/g)?.map(Number) ?? [];
  if (counts.length === 2 && counts.includes(given)) {
    error.hint ??= countAdvice(given, counts[0] + counts[1] - given);
  }
  return error;
}

/** @param {number} given @param {number} wanted */
function countAdvice(given, wanted) {
  const ofText = ['no $1', '$1 alone'][wanted] ?? `$1 to $${wanted}`;
  const values = ['no value was', '1 value was'][given] ?? `${given} values were`;
  return `the text has ${ofText}, and ${values} given`;
}

module.exports = {
  isOfAnalysis,
  isOfChangedResult,
  isOfDroppedType,
  isOfExecution,
  isOfParameter,
  toDatabaseError,
};
