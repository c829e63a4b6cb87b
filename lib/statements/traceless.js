'use strict';

// Whether a statement has left nothing behind in the session, and asked nothing of it: then it does not matter on which
// connection the next one of its caller runs. Called by pool/pin.js for statements that have been executed.

/**
 * @typedef {import('./registry').StatementInfo} StatementInfo
 * @typedef {import('./known-functions').CatalogNames} CatalogNames
 */

/** Statements that end with the transaction, as all that they do. */
const CONTROL = new Set([
  ...['BEGIN', 'START', 'COMMIT', 'END', 'ROLLBACK', 'ABORT', 'SAVEPOINT', 'RELEASE'],
  ...['SET TRANSACTION', 'SET CONSTRAINTS'],
]);
const ENDING = new Set(['COMMIT', 'END', 'ROLLBACK', 'ABORT']);

/**
 * A parameter of somebody's own, which has a dot, is '' ever after a SET LOCAL, and NULL before. In quotes it may be
 * anywhere. No end of a transaction takes back what `seed` does to random().
 */
const SET_LOCAL = /^\s*set\s+local\s+(?!seed\b)(?:time\s+zone\s|[a-z_]+\s*(?:=|\sto\s))/i;

/**
 * @param {StatementInfo} info
 * @returns {boolean} whether no transaction is open behind it, if it succeeds
 */
function endsTransaction({ isSeveral, class: { keyword } }) {
  return !isSeveral && ENDING.has(keyword);
}

/**
 * @param {StatementInfo} info of a statement that has been executed outside of a transaction, or in one that has ended
 * @param {CatalogNames} names of the database
 * @returns {boolean | undefined} undefined: that is not known yet
 */
function isTraceless(info, names) {
  if (info.isSeveral) return false;
  if (info.class.kind === 'transaction') return isControl(info);
  if (info.class.kind !== 'plain' || info.effect === 'other') return false;
  if (info.readsUnbound(names)) return true;
  return info.effect === 'unknown' ? undefined : info.writesPlain(names);
}

/** @param {StatementInfo} info */
function isControl({ text, class: { keyword } }) {
  return CONTROL.has(keyword) || (keyword === 'SET LOCAL' && SET_LOCAL.test(text));
}

module.exports = { endsTransaction, isTraceless };
