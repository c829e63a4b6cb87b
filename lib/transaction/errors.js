'use strict';

// The errors of transactions that are not a statement's own, and the refusals of statements that do
// not belong where they are. Used by gate.js and scope.js.

const { StatementRefusedError, toldError, TransactionError } = require('../base');

const ABORTED = 'ERR_PG_CONDUIT_TRANSACTION_ABORTED';
const ENDED = 'ERR_PG_CONDUIT_TRANSACTION_ENDED';

/** @param {Error | undefined} cause */
function abortedError(cause) {
  const reason = cause === undefined ? '' : `: ${cause.message}`;
  return new TransactionError(
    `the transaction was rolled back, since a statement in it has failed${reason}. Its error was ` +
      'not passed on: put what may fail into a transaction() of its own inside',
    ABORTED,
    { cause: toldError(cause) },
  );
}

/** @param {Error | undefined} cause */
function looseError(cause) {
  return new TransactionError(
    `the transaction could not begin: ${cause?.message}. What was sent behind BEGIN may have been run`,
    ABORTED,
    { cause: toldError(cause), outcome: 'unknown' },
  );
}

/** @param {Error} cause */
function incompleteError(cause) {
  return new TransactionError(
    `the transaction was committed without a statement that could not be sent: ${cause.message}`,
    ABORTED,
    { cause: toldError(cause), outcome: 'unknown' },
  );
}

function endedError() {
  return new TransactionError(
    'the transaction has ended: await everything that belongs to it inside its function',
    ENDED,
  );
}

function openInnerError() {
  return new TransactionError(
    'the transaction has ended and was rolled back, since a transaction inside it was still open: await it',
    ENDED,
  );
}

function openEndError() {
  return new TransactionError(
    'the transaction has ended and was rolled back, since a stream, cursor or COPY in it was still open: ' +
      'read or write it to its end, or destroy it',
    ENDED,
  );
}

function releasedError() {
  return new TransactionError(
    'the transaction has ended and was rolled back, since its client was released: await it before release()',
    ENDED,
  );
}

function innerError() {
  return new StatementRefusedError(
    'a transaction inside this one is open, and the statement would become part of it: use what ' +
      'its function gets, or wait for its end',
  );
}

function openError() {
  return new StatementRefusedError(
    'a stream, cursor or COPY is open in this transaction, and has its connection: read or write it to its ' +
      'end first, or run the statement elsewhere',
  );
}

function clientError() {
  return new StatementRefusedError(
    'a transaction is open on this client: use what its function gets, or wait for its end',
  );
}

/** @param {string} keyword */
function controlError(keyword) {
  return new StatementRefusedError(
    `${keyword} cannot run inside transaction(), which begins and ends by itself: return to commit, ` +
      'throw to roll back, and use transaction() inside for a savepoint',
  );
}

function notIdleError() {
  return new StatementRefusedError(
    'a transaction is open on this client, begun by a statement: end it first',
  );
}

function notLentError() {
  return new StatementRefusedError('the client was released to its pool: call pool.transaction()');
}

module.exports = {
  abortedError,
  clientError,
  controlError,
  endedError,
  incompleteError,
  innerError,
  looseError,
  notIdleError,
  notLentError,
  openEndError,
  openError,
  openInnerError,
  releasedError,
};
