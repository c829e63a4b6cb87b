'use strict';

// Why a connection was closed, and the errors that say so: to those whose queries were in flight, to those whose
// queries were not sent, and to those who come later. Owned by connection.js.

const { copyError, DatabaseError } = require('../base');
const { closedError, endedByServerError, lostError } = require('./errors');

class EndReason {
  /** What went wrong, if anything did. @type {Error | undefined} */
  failure = undefined;
  /** The server does not answer, and that is why it is closed. @type {Error | undefined} */
  silence = undefined;
  /** The last error that the server has told without being asked. @type {DatabaseError | undefined} */
  lastFatal = undefined;

  /** For what is asked of it afterwards. */
  closedError() {
    return closedError(this.failure ?? this.lastFatal);
  }

  /** For what it took and has not sent. */
  unsentError() {
    if (this.failure === undefined) return this.closedError();
    return Object.assign(copyError(this.failure), { outcome: 'not-run' });
  }

  /**
   * For what was in flight, and for the connection itself.
   * @param {{ wasFatal?: boolean, error?: Error }} told whom the server has told why, if anybody
   * @param {string} message of libpq
   * @param {Error | undefined} cause
   * @param {import('../base').Outcome} outcome
   * @param {boolean} wasWanted somebody here has closed it
   */
  lostError({ wasFatal, error }, message, cause, outcome, wasWanted) {
    if (wasFatal && error instanceof DatabaseError) return endedByServerError(error, outcome);
    if (this.silence !== undefined) return Object.assign(copyError(this.silence), { outcome });
    return lostError(wasWanted, message, cause, outcome);
  }
}

module.exports = { EndReason };
