'use strict';

// What the connections of a pool are doing, as a whole: for the properties of pool.js and its stats(), for leak
// warnings, for what the end of the pool waits for, and for the question whether somebody may hold locks. Made by
// dispatcher.js.

/** @typedef {import('../client').Client} Client */

class Activity {
  #connections;
  #waiting;

  /**
   * @param {import('./connections').PoolConnections} connections
   * @param {import('./waiting-room').WaitingRoom} waiting
   */
  constructor(connections, waiting) {
    this.#connections = connections;
    this.#waiting = waiting;
  }

  get totalCount() {
    return this.#connections.members.size;
  }

  get idleCount() {
    return this.#connections.shared.filter((member) => member.isIdle).length;
  }

  /** Of those whose turn has not come, too. */
  get waitingCount() {
    return this.#waiting.length;
  }

  /** @returns {Client[]} */
  get clients() {
    return [...this.#connections.members].map(({ client }) => client);
  }

  /** @returns {Client[]} */
  get idleClients() {
    return this.#connections.shared.filter(({ isIdle }) => isIdle).map(({ client }) => client);
  }

  /** Connections that have outlived maxLifetimeSeconds, and are not closed yet. */
  get expiredCount() {
    const now = performance.now();
    return [...this.#connections.members].filter((member) => member.hasOutlived(now)).length;
  }

  stats() {
    const { totalCount, idleCount, waitingCount } = this;
    return this.#connections.report({ totalCount, idleCount, waitingCount });
  }

  /** What leak warnings judge. @returns {import('./leak-warning').Activity} */
  look() {
    const { members, shared } = this.#connections;
    let settled = 0;
    for (const { connection } of members) settled += connection.settled;
    const isIdle = this.waitingCount === 0 && this.idleCount === this.totalCount;
    return { open: shared.length, settled, isIdle };
  }

  /** What the end of the pool has to wait for. */
  get unfinished() {
    const { members, left } = this.#connections;
    let borrowed = 0;
    let inFlight = 0;
    for (const { state, connection } of [...members, ...left]) {
      if (state === 'exclusive') ++borrowed;
      inFlight += connection.inFlight;
    }
    return { borrowed, inFlight, waiting: this.waitingCount };
  }

  /** Connections that queries share, also those that take no new ones. */
  get sharedConnections() {
    const { members, left } = this.#connections;
    const connections = [...members, ...left].map(({ connection }) => connection);
    return connections.filter(({ isShared }) => isShared);
  }

  /** @param {number} now performance.now() @returns {boolean} whether a connection is there that does nothing slow */
  mayServe(now) {
    return this.#connections.shared.some(
      ({ state, isSpent, connection }) =>
        state === 'shared' && !isSpent && !connection.load.isBlocked(now),
    );
  }

  /** Whether a connection is being opened, or may be, for queries to share it. */
  get isGrowing() {
    return this.#connections.connectingCount > 0 || this.#connections.mayGrow;
  }

  /** Whether a borrower may be in a transaction, and hold locks in it. */
  get hasTransaction() {
    for (const { state, connection } of this.#connections.members) {
      const { hasTouchedTransaction, transactionStatus } = connection.session;
      if (state === 'exclusive' && hasTouchedTransaction && transactionStatus !== 0) return true;
    }
    return false;
  }
}

module.exports = { Activity };
