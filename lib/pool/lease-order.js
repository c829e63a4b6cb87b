'use strict';

// The order of the leases that are out, by their connect(). The oldest of them may be pinned, as many as a pool has
// connections. A list, and not a Set: one that changes with each lease keeps leases that have ended from being
// collected (its former tables hold them), which cost more than all else about a lease. Owned by leases.js.

/** @typedef {import('./lease-connection').LeaseConnection} LeaseConnection */

class LeaseOrder {
  size = 0;
  #most;
  #oldestCount = 0;
  /** @type {LeaseConnection | undefined} */
  #first = undefined;
  /** @type {LeaseConnection | undefined} */
  #last = undefined;
  /** The first that is not among the oldest. @type {LeaseConnection | undefined} */
  #next = undefined;

  /** @param {number} most how many count as the oldest */
  constructor(most) {
    this.#most = most;
  }

  *[Symbol.iterator]() {
    for (let lease = this.#first; lease !== undefined; lease = lease.younger) yield lease;
  }

  /** @param {LeaseConnection} lease */
  add(lease) {
    lease.older = this.#last;
    if (this.#last === undefined) this.#first = lease;
    else this.#last.younger = lease;
    this.#last = lease;
    ++this.size;
    if (this.#oldestCount < this.#most) {
      lease.isOld = true;
      ++this.#oldestCount;
    } else {
      this.#next ??= lease;
    }
  }

  /**
   * @param {LeaseConnection} lease that is in it
   * @returns {LeaseConnection | undefined} who is among the oldest from now on
   */
  remove(lease) {
    const { older, younger } = lease;
    if (this.#next === lease) this.#next = younger;
    if (older === undefined) this.#first = younger;
    else older.younger = younger;
    if (younger === undefined) this.#last = older;
    else younger.older = older;
    // What has ended must not keep others.
    lease.older = undefined;
    lease.younger = undefined;
    --this.size;
    if (!lease.isOld) return undefined;
    lease.isOld = false;
    const next = this.#next;
    if (next === undefined) {
      --this.#oldestCount;
      return undefined;
    }
    this.#next = next.younger;
    next.isOld = true;
    return next;
  }
}

module.exports = { LeaseOrder };
