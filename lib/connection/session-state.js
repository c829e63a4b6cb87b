'use strict';

// What is known of the server's session: whether it is in a transaction, and whether a statement may
// have left something behind in it. Each Connection has a SessionState.

/** PQTRANS_IDLE, PQTRANS_INTRANS and PQTRANS_INERROR */
const IDLE = 0;
const IN_TRANSACTION = 2;
const FAILED_TRANSACTION = 3;
const NOT_KNOWN = -1;

class SessionState {
  /** Whether a statement since this was last cleared may have left something behind. */
  hasTouchedSession = false;
  hasTouchedTransaction = false;
  /** Counts transactions, or more: as long as it does not change, and one is open, it is the same. */
  transaction = 0;
  /** A BEGIN whose caller goes on without its answer. @type {import('../query').Query | undefined} */
  beginning = undefined;
  #connection;
  #load;
  #askStatus;
  #transactionStatus = IDLE;
  /**
   * The driver's own statements in flight that are not queries. None of them opens or ends a
   * transaction.
   */
  #housekeeping = 0;

  /**
   * @param {import('./connection').Connection} connection
   * @param {() => Promise<void>} askStatus asks the server for the transaction status
   */
  constructor(connection, askStatus) {
    this.#connection = connection;
    this.#load = connection.load;
    this.#askStatus = askStatus;
  }

  /**
   * PQTransactionStatusType, or -1 while something is in flight whose effect on it is not known.
   * Never a guess: savepoints and transactions depend on it.
   */
  get transactionStatus() {
    return this.#transactionStatus;
  }

  /** Whether it is known that a transaction is open, and has not failed. */
  get isInTransaction() {
    return this.#transactionStatus === IN_TRANSACTION;
  }

  /** Whether it is known that the transaction has failed: the server executes nothing but its end. */
  get hasFailedTransaction() {
    return this.#transactionStatus === FAILED_TRANSACTION;
  }

  /** Whether a transaction is open as far as its caller knows, since nothing but its BEGIN is in flight. */
  get isBeginning() {
    return this.beginning?.isSettled === false && this.#load.inFlight === 1;
  }

  /** @param {import('../statements').StatementInfo} info of a query that will be sent */
  expect(info) {
    if (info.touchesSession) this.hasTouchedSession = true;
    if (info.touchesTransaction) this.hasTouchedTransaction = true;
  }

  /** A query was written. */
  querySent() {
    this.#transactionStatus = NOT_KNOWN;
  }

  /**
   * A Sync has reported this status. It holds only if nothing was sent behind the Sync, which may
   * have happened since it was read.
   * @param {number} status PQTransactionStatusType, or -1 if something was in flight behind the
   *   Sync
   * @param {number} count of the queries that the Sync ends
   */
  querySynced(status, count) {
    const isLast = this.#load.sent <= count && this.#housekeeping === 0;
    this.#transactionStatus = isLast ? status : NOT_KNOWN;
    if (this.#transactionStatus <= IDLE) ++this.transaction;
  }

  /** Whether nothing is in flight, of callers or of our own. */
  get isAllAnswered() {
    return this.#load.sent === 0 && this.#housekeeping === 0;
  }

  housekeepingSent() {
    ++this.#housekeeping;
  }

  /** @param {number} status as in querySynced() */
  housekeepingSynced(status) {
    --this.#housekeeping;
    if (status !== NOT_KNOWN && this.isAllAnswered) {
      this.#transactionStatus = status;
    }
    if (status <= IDLE) ++this.transaction;
  }

  /** What was sent certainly ends a savepoint: the transaction, if it was open, is not aborted. */
  savepointEnded() {
    if (this.#transactionStatus > IDLE) this.#transactionStatus = IN_TRANSACTION;
  }

  /** The connection is closed: a transaction that was open is gone with it. */
  end() {
    this.#transactionStatus = IDLE;
  }

  /**
   * Whether a transaction may be open behind all that was submitted, including what is held back.
   */
  get mayBeInTransaction() {
    if (!this.hasTouchedTransaction) return false;
    return this.#transactionStatus === NOT_KNOWN || this.#load.inFlight > 0;
  }

  /** @returns {Promise<void>} resolves when that is known, or the connection is closed */
  async whenStatusKnown() {
    while (this.mayBeInTransaction && this.#connection.state !== 'closed') {
      await this.#connection.whenQuiet();
      if (this.#transactionStatus === NOT_KNOWN) await this.#askStatus();
    }
  }
}

module.exports = { SessionState };
