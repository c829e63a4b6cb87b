'use strict';

// Detects poolers that give the server's sessions to several clients in turn and do not know
// prepared statements (PgBouncer before 1.21, or with max_prepared_statements = 0): a prepared
// statement is missing that nobody has closed. Nothing is prepared any more then, for the whole
// pool or client. Owned by prepared-statements.js.

const { afterDelivery } = require('../base');
const { ownQuery } = require('./own-statements');

/**
 * @typedef {import('./connection').Connection} Connection
 * @typedef {import('../options').Settings} Settings
 */

/** PQTRANS_IDLE */
const IDLE = 0;

/** Poolers that the warning was emitted for. @type {Set<string>} */
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

  /** Whether statements may be prepared, and prepared statements executed. */
  get mayPrepare() {
    return this.#question === 'none' && !this.#settings.losesStatements;
  }

  /**
   * A prepared statement is missing, and no statement of this connection explains that. A function
   * may have closed it. If a pooler is the cause, the process id that it has reported is not the
   * backend's.
   */
  found() {
    const { keeping } = this.#settings;
    if (keeping === 'managed' || keeping === 'blind') {
      this.prove();
      return;
    }
    if (this.#question === 'none') this.#question = 'open';
    this.synced();
  }

  /** A pooler has lost one: right behind its Parse, say. */
  prove() {
    turnOff(this.#settings);
  }

  /** A Sync has come. */
  synced() {
    if (this.#question === 'open') afterDelivery(() => this.#askIfQuiet());
  }

  /**
   * Not in a transaction. Nor while a single query is in flight: its caller may send one at a time
   * because their pooler cannot take more.
   */
  #askIfQuiet() {
    const { session, inFlight } = this.#connection;
    if (this.#question !== 'open' || session.transactionStatus > IDLE || inFlight === 1) return;
    this.#question = 'asked';
    this.#ask();
  }

  async #ask() {
    const text = 'select pg_backend_pid()';
    const query = ownQuery(text, { rowMode: 'array' });
    this.#connection.submit(query);
    try {
      const [[processID]] = (await query.promise).rows;
      // If the connection was lost meanwhile, another one has answered.
      const isOurs = query.connection === this.#connection;
      if (isOurs && processID !== this.#connection.processID) turnOff(this.#settings);
      this.#question = 'none';
    } catch {
      // The connection is gone, or a transaction was begun first.
      this.#question = 'open';
    }
  }
}

/** @param {Settings} settings shared by all connections of a pool, or those of a client */
function turnOff(settings) {
  settings.losesStatements = true;
  const { host, port } = settings.conninfo;
  const pooler = `${host}:${port}`;
  if (told.has(pooler)) return;
  told.add(pooler);
  process.emitWarning(
    'a pooler between this driver and the server does not support prepared statements: they are not ' +
      'used any more. Set the option `prepare: false`, or give PgBouncer (1.21 or later) a ' +
      'max_prepared_statements above 0',
    { type: 'PoolerWarning', code: 'PG_CONDUIT_POOLER' },
  );
}

module.exports = { LostStatements };
