'use strict';

// Where one query at a time may be in flight on a connection (`maxInFlight: 1`, and behind an old PgBouncer), nothing is
// sent before all that was sent is answered: apart from the savepoints around a stream in a transaction (read-guard.js), in
// which a session is given to nobody else. Owned by outbox.js.

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
  /** The addon has sent a Sync of its own when the session began. */
  #isGreeted = true;
  /** Statements of the driver's own that wait. @type {(() => void)[]} */
  #waiting = [];

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
    this.#isGreeted = false;
  }

  /** The first Sync is answered. */
  greeted() {
    this.#isGreeted = true;
  }

  /**
   * How many queries are to be in flight at a time. Whoever allows more behind an old PgBouncer knows that it gives each
   * connection a session of its own (session mode).
   */
  get limit() {
    return this.#settings.maxInFlight ?? (this.#isAtOldPooler ? 1 : MANY);
  }

  get areTaken() {
    return this.limit === 1;
  }

  /** Whether something else comes first. */
  get mustWait() {
    return this.areTaken && (this.isAwaited || !this.#isQuiet);
  }

  /** Whether nothing is in flight. */
  get #isQuiet() {
    return this.#isGreeted && this.#connection.session.isAllAnswered;
  }

  /** Whether statements of the driver's own wait. */
  get isAwaited() {
    return this.#waiting.length > 0;
  }

  /** @param {() => void} send sends a statement of the driver's own that need not be sent now */
  wait(send) {
    if (this.mustWait) this.#waiting.push(send);
    else send();
  }

  /** Sends what waits, one at a time. */
  sendNext() {
    while (this.isAwaited && this.#isQuiet) this.#waiting.shift()?.();
  }

  /** The connection is closed. */
  end() {
    this.#waiting = [];
  }
}

module.exports = { Turns };
