'use strict';

// What the connections of a pool are doing, as a whole: for leak warnings, for what the end of the pool waits for, and
// for the question whether somebody may hold locks. Called by dispatcher.js.

/**
 * @typedef {import('./connections').PoolConnections} PoolConnections
 *
 * @param {PoolConnections} connections
 * @returns {Omit<import('./leak-warning').Activity, 'isIdle'>}
 */
function activityOf({ members, shared }) {
  let settled = 0;
  for (const { connection } of members) settled += connection.settled;
  return { open: shared.length, settled };
}

/** @param {PoolConnections} connections */
function unfinishedOf({ members, left }) {
  let borrowed = 0;
  let inFlight = 0;
  for (const { state, connection } of [...members, ...left]) {
    if (state === 'exclusive') ++borrowed;
    inFlight += connection.inFlight;
  }
  return { borrowed, inFlight };
}

/**
 * Whether a borrower may be in a transaction, and hold locks in it.
 * @param {PoolConnections} connections
 */
function hasTransaction({ members }) {
  for (const { state, connection } of members) {
    const { hasTouchedTransaction, transactionStatus } = connection.session;
    if (state === 'exclusive' && hasTouchedTransaction && transactionStatus !== 0) return true;
  }
  return false;
}

module.exports = { activityOf, hasTransaction, unfinishedOf };
