'use strict';

// Why a connection was closed, and the errors that say so: for queries in flight, for queries that
// were not sent, and for those submitted later. Owned by lifecycle.js.

const { copyError, DatabaseError } = require('../base');
const { closedError, endedByServerError, lostError, terminatedError } = require('./errors');

class EndReason {
  /** What went wrong, if anything did. @type {Error | undefined} */
  failure = undefined;
  /** Set if it was closed because the server does not answer. @type {Error | undefined} */
  silence = undefined;
  /** end() has cut off what was in flight. */
  wasTerminated = false;
  /** The last FATAL error that the server sent by itself. @type {DatabaseError | undefined} */
  lastFatal = undefined;

  /** For queries that are submitted afterwards. */
  closedError() {
    return closedError(this.wasTerminated ? undefined : (this.failure ?? this.lastFatal));
  }

  /** For queries that were accepted and not sent. */
  unsentError() {
    if (this.failure === undefined) return terminatedError();
    return Object.assign(copyError(this.failure), { outcome: 'not-run' });
  }

  /**
   * For queries in flight, and for the connection itself.
   * @param {{ wasFatal?: boolean, error?: Error }} told the query, or the connection, that the
   *   server sent its FATAL error to, if it sent one
   * @param {string} message of libpq
   * @param {Error | undefined} cause
   * @param {import('../base').Outcome} outcome
   * @param {boolean} wasWanted whether this side has closed it
   */
  lostError({ wasFatal, error }, message, cause, outcome, wasWanted) {
    if (wasFatal && error instanceof DatabaseError) return endedByServerError(error, outcome);
    if (this.silence !== undefined) return Object.assign(copyError(this.silence), { outcome });
    return lostError(wasWanted, message, cause, outcome);
  }
}

module.exports = { EndReason };
