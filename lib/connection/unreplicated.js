'use strict';

// Commits that no synchronous standby has confirmed. Where the wait for one is cancelled (by a time limit, a signal,
// statement_timeout or pg_cancel_backend()), the server reports success all the same, behind a warning: the transaction
// is committed there, and lost if a standby takes over (PostgreSQL documentation, "Synchronous Replication"). Called by
// native-events.js and answers.js.

const { DatabaseError, TransactionError } = require('../base');

/** The function of the server that warns: its name is the same in each language. */
const ROUTINE = 'SyncRepWaitForLSN';
const NOT_REPLICATED = 'ERR_PG_CONDUIT_NOT_REPLICATED';

class Unreplicated {
  /** For what is committed at the next Sync. @type {TransactionError | undefined} */
  #error = undefined;

  /** A notice has come. @param {Readonly<Record<string, string>>} fields */
  note(fields) {
    if (fields.R !== ROUTINE) return;
    this.#error = new TransactionError(
      'the server has committed, but no synchronous standby has confirmed it',
      NOT_REPLICATED,
      {
        cause: new DatabaseError(fields),
        outcome: 'unknown',
        hint: 'a failover may lose what was written: look for it before you write it again',
      },
    );
  }

  /** A Sync has come. @returns {TransactionError | undefined} for what it has committed */
  take() {
    const error = this.#error;
    if (error !== undefined) this.#error = undefined;
    return error;
  }
}

/** @param {any} error */
function isUnreplicated(error) {
  return error?.code === NOT_REPLICATED;
}

module.exports = { isUnreplicated, Unreplicated };
