'use strict';

// Whether a pooler gives sessions of the server now to one, now to another, and does not know prepared
// statements (PgBouncer before 1.21, or with max_prepared_statements = 0): one is not there then that
// nobody has taken away. None are made any more, for the whole pool or client. Owned by
// prepared-statements.js.

const { afterDelivery } = require('../base');
const { OwnQuery } = require('./own-statements');

/**
 * @typedef {import('./connection').Connection} Connection
 * @typedef {import('../options').Settings} Settings
 */

/** PQTRANS_IDLE */
const IDLE = 0;

/** Poolers that were told of. @type {Set<string>} */
const told = new Set();

class LostStatements {
  #connection;
  #settings;
  /** @type {'none' | 'open' | 'asked'} */
  #question = 'none';

  /** @param {Connection} connection @param {Settings} settings */
  constructor(connection, settings) {
    this.#connection = connection;
    this.#settings = settings;
  }

  /** Statements may be prepared, and those that are may be executed. */
  get mayPrepare() {
    return this.#question === 'none' && !this.#settings.losesStatements;
  }

  /**
   * One is gone, and no statement of this connection explains it. A function may have done it; but a
   * pooler tells another process id than the backend has.
   */
  found() {
    if (this.#question === 'none') this.#question = 'open';
    this.synced();
  }

  /** A Sync has come. */
  synced() {
    if (this.#question === 'open') afterDelivery(() => this.#askIfQuiet());
  }

  /**
   * In a transaction it is no time for questions; nor with the one query in flight of somebody who sends
   * one at a time, since his pooler may not be able to take more.
   */
  #askIfQuiet() {
    const { transactionStatus, inFlight } = this.#connection;
    if (this.#question !== 'open' || transactionStatus > IDLE || inFlight === 1) return;
    this.#question = 'asked';
    this.#ask();
  }

  async #ask() {
    const text = 'select pg_backend_pid()';
    const query = new OwnQuery(text, { rowMode: 'array' });
    this.#connection.submit(query);
    try {
      const [[processID]] = (await query.promise).rows;
      if (processID !== this.#connection.processID) turnOff(this.#settings);
      this.#question = 'none';
    } catch {
      // The connection is gone, or somebody was quicker to begin a transaction.
      this.#question = 'open';
    }
  }
}

/** @param {Settings} settings of all connections of a pool, or of a client */
function turnOff(settings) {
  settings.losesStatements = true;
  const { host, port } = settings.conninfo;
  const pooler = `${host}:${port}`;
  if (told.has(pooler)) return;
  told.add(pooler);
  process.emitWarning(
    'a pooler between this driver and the server does not know prepared statements: nothing is ' +
      'prepared any more. Give the option `prepare: false`, or let PgBouncer (1.21 or later) have ' +
      'max_prepared_statements above 0',
    { type: 'PoolerWarning', code: 'PG_CONDUIT_POOLER' },
  );
}

module.exports = { LostStatements };
