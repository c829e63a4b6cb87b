'use strict';

// Transaction control: which statements begin, end or split a transaction, so that callers may not send them inside
// transaction(), and the query by which the driver sends its own. Used by scope.js and attempt.js.

const { ownQuery } = require('../connection');
const { classifyStatement, splitStatements } = require('../statements');

/** @typedef {import('../statements').StatementInfo} StatementInfo */

const COMMIT = 'COMMIT';
const ROLLBACK = 'ROLLBACK';

/** What begins, ends or splits a transaction. The kind `transaction` has SET LOCAL and the like, too. */
const CONTROL = new Set([
  ...['BEGIN', 'START', 'COMMIT', 'END', 'ROLLBACK', 'ABORT'],
  ...['SAVEPOINT', 'RELEASE', 'PREPARE TRANSACTION'],
]);

/** @param {StatementInfo} info @returns {string | undefined} the keyword of the first of them in a text */
function findControl({ text, isSeveral, touchesTransaction, class: { keyword } }) {
  if (!touchesTransaction) return undefined;
  if (!isSeveral) return CONTROL.has(keyword) ? keyword : undefined;
  return splitStatements(text)
    .map((statement) => classifyStatement(statement).keyword)
    .find((each) => CONTROL.has(each));
}

/**
 * BEGIN, COMMIT, ROLLBACK, or a statement of a savepoint.
 * @param {string} text
 * @param {(error: Error) => void} onFailing is called before the promise is rejected
 */
function controlQuery(text, onFailing) {
  const query = ownQuery(text);
  // Deferred constraints are checked then, and synchronous standbys waited for.
  query.mayTakeLong = text === COMMIT;
  query.isToldElsewhere = true;
  query.onFailing = onFailing;
  return query;
}

module.exports = { COMMIT, controlQuery, findControl, ROLLBACK };
