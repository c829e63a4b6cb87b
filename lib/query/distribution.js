'use strict';

// What an error proves where a database may be more than one server. PostgreSQL undoes a whole transaction with its first
// error. An engine that distributes may have committed on another server before it noticed the error, unless the error is
// that of the statement itself, which has failed there, too. Called by outcome.js.

const { DatabaseError } = require('../base');

/**
 * How far a database reaches; undefined: not known.
 * @typedef {'local' | 'foreign' | 'distributed' | undefined} Kind
 *
 * @typedef {import('./query').Query} Query
 *
 * What is known of the place where queries have run.
 * @typedef {object} Place
 * @property {Kind} kind
 * @property {(info: import('../statements').StatementInfo) => boolean} onlyReads whether that is proved
 *
 * The queries of one Sync, or of BEGIN and COMMIT.
 * @typedef {object} Undone
 * @property {readonly Query[]} members
 * @property {boolean} isFenced
 * @property {boolean} hasFailedAtCommit
 * @property {Error | undefined} error that came behind all members
 */

/** PQTRANS_INERROR */
const FAILED_TRANSACTION = 3;

/**
 * Classes of SQLSTATE by which a statement fails wherever it runs, and its transaction with it. Not among them, as they
 * tell of servers and not of statements: 08, 53, 54, 57, 58, F0, HV, XX and all that PostgreSQL does not have.
 */
const OF_STATEMENTS = new Set([
  ...['0A', '20', '21', '22', '23', '24', '25', '26', '27', '2B', '2D', '2F', '34', '38', '39'],
  ...['3B', '3D', '3F', '40', '42', '44', '55', 'P0'],
]);
/** statement_completion_unknown */
const COMPLETION_UNKNOWN = '40003';

/** Statements of transactions that commit, or may. */
const COMMITS = new Set(['COMMIT', 'END', 'PREPARE']);

/** @param {any} error what the caller is told, or the server's @returns {boolean} */
function isOfStatement(error) {
  // An abort has the server's error as its cause.
  const code = error instanceof DatabaseError ? error.code : error?.cause?.code;
  if (typeof code !== 'string' || code === COMPLETION_UNKNOWN) return false;
  return OF_STATEMENTS.has(code.slice(0, 2));
}

/** @param {Query} query @param {Place} place */
function writesNothing({ info, isDescription }, place) {
  const { kind, keyword } = info.class;
  if (
    isDescription ||
    (kind === 'transaction' && !info.isSeveral && !COMMITS.has(first(keyword)))
  ) {
    return true;
  }
  return place.onlyReads(info);
}

/** @param {string} keyword */
function first(keyword) {
  return keyword.split(' ', 1)[0];
}

/** Whether the error may be that of its commit, at which other servers commit one by one. @param {Query} query */
function mayHaveReachedCommit({ results, commitsAlone, result, info }) {
  if (results !== undefined || commitsAlone) return true;
  if (COMMITS.has(first(info.class.keyword))) return true;
  // Its command is complete, so the error came at the Sync.
  return result !== undefined && result.command !== null;
}

/**
 * Whether something of a query with a Sync of its own may have been kept, although the server has reported an error
 * that, on one server, undoes it.
 * @param {Query} query
 * @param {Error | undefined} error
 * @param {Place} place
 * @param {number} transactionStatus of its Sync
 */
function mayKeepOne(query, error, place, transactionStatus) {
  if (place.kind === 'local' || transactionStatus === FAILED_TRANSACTION) return false;
  if (query.parseFailed || writesNothing(query, place)) return false;
  if (place.kind !== 'distributed' && mayHaveReachedCommit(query)) return true;
  return place.kind !== 'foreign' && !isOfStatement(error);
}

/**
 * The same of queries that share a Sync.
 * @param {Undone} group
 * @param {Error} error
 * @param {Place} place
 * @param {number} transactionStatus
 */
function mayKeepSome(
  { members, isFenced, hasFailedAtCommit, error: late },
  error,
  place,
  transactionStatus,
) {
  const { kind } = place;
  if (kind === 'local' || transactionStatus === FAILED_TRANSACTION) return false;
  if (isFenced) {
    if (!hasFailedAtCommit) return false;
    if (members.every((query) => writesNothing(query, place))) return false;
    return kind !== 'distributed' || !isOfStatement(error);
  }
  const [{ batch }] = members;
  if (batch?.isInTransaction) return false;
  const writers = members.filter(
    (query) => !query.wasSkipped && !query.parseFailed && !writesNothing(query, place),
  );
  if (writers.length === 0) return false;
  if (late !== undefined) {
    return writers.length > 1 || mayKeepOne(writers[0], error, place, transactionStatus);
  }
  if (kind === 'foreign') return false;
  // Each that has succeeded is committed.
  return writers.some((query) => !query.hasFailed) || !isOfStatement(error);
}

module.exports = { mayKeepOne, mayKeepSome };
