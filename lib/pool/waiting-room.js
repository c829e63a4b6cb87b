'use strict';

// What waits for a connection of a pool: queries in one line, borrowers, who get a connection without neighbours, in
// another, and in a third one those borrowers whose turn has not come, since they are not among the oldest (ranking.js).
// Each waits for connectionTimeoutMillis at most, and no more than maxWaiting wait at a time. Owned by dispatcher.js,
// which serves the first line; lender.js serves the others.

const { copyError, PoolError } = require('../base');
const { waitedError } = require('../connection');
const { Borrower } = require('./ranking');
const { WaitingLine } = require('./waiting-line');

/**
 * @typedef {import('../query').Batch} Batch
 * @typedef {import('../query').Query} Query
 */

class WaitingRoom {
  /** @type {WaitingLine<Query | Batch>} */
  queries;
  /** @type {WaitingLine<Borrower>} */
  borrowers;
  /** Borrowers who are too young for the line before. @type {WaitingLine<Borrower>} */
  turns;
  /** The borrower of what must run alone. @type {WeakMap<Query | Batch, Borrower>} */
  #borrowerOf = new WeakMap();
  #settings;
  #connections;
  #onLeft;
  #queue;

  /**
   * @param {import('../options').Settings} settings
   * @param {import('./connections').PoolConnections} connections
   * @param {object} owner
   * @param {(item: Query | Batch | Borrower) => void} owner.onLeft it waits no longer, and was not served
   * @param {(work: Query | Batch) => boolean} owner.queue sends it, if it only waits for a better place
   */
  constructor(settings, connections, { onLeft, queue }) {
    this.#settings = settings;
    this.#connections = connections;
    this.#onLeft = onLeft;
    this.#queue = queue;
    const timeout = () => settings.connectionTimeoutMillis;
    this.queries = new WaitingLine(timeout, (query) => this.#expire(query));
    this.borrowers = new WaitingLine(timeout, (borrower) => this.#expire(borrower));
    this.turns = new WaitingLine(timeout, (borrower) => this.#expire(borrower));
  }

  /** The option connectionTimeoutMillis may be another one now. */
  onOptionsChanged() {
    for (const line of [this.queries, this.borrowers, this.turns]) line.onTimeoutChanged();
  }

  get length() {
    return this.wantedCount + this.turns.length;
  }

  /** How many would have a connection now if there were enough of them. */
  get wantedCount() {
    return this.queries.length + this.borrowers.length;
  }

  /**
   * Whether the first of a line may be served before that of the other one. With one connection all is done in the order
   * of the calls, as in `pg`: code that does not await its statements, such as the DDL of a test's setup, relies on it.
   * @param {'queries' | 'borrowers'} line
   */
  isNext(line) {
    if (this.#settings.max !== 1) return true;
    const other = line === 'queries' ? this.borrowers : this.queries;
    return this[line].oldestSince <= other.oldestSince;
  }

  /** When the first of those who wait began to (performance.now()); Infinity: nobody waits. */
  get oldestSince() {
    const { queries, borrowers, turns } = this;
    return Math.min(queries.oldestSince, borrowers.oldestSince, turns.oldestSince);
  }

  /**
   * Notes for whom a borrower, who is about to wait, borrows.
   * @param {Query | Batch} work
   * @param {Borrower} borrower
   */
  borrowFor(work, borrower) {
    this.#borrowerOf.set(work, borrower);
  }

  /** @param {Query | Batch} work that may wait, itself or by a borrower, and is not to any longer */
  remove(work) {
    const borrower = this.#borrowerOf.get(work);
    this.#borrowerOf.delete(work);
    if (this.queries.remove(work)) this.#onLeft(work);
    else if (borrower !== undefined) this.removeBorrower(borrower);
  }

  /** @param {Borrower} borrower that may wait, and is not to any longer */
  removeBorrower(borrower) {
    if (this.borrowers.remove(borrower) || this.turns.remove(borrower)) this.#onLeft(borrower);
  }

  /**
   * It goes on to wait for a connection, and for no longer than if it had done so from the beginning.
   * @param {Borrower} borrower that is among the oldest from now on
   * @returns {boolean} whether it has waited for that
   */
  beginTurn(borrower) {
    const since = this.turns.take(borrower);
    if (since === undefined) return false;
    this.borrowers.push(borrower, since);
    return true;
  }

  /**
   * Rejects the last one of a line, if too many wait now.
   * @template {Query | Batch | Borrower} T
   * @param {WaitingLine<T>} line
   * @param {T} item its last one, unless it was served already
   */
  refuseExcess(line, item) {
    const { maxWaiting } = this.#settings;
    if (this.length <= maxWaiting || !line.remove(item) || this.#isQueued(item)) return;
    // Under overload many are refused: a stack trace for each would cost more than serving them.
    if ('isInCall' in item) item.isInCall = false;
    const message =
      `the pool is overloaded: ${maxWaiting} are waiting for a connection (maxWaiting); ` +
      'try again later, or raise max or maxInFlight';
    this.#refuse(item, new PoolError(message, 'ERR_PG_CONDUIT_POOL_FULL'));
  }

  /** @param {Error} error why no connection can be made: everybody gets a copy of their own */
  rejectAll(error) {
    const lines = [this.queries, this.turns, this.borrowers];
    for (const item of lines.flatMap((line) => /** @type {any[]} */ (line.clear()))) {
      // Nothing of theirs was sent, whatever the error says of a query that onConnect has sent.
      this.#refuse(item, Object.assign(copyError(error), { outcome: 'not-run' }));
    }
  }

  /** @param {Query | Batch | Borrower} item that has waited for too long, and is out */
  #expire(item) {
    if (!this.#isQueued(item)) this.#refuse(item, this.#timeoutError());
  }

  /** Who waits for a better place only is not refused for that. @param {Query | Batch | Borrower} item that is out */
  #isQueued(item) {
    return !(item instanceof Borrower) && this.#queue(item);
  }

  /** @param {Query | Batch | Borrower} item that is out @param {Error} error */
  #refuse(item, error) {
    if (item instanceof Borrower) item.onRefused(error);
    else item.reject(error);
    this.#onLeft(item);
  }

  /** Why what has waited for connectionTimeoutMillis gets no connection. */
  #timeoutError() {
    const { connectedCount } = this.#connections;
    const millis = this.#settings.connectionTimeoutMillis;
    const reason = this.#connections.reasonWithin(millis);
    if (connectedCount === 0) {
      return waitedError({
        millis,
        reason,
        message: 'Connection terminated due to connection timeout',
        silent: 'the server did not answer',
        refused: 'no connection could be made',
      });
    }
    return waitedError({
      millis,
      reason,
      message: 'timeout exceeded when trying to connect',
      silent: 'no connection was free',
      refused: `no connection was free (of ${connectedCount}), and no further one could be made,`,
    });
  }
}

module.exports = { WaitingRoom };
