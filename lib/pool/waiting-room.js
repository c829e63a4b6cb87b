'use strict';

// What waits for a connection of a pool: queries in one line, and borrowers, who get a connection without neighbours,
// in the other. Each waits for connectionTimeoutMillis at most, and no more than maxWaiting wait at a time.
// Owned by dispatcher.js, which serves both lines.

const { copyError, PoolError } = require('../base');
const { waitedError } = require('../connection');
const { WaitingLine } = require('./waiting-line');

/**
 * @typedef {import('../query').Batch} Batch
 * @typedef {import('../query').Query} Query
 * @typedef {import('../base').Deferred<import('./member').Member> & { isLease?: boolean }} Borrower
 */

class WaitingRoom {
  /** @type {WaitingLine<Query | Batch>} */
  queries;
  /** @type {WaitingLine<Borrower>} */
  borrowers;
  /** The borrower of what must run alone. @type {WeakMap<Query | Batch, Borrower>} */
  #borrowerOf = new WeakMap();
  #settings;
  #connections;
  #onLeft;
  #countElsewhere;

  /**
   * @param {import('../options').Settings} settings
   * @param {import('./connections').PoolConnections} connections
   * @param {() => void} onLeft somebody waits no longer, and was not served
   * @param {() => number} countElsewhere of those who wait for a place in a line
   */
  constructor(settings, connections, onLeft, countElsewhere) {
    this.#settings = settings;
    this.#connections = connections;
    this.#onLeft = onLeft;
    this.#countElsewhere = countElsewhere;
    const { connectionTimeoutMillis } = settings;
    this.queries = new WaitingLine(connectionTimeoutMillis, (query) => this.#expire(query));
    this.borrowers = new WaitingLine(connectionTimeoutMillis, (borrower) => this.#expire(borrower));
  }

  get length() {
    return this.queries.length + this.borrowers.length;
  }

  /** When the first of those who wait began to (performance.now()); Infinity: nobody waits. */
  get oldestSince() {
    return Math.min(this.queries.oldestSince, this.borrowers.oldestSince);
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
    this.queries.remove(work);
    const borrower = this.#borrowerOf.get(work);
    if (borrower !== undefined) this.borrowers.remove(borrower);
    this.#borrowerOf.delete(work);
  }

  /**
   * Rejects the last one of a line, if too many wait now.
   * @template {Query | Batch | Borrower} T
   * @param {WaitingLine<T>} line
   * @param {T} item its last one, unless it was served already
   */
  refuseExcess(line, item) {
    const refusal = this.refuseMore(0);
    if (refusal === undefined || !line.remove(item)) return;
    this.#onLeft();
    // Under overload many are refused: a stack trace for each would cost more than serving them.
    item.isInCall = false;
    item.reject(refusal);
  }

  /** @param {number} more how many want to wait, too @returns {PoolError | undefined} why they must not */
  refuseMore(more) {
    const { maxWaiting } = this.#settings;
    if (this.length + this.#countElsewhere() + more <= maxWaiting) return undefined;
    return new PoolError(
      `the pool is overloaded: ${maxWaiting} are waiting for a connection (maxWaiting); ` +
        'try again later, or raise max or maxInFlight',
      'ERR_PG_CONDUIT_POOL_FULL',
    );
  }

  /** @param {Error} error why no connection can be made: everybody gets a copy of their own */
  rejectAll(error) {
    // Nothing of theirs was sent, whatever the error says of a query that onConnect has sent.
    const copy = () => Object.assign(copyError(error), { outcome: 'not-run' });
    for (const query of this.queries.clear()) query.reject(copy());
    for (const borrower of this.borrowers.clear()) borrower.reject(copy());
  }

  /** @param {Query | Batch | Borrower} item that has waited for too long, and is out */
  #expire(item) {
    item.reject(this.timeoutError());
    this.#onLeft();
  }

  /** Why what has waited for connectionTimeoutMillis gets no connection. */
  timeoutError() {
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
