'use strict';

// What a client reads of its connection, and sets on its socket: of the one that its lease is pinned to, or of any that
// is shared, where all are the same. The base of lease-connection.js.

const { Borrower } = require('./ranking');

class LeaseFace extends Borrower {
  #leases;

  /** @param {import('./leases').Leases} leases */
  constructor(leases) {
    super();
    this.#leases = leases;
  }

  /** Whose connection it is pinned to. @returns {import('./member').Member | undefined} */
  get member() {
    return undefined;
  }

  get #any() {
    return (this.member ?? this.#leases.anyMember)?.connection;
  }

  get hasFailed() {
    return this.member?.connection.hasFailed ?? false;
  }

  get isEncrypted() {
    return this.#any?.isEncrypted ?? false;
  }

  /** @param {string} name */
  parameterStatus(name) {
    return this.#any?.parameterStatus(name) ?? null;
  }

  /** @param {boolean} enable @param {number} idleSeconds */
  setKeepAlive(enable, idleSeconds) {
    this.member?.connection.setKeepAlive(enable, idleSeconds);
  }

  get serverAddress() {
    return this.#any?.serverAddress ?? '';
  }
}

module.exports = { LeaseFace };
