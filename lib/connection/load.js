'use strict';

// What a connection has to do: the counts by which a pool chooses, and says that
// nobody should stand behind what is in flight. Kept by connection.js.

/**
 * @typedef {import('../query').Query} Query
 * @typedef {import('../query').Batch} Batch
 */

/** @typedef {import('../query').Pace} Pace */

/** A statement that costs the server more is slow: nobody should stand behind it who can wait elsewhere. */
const SLOW_MILLIS = 5;
/** A head that has run for so long, and twice what was expected, is overdue. */
const OVERDUE_MILLIS = 10;

/**
 * With no more in flight nothing waits for company: in a closed loop of so few callers one half would wait while the
 * other is answered. Measured with 2 to 16 callers, that is half of the throughput, and nothing is gained by it.
 */
const FEW = 16;

/** @param {Query | Batch} work */
function countOf(work) {
  return 'members' in work ? work.members.length : 1;
}

class ConnectionLoad {
  /** Queries that were submitted and not settled, those that are held back included. */
  inFlight = 0;
  /** What they are expected to cost the server, in ms. */
  expectedMillis = 0;
  /** Statements that were never seen before: each may be slow. */
  unknown = 0;
  /** When the query at the head became the head (performance.now()). */
  headSince = 0;
  /** What the way to the server and back takes at least. It is not the fault of any statement. */
  roundTripMillis = 0;
  #slow = 0;
  #held = 0;
  #heldMillis = 0;

  /** @param {Query} query that is being submitted */
  add(query) {
    const { averageMillis } = query.info;
    query.expectedMillis = averageMillis < 0 ? SLOW_MILLIS : averageMillis;
    if (averageMillis < 0) {
      query.pace = 'unknown';
      ++this.unknown;
    } else if (averageMillis >= SLOW_MILLIS + this.roundTripMillis) {
      // For less it is not worth to send the next one a round trip later.
      query.pace = 'slow';
      ++this.#slow;
    } else {
      query.pace = 'fast';
    }
    if (this.inFlight === 0) this.headSince = performance.now();
    ++this.inFlight;
    this.expectedMillis += query.expectedMillis;
  }

  /** @param {Query} query that is settled */
  remove(query) {
    --this.inFlight;
    this.expectedMillis = this.inFlight === 0 ? 0 : this.expectedMillis - query.expectedMillis;
    if (query.pace === 'unknown') --this.unknown;
    else if (query.pace === 'slow') --this.#slow;
  }

  /** @param {Query | Batch} work that is not sent yet, though added */
  hold(work) {
    this.#held += countOf(work);
    this.#heldMillis += work.expectedMillis;
  }

  /** @param {Query | Batch} work */
  unhold(work) {
    this.#held -= countOf(work);
    this.#heldMillis = this.#held === 0 ? 0 : this.#heldMillis - work.expectedMillis;
  }

  /** Something may yet be submitted, and needs the connection as it is. */
  reserve() {
    if (this.inFlight === 0) this.headSince = performance.now();
    ++this.inFlight;
    ++this.#held;
  }

  unreserve() {
    --this.inFlight;
    --this.#held;
  }

  /** What was sent and not settled. */
  get sent() {
    return this.inFlight - this.#held;
  }

  /** Whether what was added last is behind so many that it may wait for company until the tick ends. */
  get isBehindMany() {
    return this.sent - 1 > FEW;
  }

  /** Whether the server is known to have enough to do until more could reach it, so that what comes may wait for company. */
  get isBusy() {
    if (this.sent <= FEW || this.unknown > 0) return false;
    return this.expectedMillis - this.#heldMillis > this.roundTripMillis;
  }

  /**
   * Whether a query sent now would wait for a slow one.
   * @param {number} now performance.now()
   */
  isBlocked(now) {
    if (this.inFlight === 0) return false;
    if (this.#slow > 0) return true;
    const millis = now - this.headSince - 2 * this.roundTripMillis;
    return millis > OVERDUE_MILLIS && millis > 2 * this.expectedMillis;
  }
}

module.exports = { ConnectionLoad };
