'use strict';

// Decides `outcome` of every query that was handed to a connection: whether the server can have kept
// anything of it. 'not-run' is a claim, and needs two proofs: the server has ended its transaction, or
// will, without a commit; and all that the text does is undone by that (`info.mayOutlast` is false,
// transactional.js). Whatever is not proved is 'unknown'. Called by answers.js, connection.js,
// sync-groups.js and transaction/scope.js.

const { ConnectionError, DatabaseError } = require('../base');

/**
 * @typedef {import('./query').Query} Query
 * @typedef {import('../base').Outcome} Outcome
 *
 * What is known of a transaction(), or of a savepoint in one.
 * @typedef {object} TransactionState
 * @property {boolean} hasServerBegun
 * @property {boolean} isLoose
 * @property {boolean} isDoubtful
 * @property {boolean} isCommitSent
 * @property {Error | undefined} failure
 */

const SYNTAX_ERROR = '42601';
const GRAMMAR_ROUTINE = 'scanner_yyerror';

/**
 * The server has said that it does not execute it, or was never asked to. What only libpq says proves
 * nothing.
 * @param {Query} query
 */
function hasNotBegun(query) {
  if (query.wasNotSent || query.isUnwritten) return true;
  if (!query.hasFailed || query.wasSkipped || query.wasFatal) return false;
  return query.parseFailed || isOfGrammar(query.error);
}

/**
 * The text is no SQL to the server, which reads all of a text before it executes any of it. The same of a
 * text that a procedure executes has a context, and no position in this one.
 * @param {Error | undefined} error
 */
function isOfGrammar(error) {
  if (!(error instanceof DatabaseError) || error.code !== SYNTAX_ERROR) return false;
  const { routine, where, position } = error;
  return routine === GRAMMAR_ROUTINE && where === undefined && position !== undefined;
}

/** @param {Query} query whose transaction is not committed */
function leavesNothing(query) {
  return query.wasSkipped || hasNotBegun(query) || !query.info.mayOutlast;
}

/**
 * The server has reported an error before their Sync, which undoes what they have done.
 * @param {readonly Query[]} queries all that share the Sync
 * @returns {Outcome}
 */
function ofUndone(queries) {
  return queries.every(leavesNothing) ? 'not-run' : 'unknown';
}

/**
 * The connection is gone, and their Sync was never written: the server does not commit them.
 * @param {readonly Query[]} queries all that would have shared the Sync
 * @returns {Outcome}
 */
function ofUnsent(queries) {
  return ofUndone(queries);
}

/**
 * It has a Sync of its own, which has been answered, and yet it is to be rejected.
 * @param {Query} query
 * @returns {Outcome}
 */
function ofAnswered(query) {
  if (query.batch !== undefined) return 'unknown';
  if (query.wasNotSent) return 'not-run';
  // An error of this side does not stop the server.
  return query.hasFailed && !query.wasFatal ? ofUndone([query]) : 'unknown';
}

/**
 * A text has left a transaction open, which is rolled back.
 * @param {Query} query
 * @returns {Outcome}
 */
function ofLeftOpen(query) {
  return ofUndone([query]);
}

/**
 * The connection is gone, and their Sync was not answered.
 * @param {Query} query that was in flight
 * @returns {Outcome}
 */
function ofLost(query) {
  const { group } = query;
  if (group !== undefined) return group.isUndone ? ofUndone(group.members) : 'unknown';
  // An error alone does not prove that the rest of the answer would have been sane.
  return hasNotBegun(query) ? 'not-run' : 'unknown';
}

/** @param {any} error @param {Outcome} outcome nothing turns 'unknown' into 'not-run' */
function restrict(error, outcome) {
  if (outcome === 'unknown') error.outcome = outcome;
}

/**
 * What a statement in a transaction() is told, since without COMMIT nothing lasts of it. Not so before
 * the server has said that it has begun the transaction: if BEGIN fails, what was sent behind it runs
 * without one. Nor where a text may have ended it (`isDoubtful`).
 * @param {Error} error
 * @param {TransactionState} scope
 */
function tellInTransaction(error, scope) {
  if (!isSurelyOpen(scope)) return;
  if (error instanceof DatabaseError || !scope.isCommitSent) {
    /** @type {any} */ (error).outcome = 'not-run';
  }
}

/** @param {TransactionState} scope */
function isSurelyOpen({ hasServerBegun, isLoose, isDoubtful }) {
  return hasServerBegun && !isLoose && !isDoubtful;
}

/**
 * COMMIT was sent, and has failed.
 * @param {Error} error
 * @param {TransactionState} scope
 */
function tellOfCommit(error, scope) {
  if (!isSurelyOpen(scope)) {
    restrict(error, 'unknown');
  } else if (scope.failure instanceof DatabaseError && error instanceof ConnectionError) {
    // The server cannot have committed it.
    error.outcome = 'not-run';
  }
}

/**
 * It was rolled back.
 * @template {Error} E
 * @param {E} error
 * @param {TransactionState} scope
 * @returns {E}
 */
function tellOfRollback(error, scope) {
  if (scope.isDoubtful) restrict(error, 'unknown');
  return error;
}

module.exports = {
  ofAnswered,
  ofLeftOpen,
  ofLost,
  ofUndone,
  ofUnsent,
  restrict,
  tellInTransaction,
  tellOfCommit,
  tellOfRollback,
};
