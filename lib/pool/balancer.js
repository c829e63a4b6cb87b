'use strict';

// The policy of a pool: which of the shared connections a query joins, when the load is worth another connection,
// and which connections are reserved for borrowers, who need one without neighbours. Owned by dispatcher.js.

const { WAKE_MILLIS } = require('../statements');

/**
 * @typedef {import('../query').Batch} Batch
 * @typedef {import('./member').Member} Member
 * @typedef {import('../query').Query} Query
 */

/** Opening a connection takes about so long: a longer queue is worth another one. */
const GROWTH_MILLIS = 5;

/**
 * This thread needs about so long for each query. So many connections as keep it busy are enough: more of them wake up
 * more often, for fewer queries each.
 */
const CLIENT_MILLIS = 0.005;

/**
 * With a round trip of known work and so much more in front of it a connection has no pause before a query that waits
 * here can reach it. So nothing is gained by sending it now, and it would wait for what turns out to take longer, while
 * other connections are free again.
 */
const AHEAD_MILLIS = 1;

/**
 * Whether idle connections are used first: a few callers are served faster side by side if what is in front of them is
 * worth waking another backend.
 * @param {number} inFlight
 * @param {number} millis what those cost that are in front on the connection in use
 */
function areFew(inFlight, millis) {
  return inFlight < 3 && millis >= WAKE_MILLIS;
}

/** @param {import('../connection').Connection['load']} load */
function isFull({ knownMillis, roundTripMillis }) {
  return knownMillis > AHEAD_MILLIS + roundTripMillis;
}

/** @param {Query | Batch} work @returns {boolean} whether it is known to cost less than waking a backend */
function isTiny(work) {
  const info = 'members' in work ? undefined : work.info;
  return info !== undefined && info.averageMillis >= 0 && info.averageMillis <= WAKE_MILLIS;
}

class Balancer {
  #spreadMillis;
  #syncGroup;
  #connections;
  #limits;
  /** What was chosen last: what comes next in the same tick is best sent along. @type {Member | undefined} */
  #last = undefined;

  /**
   * @param {import('../options').Settings} settings
   * @param {import('./connections').PoolConnections} connections
   * @param {import('./connections').Limits} limits
   */
  constructor(settings, connections, limits) {
    this.#spreadMillis = settings.spreadMillis;
    this.#syncGroup = settings.syncGroup;
    this.#connections = connections;
    this.#limits = limits;
  }

  /**
   * For a query that costs next to nothing a connection in use, while there is little in front of it; else an idle one;
   * else the one that is expected to be done first. Never one that runs something slow: a query that waits gets the
   * first connection that is free.
   * @param {Query | Batch} work
   * @param {number} othersWaiting
   * @param {boolean} [mayQueue] whether to send it behind more than has to be in front of it
   * @returns {Member | undefined} undefined: the query is to wait
   */
  choose(work, othersWaiting, mayQueue = false) {
    const now = performance.now();
    const { members, shared } = this.#connections;
    // Whoever has one alone may hold locks that what is in flight waits for, and may wait for this query.
    const mayJoin = this.#spreadMillis > 0 && members.size === shared.length && isTiny(work);
    if (mayJoin && this.#last !== undefined && this.#isHandy(this.#last, now)) return this.#last;
    const { idle, busy, inFlight } = this.#survey(now, mayJoin);
    const isWorthWaking =
      busy === undefined ||
      !mayJoin ||
      areFew(inFlight, busy.connection.load.expectedMillis) ||
      busy.connection.load.unknown > 0 ||
      busy.connection.load.locking > 0 ||
      isFull(busy.connection.load) ||
      busy.connection.load.expectedMillis >= this.#patience(inFlight);
    this.#last = isWorthWaking && idle !== undefined ? idle : busy;
    if (this.#last !== busy || busy === undefined) return this.#last;
    const { load } = busy.connection;
    const { connectingCount, mayGrow } = this.#connections;
    // A text that was never run may be slow: not behind it while a connection is being opened, or may be.
    const isDoubtful = load.unknown > 0;
    if (isDoubtful && (connectingCount > othersWaiting || mayGrow)) return undefined;
    const isLong = load.expectedMillis > GROWTH_MILLIS;
    if (isLong && connectingCount === 0 && mayGrow) this.#connections.open();
    const mayWait = !mayQueue && !mayGrow && shared.length > 1 && !this.#sharesCommit(work);
    return isFull(load) && mayWait ? undefined : busy;
  }

  /** @param {number} inFlight @returns {number} ms in front of a cheap query for which no other backend is woken */
  #patience(inFlight) {
    return Math.max(this.#spreadMillis, inFlight * CLIENT_MILLIS);
  }

  /** Writes that share a Sync cost least where many are together. @param {Query | Batch} work */
  #sharesCommit(work) {
    const own = 'members' in work ? undefined : work.syncGroup;
    return (own ?? this.#syncGroup) === 'all';
  }

  /** @param {Member} member @param {number} now performance.now() */
  #isHandy({ state, isSpent, connection }, now) {
    const { load } = connection;
    return (
      state === 'shared' &&
      load.inFlight > 0 &&
      load.locking === 0 &&
      !areFew(load.inFlight, load.expectedMillis) &&
      load.inFlight < connection.maxInFlight &&
      load.expectedMillis < this.#patience(load.inFlight) &&
      load.unknown === 0 &&
      !isFull(load) &&
      !isSpent &&
      !load.isBlocked(now)
    );
  }

  /** @param {number} now performance.now() @param {boolean} mayJoin else an idle one is all that is looked for */
  #survey(now, mayJoin) {
    /** @type {Member | undefined} */
    let idle;
    /** The one that will be done first. @type {Member | undefined} */
    let busy;
    let leastMillis = Infinity;
    let inFlight = 0;
    let left = this.#limits.shared;
    for (const member of this.#connections.shared) {
      // The others are for borrowers, and closed unless these want them.
      if (left-- <= 0 && (idle ?? busy) !== undefined) break;
      const { load, maxInFlight } = member.connection;
      if (member.state !== 'shared' || member.isSpent) continue;
      if (load.inFlight === 0) {
        idle ??= member;
        if (!mayJoin) break;
        continue;
      }
      inFlight += load.inFlight;
      const millis = load.expectedMillis + (mayJoin && load.locking > 0 ? this.#spreadMillis : 0);
      if (load.inFlight >= maxInFlight || millis >= leastMillis) continue;
      if (load.isBlocked(now)) continue;
      busy = member;
      leastMillis = millis;
    }
    return { idle, busy, inFlight };
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
