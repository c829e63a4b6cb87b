'use strict';

// Decides the `outcome` of every query that was handed to a connection: whether the server can have
// kept anything of it. 'not-run' is a claim that needs two proofs. The server has ended the query's
// transaction without a commit, or will. And that undoes all that the text does (`info.mayOutlast`
// is false, transactional.js). Where the database may be more than one server, that server has to be all of
// them (distribution.js). Whatever is not proved is 'unknown'. Called by query.js, doubts.js,
// connection.js, sync-groups.js and transaction/scope.js.

const { ConnectionError, DatabaseError } = require('../base');
const { mayKeepOne, mayKeepSome } = require('./distribution');

/**
 * @typedef {import('./query').Query} Query
 * @typedef {import('../base').Outcome} Outcome
 * @typedef {import('./distribution').Place} Place
 * @typedef {import('./distribution').Undone} Undone
 *
 * What is known of a transaction(), or of a savepoint in it.
 * @typedef {object} TransactionState
 * @property {boolean} hasServerBegun
 * @property {boolean} isUnsent nothing of it has got a connection
 * @property {boolean} isLoose
 * @property {boolean} isDoubtful
 * @property {boolean} isCommitSent
 * @property {Error | undefined} failure
 */

/** The status of a transaction. */
const NOT_KNOWN = -1;
const SYNTAX_ERROR = '42601';
const GRAMMAR_ROUTINE = 'scanner_yyerror';
const PROTOCOL_VIOLATION = '08P01';
const BIND_ROUTINE = 'exec_bind_message';

/**
 * The server has said that it does not execute the query, or was never asked to. An error of libpq
 * alone proves nothing.
 * @param {Query} query
 */
function hasNotBegun(query) {
  if (query.wasNotSent || query.isUnwritten) return true;
  if (!query.hasFailed || query.wasSkipped || query.wasFatal) return false;
  return query.parseFailed || isOfGrammar(query.error) || isOfBind(query.error);
}

/**
 * It was given another number of values than it has parameters. Another server would be named by the context.
 * @param {Error | undefined} error
 */
function isOfBind(error) {
  if (!(error instanceof DatabaseError) || error.code !== PROTOCOL_VIOLATION) return false;
  return error.routine === BIND_ROUTINE && error.where === undefined;
}

/**
 * To the server the text is not SQL, and it reads a whole text before it executes any of it. The
 * same error about a text that a procedure executes has a context, and no position in this text.
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
 * The server has reported an error before their Sync, which undoes what they did.
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
 * It has a Sync of its own, which was answered, and is to be rejected all the same.
 * @param {Query} query
 * @param {Error} error for its caller
 * @param {Place} place
 * @param {number} transactionStatus of its Sync
 * @returns {Outcome}
 */
function ofAnswered(query, error, place, transactionStatus) {
  if (query.batch !== undefined) return 'unknown';
  if (query.wasNotSent) return 'not-run';
  // An error on this side does not stop the server.
  if (!query.hasFailed || query.wasFatal) return 'unknown';
  if (hasNotBegun(query)) return 'not-run';
  return mayKeepOne(query, error, place, transactionStatus) ? 'unknown' : ofUndone([query]);
}

/**
 * The server has reported an error before their Sync, or at it.
 * @param {Undone} group
 * @param {Error} error for the caller
 * @param {Place} place
 * @param {number} transactionStatus of its last Sync
 * @returns {Outcome}
 */
function ofUndoneGroup(group, error, place, transactionStatus) {
  const { isFenced, hasFailedAtCommit, error: late } = group;
  const begun = group.members.filter((query) => !hasNotBegun(query));
  const rest = { members: begun, isFenced, hasFailedAtCommit, error: late };
  if (begun.length > 0 && mayKeepSome(rest, error, place, transactionStatus)) return 'unknown';
  return ofUndone(group.members);
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
 * @param {Place} place
 * @returns {Outcome}
 */
function ofLost(query, place) {
  const { group } = query;
  if (query.isUncommitted) return 'not-run';
  if (group !== undefined) {
    const failed = group.members.find((/** @type {Query} */ member) => member.hasFailed);
    const error = group.error ?? failed?.error;
    return group.isUndone ? ofUndoneGroup(group, error, place, NOT_KNOWN) : 'unknown';
  }
  // An error alone does not prove that the rest of the answer would have been valid.
  return hasNotBegun(query) ? 'not-run' : 'unknown';
}

/** @param {any} error @param {Outcome} outcome 'unknown' is never turned into 'not-run' */
function restrict(error, outcome) {
  if (outcome === 'unknown') error.outcome = outcome;
}

/**
 * Sets the outcome of a statement's error in a transaction(), where nothing lasts without COMMIT.
 * Not before the server has confirmed BEGIN: if BEGIN fails, what was sent behind it runs without a
 * transaction. Nor if a text may have ended the transaction (`isDoubtful`).
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
 * COMMIT was sent and has failed.
 * @param {Error} error
 * @param {TransactionState} scope
 */
function tellOfCommit(error, scope) {
  if (scope.isUnsent) return;
  if (!isSurelyOpen(scope)) {
    restrict(error, 'unknown');
  } else if (scope.failure instanceof DatabaseError && error instanceof ConnectionError) {
    // A statement has failed, so the server cannot have committed.
    error.outcome = 'not-run';
  }
}

/**
 * The transaction was rolled back.
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
  ofUndoneGroup,
  ofUnsent,
  restrict,
  tellInTransaction,
  tellOfCommit,
  tellOfRollback,
};
