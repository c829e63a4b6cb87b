'use strict';

// Transaction control: which statements begin, end or split a transaction, so that callers may not send them inside
// transaction(), and the query by which the driver sends its own. Used by scope.js and attempt.js.

const { OwnQuery } = require('../connection');
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

/** Sends BEGIN, COMMIT, ROLLBACK, or a statement of a savepoint. */
class ControlQuery extends OwnQuery {
  /** The server has run it. */
  isDone = false;
  #onFailed;

  /** @param {string} text @param {(error: Error) => void} onFailed is called before the promise is rejected */
  constructor(text, onFailed) {
    super(text);
    // Deferred constraints are checked then, and synchronous standbys waited for.
    this.mayTakeLong = text === COMMIT;
    this.#onFailed = onFailed;
    this.isToldElsewhere = true;
  }

  /** @override @param {import('../rows').Result} result */
  resolve(result) {
    this.isDone = true;
    super.resolve(result);
  }

  /** @override @param {Error} error */
  reject(error) {
    if (!this.isSettled) this.#onFailed(error);
    super.reject(error);
  }
}

module.exports = { COMMIT, ControlQuery, findControl, ROLLBACK };
