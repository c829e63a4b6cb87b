'use strict';

// The policy of a pool: which of the shared connections a query joins, when the load is worth another connection,
// and which connections are reserved for borrowers, who need one without neighbours. Owned by dispatcher.js.

/** @typedef {import('./member').Member} Member */

/** Opening a connection takes about so long: a longer queue is worth another one. */
const GROWTH_MILLIS = 5;

class Balancer {
  #maxInFlight;
  #connections;
  #limits;

  /**
   * @param {import('../options').Settings} settings
   * @param {import('./connections').PoolConnections} connections
   * @param {import('./connections').Limits} limits
   */
  constructor(settings, connections, limits) {
    this.#maxInFlight = settings.maxInFlight;
    this.#connections = connections;
    this.#limits = limits;
  }

  /**
   * An idle connection; else the one that is expected to be done first, unless it runs something slow.
   * @param {number} othersWaiting
   * @returns {Member | undefined} undefined: the query is to wait
   */
  choose(othersWaiting) {
    const now = performance.now();
    /** @type {Member | undefined} */
    let best;
    let leastMillis = Infinity;
    let left = this.#limits.shared;
    for (const member of this.#connections.shared) {
      // The others are for borrowers, and closed unless these want them.
      if (left-- <= 0 && best !== undefined) break;
      const { load } = member.connection;
      if (member.state !== 'shared' || member.isSpent) continue;
      if (load.inFlight === 0) return member;
      if (load.inFlight >= this.#maxInFlight || load.expectedMillis >= leastMillis) continue;
      // Never behind something slow: a query that waits gets the first connection that is free.
      if (load.isBlocked(now)) continue;
      best = member;
      leastMillis = load.expectedMillis;
    }
    if (best === undefined) return undefined;
    const { connectingCount, mayGrow } = this.#connections;
    // A text that was never run may be slow: not behind it while a connection is being opened, or may be.
    const isDoubtful = best.connection.load.unknown > 0;
    if (isDoubtful && (connectingCount > othersWaiting || mayGrow)) return undefined;
    if (leastMillis > GROWTH_MILLIS && connectingCount === 0 && mayGrow) this.#connections.open();
    return best;
  }

  /** @returns {Member | undefined} a connection that can be lent now */
  findIdle() {
    const { shared } = this.#connections;
    const isFree = (/** @type {Member} */ { isIdle, isSpent }) => isIdle && !isSpent;
    // The last ones are more than queries are to share.
    return shared.length > this.#limits.shared
      ? [...shared].reverse().find(isFree)
      : shared.find(isFree);
  }

  /**
   * Under a steady load no connection is ever idle by itself. So the connections that will be idle first get no new
   * queries.
   * @param {number} wanted how many
   * @returns {boolean} whether one that was reserved is not any more
   */
  reserve(wanted) {
    const byCost = [...this.#connections.shared].sort(
      (a, b) => a.connection.load.expectedMillis - b.connection.load.expectedMillis,
    );
    let hasFreed = false;
    for (const member of byCost) {
      const state = wanted-- > 0 ? 'reserved' : 'shared';
      if (state === 'shared' && member.state === 'reserved') hasFreed = true;
      member.become(state);
    }
    return hasFreed;
  }
}

module.exports = { Balancer };
