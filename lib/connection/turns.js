'use strict';

// Behind an old PgBouncer nothing is sent before all that was sent is answered. Owned by outbox.js.

/**
 * PgBouncer before 1.21, in transaction mode, gives the session of the server to somebody else when all Syncs that it has
 * read are answered. What it has read of the messages behind them is in that session already, and the rest goes to
 * another: part of a message, which is none there ("invalid frontend message type"), or an Execute without its Bind. How
 * far it reads ahead nobody can know.
 *
 * Before 1.20 it is recognized by the parameters that it reports last, in the order of a fixed table: a server has another
 * order, and so have later versions, whose table grows. 1.20.0 and 1.20.1 are taken for one that can.
 */
const LAST_OF_OLD_PGBOUNCER = [
  'application_name',
  'standard_conforming_strings',
  'TimeZone',
  'DateStyle',
  'client_encoding',
];

/** In flight on one connection, where nothing speaks against it. */
const MANY = 1024;

/** Linux gives no process a higher number (PID_MAX_LIMIT). Poolers report random ones. */
const MAX_PROCESS_ID = 1 << 22;

class Turns {
  /** How many parameters show who it is. */
  static SHOWN = LAST_OF_OLD_PGBOUNCER.length;

  #connection;
  #settings;
  #isAtOldPooler = false;

  /**
   * @param {import('./connection').Connection} connection
   * @param {import('../options').Settings} settings
   */
  constructor(connection, settings) {
    this.#connection = connection;
    this.#settings = settings;
  }

  /** @param {string[]} lastParameters that were reported, the last one first; empty if that is not known */
  begin(lastParameters) {
    const { processID } = this.#connection;
    this.#isAtOldPooler =
      lastParameters.length === 0
        ? processID < 0 || processID > MAX_PROCESS_ID
        : LAST_OF_OLD_PGBOUNCER.every((name, i) => name === lastParameters[i]);
  }

  /** How many queries are to be in flight at a time. */
  get limit() {
    return this.#settings.maxInFlight ?? (this.#areTaken ? 1 : MANY);
  }

  /** Whether what was sent has to be answered before anything is sent. */
  get mustWait() {
    return this.#areTaken && !this.#connection.session.isAllAnswered;
  }

  /** Whoever allows more in flight knows that the pooler can, or gives each connection a session (session mode). */
  get #areTaken() {
    return this.#isAtOldPooler && (this.#settings.maxInFlight ?? 1) === 1;
  }
}

module.exports = { Turns };
