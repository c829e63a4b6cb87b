'use strict';

// The driver's own statements (BEGIN, COMMIT, savepoints, resets of the session, the Close of a
// prepared statement) and their deadline, which no caller can set. Deadlines of callers are in
// query/deadline.js. connection.js has one OwnDeadline for each connection, and closes the
// connection when it has passed.

const { TimeLimit } = require('../base');
const { entryAt } = require('../native');
const { OWN_DEFAULTS, Query } = require('../query');

/**
 * The deadline if `query_timeout` sets none. These statements neither wait for locks nor run for
 * long, but some may wait at a pooler for a session of the server: PgBouncer and RDS Proxy end that
 * wait after 120 s.
 */
const OWN_STATEMENT_MILLIS = 150_000;

/**
 * By default not prepared, so that it never fails because of a lost statement.
 * @param {string} text
 * @param {{ rowMode?: 'array', prepare?: boolean }} [options]
 * @returns {Query}
 */
function ownQuery(text, options) {
  const query = new Query(text, [], { prepare: false, ...options }, OWN_DEFAULTS);
  query.isOwn = true;
  return query;
}

/** @param {number} queryMillis the option query_timeout, 0: none */
function ownMillis(queryMillis) {
  return queryMillis > 0 ? queryMillis : OWN_STATEMENT_MILLIS;
}

/**
 * The clock of a statement runs while the server has nothing else to do for the connection: not
 * while the statement waits here, nor while a caller's long statement runs in front of it.
 *
 * Each connection has one timer. It is armed when a statement of the driver's own is sent, and
 * looks only at what the server has to answer next. If that is a caller's query, none of the
 * driver's own statements can be due before a whole period has passed.
 */
class OwnDeadline {
  #connection;
  #head;
  #queryMillis;
  #onSilent;
  /** @type {TimeLimit | undefined} */
  #limit = undefined;
  #isOver = false;

  /**
   * @param {{ isShared: boolean, inFlight: number }} connection
   * @param {() => { slot: number, millis: number } | undefined} head what the server is to answer
   *   next
   * @param {number} queryMillis the option query_timeout, 0: none
   * @param {(text: string, millis: number) => void} onSilent is called once
   */
  constructor(connection, head, queryMillis, onSilent) {
    this.#connection = connection;
    this.#head = head;
    this.#queryMillis = queryMillis;
    this.#onSilent = onSilent;
  }

  /** A statement of the driver's own is on its way. */
  watch() {
    if (this.#limit === undefined && !this.#isOver) this.#arm(ownMillis(this.#queryMillis));
  }

  /** The connection is closed. */
  stop() {
    this.#isOver = true;
    this.#limit?.cancel();
  }

  /** @param {number} millis */
  #arm(millis) {
    // The socket decides whether the process is kept alive.
    this.#limit = new TimeLimit(millis, () => this.#check()).unref();
  }

  #check() {
    this.#limit = undefined;
    if (this.#isOver) return;
    const head = this.#head();
    if (head === undefined && this.#connection.inFlight === 0) return;
    const limit = head === undefined ? Infinity : this.#limitOf(head.slot);
    const left = head === undefined ? Infinity : limit - head.millis;
    if (left > 0) {
      this.#arm(Math.ceil(Math.min(left, ownMillis(this.#queryMillis))));
      return;
    }
    const entry = head && entryAt(head.slot);
    this.stop();
    this.#onSilent(entry !== undefined && 'text' in entry ? String(entry.text) : '', limit);
  }

  /** @param {number} slot @returns {number} milliseconds, Infinity for a caller's query */
  #limitOf(slot) {
    const entry = entryAt(slot);
    // A Sync without an entry is the driver's own.
    if (entry !== undefined && !entry.isOwn) return Infinity;
    // Queries of other callers in front of it may have more time than `query_timeout` says.
    if (this.#connection.isShared) return Math.max(this.#queryMillis, OWN_STATEMENT_MILLIS);
    const mayTakeLong = entry !== undefined && 'mayTakeLong' in entry && entry.mayTakeLong;
    if (this.#queryMillis === 0 && mayTakeLong) return Infinity;
    return ownMillis(this.#queryMillis);
  }
}

module.exports = { OwnDeadline, ownQuery, OWN_STATEMENT_MILLIS, ownMillis };
