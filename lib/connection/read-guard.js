'use strict';

// Protects a transaction from the cancel of a query that is read row by row, when its caller does
// not want the rest. The cancel would abort the whole transaction, so a savepoint is set before
// such a query, and rolled back to. Owned by outbox.js.

/** PQTRANS_IDLE */
const IDLE = 0;
/** PQTRANS_INTRANS */
const IN_TRANSACTION = 2;

/** Name of the savepoint. */
const GUARD = 'pg_conduit_read';

class ReadGuard {
  #connection;
  #asides;
  /**
   * The statements that end the savepoint, once its query is settled.
   * @type {string[] | undefined}
   */
  #end = undefined;

  /**
   * @param {import('./connection').Connection} connection
   * @param {import('./asides').Asides} asides
   */
  constructor(connection, asides) {
    this.#connection = connection;
    this.#asides = asides;
  }

  /** Whether its savepoint must be ended before anything else is sent. */
  get isOpen() {
    return this.#end !== undefined;
  }

  /** @param {import('../query').Query} query */
  isFor(query) {
    return query.isRead && !this.#connection.isShared;
  }

  /** @param {import('../query').Query} query that is about to be sent, alone */
  begin(query) {
    if (this.#connection.session.transactionStatus !== IN_TRANSACTION) return;
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
    if (this.#connection.session.transactionStatus === IDLE) return;
    for (const text of texts) this.#asides.send(text);
    // They succeed, since the savepoint was made in a transaction that was known to be open.
    this.#connection.session.savepointEnded();
  }
}

module.exports = { ReadGuard };
