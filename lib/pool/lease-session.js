'use strict';

// What a client knows of its session, if it is a lease: the session of the connection that it is pinned to, or none. In
// the place of connection/session-state.js. Owned by lease-connection.js.

/** PQTransactionStatusType; -1: not known. */
const IDLE = 0;
const NOT_KNOWN = -1;

/** @typedef {import('./lease-connection').LeaseConnection} LeaseConnection */

class LeaseSession {
  #lease;

  /** @param {LeaseConnection} lease */
  constructor(lease) {
    this.#lease = lease;
  }

  get transactionStatus() {
    const { member, isWaiting } = this.#lease;
    if (isWaiting) return NOT_KNOWN;
    return member === undefined ? IDLE : member.connection.session.transactionStatus;
  }

  get isBeginning() {
    return this.#lease.member?.connection.session.isBeginning === true;
  }

  get mayBeInTransaction() {
    const { member, isWaiting } = this.#lease;
    return isWaiting || member?.connection.session.mayBeInTransaction === true;
  }

  async whenStatusKnown() {
    while (this.#lease.isWaiting) await this.#lease.whenServed();
    await this.#lease.member?.connection.session.whenStatusKnown();
  }
}

module.exports = { LeaseSession };
