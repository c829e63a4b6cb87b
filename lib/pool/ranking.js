'use strict';

// The order of those who take connections of a pool alone, by the time of their calls. The oldest of them may have one,
// as many as the pool has connections. A list, and not a Set: one that changes with each lease keeps leases that have
// ended from being collected (its former tables hold them), which cost more than all else about a lease. Owned by
// lender.js.

/** Somebody who takes a connection alone: a lease whenever it needs one, all others (lender.js) once. */
class Borrower {
  // Its place in the order.

  /** @type {Borrower | undefined} */
  older = undefined;
  /** @type {Borrower | undefined} */
  younger = undefined;
  isRanked = false;
  /** Whether it is among the oldest, who may have a connection. */
  isOld = false;

  /**
   * It has waited for a connection, and gets one.
   * @param {import('./member').Member} _member in the state exclusive
   */
  onGranted(_member) {}

  /** It waits no longer. @param {Error} _error why it gets no connection */
  onRefused(_error) {}
}

class Ranking {
  #most;
  #oldestCount = 0;
  /** @type {Borrower | undefined} */
  #first = undefined;
  /** @type {Borrower | undefined} */
  #last = undefined;
  /** The first that is not among the oldest. @type {Borrower | undefined} */
  #next = undefined;

  /** @param {number} most how many count as the oldest */
  constructor(most) {
    this.#most = most;
  }

  /**
   * @param {number} most
   * @returns {Borrower[]} who are among the oldest from now on; whoever is stays so
   */
  resize(most) {
    this.#most = most;
    /** @type {Borrower[]} */
    const promoted = [];
    for (let next = this.#promote(); next !== undefined; next = this.#promote()) {
      promoted.push(next);
    }
    return promoted;
  }

  /** @returns {Borrower | undefined} who has become one of the oldest, if there is room */
  #promote() {
    const next = this.#next;
    if (next === undefined || this.#oldestCount >= this.#most) return undefined;
    this.#next = next.younger;
    next.isOld = true;
    ++this.#oldestCount;
    return next;
  }

  *[Symbol.iterator]() {
    for (let one = this.#first; one !== undefined; one = one.younger) yield one;
  }

  /** @param {Borrower} borrower */
  add(borrower) {
    borrower.isRanked = true;
    borrower.older = this.#last;
    if (this.#last === undefined) this.#first = borrower;
    else this.#last.younger = borrower;
    this.#last = borrower;
    if (this.#oldestCount < this.#most) {
      borrower.isOld = true;
      ++this.#oldestCount;
    } else {
      this.#next ??= borrower;
    }
  }

  /**
   * @param {Borrower} borrower nothing happens if it is not in it any more
   * @returns {Borrower | undefined} who is among the oldest from now on
   */
  remove(borrower) {
    if (!borrower.isRanked) return undefined;
    borrower.isRanked = false;
    const { older, younger } = borrower;
    if (this.#next === borrower) this.#next = younger;
    if (older === undefined) this.#first = younger;
    else older.younger = younger;
    if (younger === undefined) this.#last = older;
    else younger.older = older;
    // What has ended must not keep others.
    borrower.older = undefined;
    borrower.younger = undefined;
    if (!borrower.isOld) return undefined;
    borrower.isOld = false;
    --this.#oldestCount;
    return this.#promote();
  }
}

module.exports = { Borrower, Ranking };
