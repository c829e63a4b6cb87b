'use strict';

// The load of one connection: the counts by which a pool chooses a connection, and by which it sees
// that no query should wait behind what is in flight. Kept by connection.js and outbox.js.

const { ticks } = require('../native');

/**
 * @typedef {import('../query').Query} Query
 * @typedef {import('../query').Batch} Batch
 */

/** @typedef {import('../query').Pace} Pace */

/**
 * A statement that costs the server more is slow: a query that can run elsewhere should not wait
 * behind it.
 */
const SLOW_MILLIS = 5;
/** A query at the head that has run for this long, and for twice the expected time, is overdue. */
const OVERDUE_MILLIS = 10;

/** With no more in flight no query waits for others of its text. */
const FEW = 16;

/** @param {Query | Batch} work */
function countOf(work) {
  return 'members' in work ? work.members.length : 1;
}

class ConnectionLoad {
  /** Queries that were submitted and not settled, including those that are held back. */
  inFlight = 0;
  /** What they are expected to cost the server, in ms. */
  expectedMillis = 0;
  /** How many are in flight about now: those that were answered before this turn count in part. */
  crowd = 0;
  #turn = -1;
  /** Those among them whose statements were never seen before: each may be slow. */
  unknown = 0;
  /** How many are more than reads: each may wait for a lock, or is not known not to. */
  locking = 0;
  /** When the query at the head became the head (performance.now()). */
  headSince = 0;
  /** The turn of the event loop that it was then, if nothing was in flight before it. */
  #headTurn = -1;
  /** The shortest round trip so far. It does not count as time of any statement. */
  roundTripMillis = 0;
  #slow = 0;
  #held = 0;
  #heldMillis = 0;
  /** @type {(() => void)[]} */
  #idleWaiters = [];
  /** @type {(() => void)[]} */
  #unheldWaiters = [];

  /** @param {Query} query that is being submitted */
  add(query) {
    const { averageMillis } = query.info;
    query.expectedMillis = averageMillis < 0 ? SLOW_MILLIS : averageMillis;
    if (averageMillis < 0) {
      query.pace = 'unknown';
      ++this.unknown;
    } else if (averageMillis >= SLOW_MILLIS + this.roundTripMillis) {
      // For less it is not worth sending the next query a round trip later.
      query.pace = 'slow';
      ++this.#slow;
    } else {
      query.pace = 'fast';
    }
    query.mayLock = query.info.effect !== 'read';
    if (query.mayLock) ++this.locking;
    if (this.inFlight === 0) this.#begin();
    this.#count();
    this.expectedMillis += query.expectedMillis;
  }

  #count() {
    const turn = ticks.turn();
    if (this.#turn !== turn) {
      // A distant server answers all of them at once, and as many come back in one turn.
      this.#turn = turn;
      this.crowd = (this.crowd + this.inFlight) >> 1;
    }
    ++this.inFlight;
    if (this.crowd < this.inFlight) this.crowd = this.inFlight;
  }

  /** What is added next is the head. */
  #begin() {
    this.headSince = performance.now();
    this.#headTurn = ticks.turn();
  }

  /** @param {Query} query that is settled */
  remove(query) {
    --this.inFlight;
    this.expectedMillis = this.inFlight === 0 ? 0 : this.expectedMillis - query.expectedMillis;
    if (query.pace === 'unknown') --this.unknown;
    else if (query.pace === 'slow') --this.#slow;
    if (query.mayLock) --this.locking;
  }

  /** @param {Query | Batch} work that was added, and is not sent yet */
  hold(work) {
    this.#held += countOf(work);
    this.#heldMillis += work.expectedMillis;
  }

  /** @param {Query | Batch} work */
  unhold(work) {
    this.#held -= countOf(work);
    this.#heldMillis = this.#held === 0 ? 0 : this.#heldMillis - work.expectedMillis;
    if (this.#unheldWaiters.length === 0) return;
    for (const resolve of this.#unheldWaiters.splice(0)) resolve();
  }

  /** @returns {Promise<void>} resolves when something that is held back is sent, or given up */
  whenUnheld() {
    return new Promise((resolve) => {
      this.#unheldWaiters.push(resolve);
    });
  }

  /** What those cost whose statements were seen before. */
  get knownMillis() {
    return this.expectedMillis - this.unknown * SLOW_MILLIS;
  }

  /** Counts something in flight that may still be submitted, and needs the connection as it is. */
  reserve() {
    if (this.inFlight === 0) this.#begin();
    ++this.inFlight;
    ++this.locking;
    ++this.#held;
  }

  unreserve() {
    --this.inFlight;
    --this.locking;
    --this.#held;
  }

  /** @returns {Promise<void>} resolves at the next tellIdle() */
  whenIdle() {
    return new Promise((resolve) => {
      this.#idleWaiters.push(resolve);
    });
  }

  /** Nothing is in flight, and those that were are settled; or the connection is closed. */
  tellIdle() {
    if (this.#idleWaiters.length === 0) return;
    for (const resolve of this.#idleWaiters.splice(0)) resolve();
  }

  /** Queries that were sent and not settled. */
  get sent() {
    return this.inFlight - this.#held;
  }

  /**
   * Whether so many are in front of the query added last that it may wait for others until the tick
   * ends.
   */
  get isBehindMany() {
    return this.sent - 1 > FEW;
  }

  /**
   * Whether the server is known to be busy for longer than a round trip, so that new queries may
   * wait for others to share their Sync.
   */
  get isBusy() {
    if (this.sent <= FEW || this.unknown > 0) return false;
    return this.expectedMillis - this.#heldMillis > this.roundTripMillis;
  }

  /**
   * Whether a query sent now would wait behind a slow one.
   * @param {number} now performance.now()
   */
  isBlocked(now) {
    if (this.inFlight === 0) return false;
    return this.#slow > 0 || this.isOverdue(now);
  }

  /**
   * Whether the server has been at the head for longer than was to be expected.
   * @param {number} now performance.now()
   */
  isOverdue(now) {
    if (this.inFlight === 0) return false;
    // No answer was read since it was sent, if it was: JavaScript was busy, and perhaps not the server.
    if (this.#headTurn === ticks.turn()) return false;
    const millis = now - this.headSince - 2 * this.roundTripMillis;
    return millis > OVERDUE_MILLIS && millis > 2 * this.expectedMillis;
  }
}

module.exports = { ConnectionLoad };
