'use strict';

// What a query is besides one of query(): a stream of rows, a COPY, describe(). A field of the query and not a subclass
// of Query, which would make every query slower in the processes that use it (CONTRIBUTING.md, "Style"). Extended by
// stream-role.js, description-role.js and the folder copy; this class itself is what query() does with a COPY or with
// replication.

const { StatementRefusedError } = require('../base');

/** @typedef {import('./query').Query} Query */

class Role {
  /** @param {Query} query of which it is the role from now on */
  constructor(query) {
    this.query = query;
    query.role = this;
  }

  /** Whether rows or data of it may still come, so that a transaction must not end yet. */
  get isOpen() {
    return false;
  }

  /** @param {Error} _error for who reads or writes what it streams */
  interrupt(_error) {}

  /** What its promise resolves to. @returns {any} */
  get value() {
    return this.query.ownValue;
  }

  /** Whether nothing of it can last if the connection is lost now. */
  get isUncommitted() {
    return false;
  }

  /** Its promise is about to be rejected. @param {Error} _error */
  onFailing(_error) {}

  // --- In the middle of a delivery --------------------------------------------------

  /** The first thing of its result. @param {readonly import('../rows').Field[]} _fields */
  onFields(_fields) {}

  /** Its result has got rows, or it has failed with them. */
  onRows() {}

  copyIn() {
    this.query.error ??= queryCopyError();
    this.query.connection.endCopy('COPY FROM STDIN needs copyFrom()');
  }

  copyOut() {
    const { query } = this;
    if (query.error !== undefined) return;
    const error = queryCopyError();
    // This does not stop the server: what else stands before the same Sync is executed.
    error.outcome = 'unknown';
    query.error = error;
  }

  /** Replication has begun. */
  copyBoth() {
    const { connection } = this.query;
    if (connection.replication !== undefined) {
      connection.replication.begin(this.query);
      return;
    }
    this.query.error ??= new StatementRefusedError(
      "START_REPLICATION needs a client with the option replication: 'database'",
    );
    connection.endCopy();
  }

  /** @param {Buffer} data valid during this call only */
  copyData(data) {
    this.query.connection.replication?.take(data);
  }

  copyDrained() {}

  // --- Of a sequence ----------------------------------------------------------------

  /**
   * The first text of a sequence is about to be sent.
   * @param {boolean} _isInside whether the session is in a transaction
   */
  begin(_isInside) {}

  /**
   * A text of a sequence is answered. What it runs may be the user's.
   * @param {number} _transactionStatus PQTransactionStatusType
   * @returns {boolean} whether `query.text` is to be sent next; else it is done
   */
  next(_transactionStatus) {
    return false;
  }
}

function queryCopyError() {
  return new StatementRefusedError(
    'COPY FROM STDIN and COPY TO STDOUT cannot run in query(): use copyFrom() and copyTo()',
  );
}

module.exports = { Role };
