'use strict';

// A query that is read as its rows come is cancelled when nobody wants the rest. In a transaction the cancel would
// fail the whole of it: so a savepoint is set before such a query, to which the transaction returns. Owned by
// outbox.js.

/** PQTRANS_IDLE */
const IDLE = 0;
/** PQTRANS_INTRANS */
const IN_TRANSACTION = 2;

/** Name of the savepoint. */
const GUARD = 'pg_conduit_read';

class ReadGuard {
  #connection;
  #asides;
  /** What ends the savepoint, once its query is settled. @type {string[] | undefined} */
  #end = undefined;

  /**
   * @param {import('./connection').Connection} connection
   * @param {import('./asides').Asides} asides
   */
  constructor(connection, asides) {
    this.#connection = connection;
    this.#asides = asides;
  }

  /** Its savepoint is still to be ended, before anything else is sent. */
  get isOpen() {
    return this.#end !== undefined;
  }

  /** @param {import('../query').Query} query */
  isFor(query) {
    return query.isRead && !this.#connection.isShared;
  }

  /** @param {import('../query').Query} query that is about to be sent, alone */
  begin(query) {
    if (this.#connection.transactionStatus !== IN_TRANSACTION) return;
    this.#asides.send(`SAVEPOINT ${GUARD}`);
    query.onceSettled(() => {
      if (query.wasStopped) this.#end = [`ROLLBACK TO ${GUARD}`, `RELEASE ${GUARD}`];
      else if (!query.hasFailed) this.#end = [`RELEASE ${GUARD}`];
    });
  }

  end() {
    const texts = this.#end;
    if (texts === undefined) return;
    this.#end = undefined;
    // The statement has ended the transaction, and its savepoint with it.
    if (this.#connection.transactionStatus === IDLE) return;
    for (const text of texts) this.#asides.send(text);
    // They succeed: the savepoint was made in a transaction that was known to be open.
    if (this.#connection.transactionStatus > IDLE) {
      this.#connection.transactionStatus = IN_TRANSACTION;
    }
  }
}

module.exports = { ReadGuard };
