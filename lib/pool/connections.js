'use strict';

// The connections of a pool: opened one after the other or, while the server is
// down, one at a time; closed when they were idle for too long, have served as
// often as they may, or have lived long enough. Owned by dispatcher.js, which
// decides who uses them and is told of every change.

const { afterDelivery, Backoff, toConnectFailure, toFailure } = require('../base');
const { Member } = require('./member');
const { Metrics } = require('./metrics');
const { OneSession } = require('./one-session');

/**
 * @typedef {object} Listener
 * @property {(member: Member) => void} onConnected nobody else knows it yet
 * @property {(member: Member) => void} onOpened what was asked of it by then is answered
 * @property {(error: Error) => void} onOpenFailed
 * @property {(member: Member, error: Error) => void} onLost
 * @property {(member: Member) => void} onClosed after onLost, if it was lost
 * @property {(work: import('../query').Query | import('../query').Batch) => boolean} onUnsent what a
 *   connection that is lost has not sent yet; in the middle of a delivery
 * @property {() => void} onOneSession the server has no second session for a connection that was made, and is closed
 * @property {() => void} onSettled a query is settled; in the middle of a delivery
 */

/**
 * How many connections there may be. It may change at any time.
 * @typedef {object} Limits
 * @property {number} all whoever has them
 * @property {number} connecting those that are being opened at a time
 * @property {number} shared those that queries share, unless all of them are stuck behind something slow
 * @property {boolean} comeBack whether one waits for those that borrowers have: they keep them for a while only
 */

const MAX_SWEEP_MILLIS = 1000;
/** One that nobody will miss is kept for so long: who has opened a transaction will open another. */
const SPARE_MILLIS = 1000;
const MIN_SWEEP_MILLIS = 5;
/** PQTransactionStatusType */
const IDLE = 0;

class PoolConnections {
  /** All of them, in the order of their opening. @type {Set<Member>} */
  members = new Set();
  /**
   * Those that the pool goes on without: a caller's time limit has passed while they were busy. They serve those who
   * still wait for them, and do not count.
   * @type {Set<Member>}
   */
  left = new Set();
  /**
   * Those in the states shared and reserved, the oldest first. So a few callers use the same ones again and again, whose
   * statements are prepared and whose backends are awake, and the others may be closed. @type {Member[]}
   */
  shared = [];
  connectingCount = 0;
  /** Whether one was made ever. */
  hasOpened = false;
  #settings;
  #registry;
  #listener;
  #limits;
  #backoff = new Backoff();
  #metrics = new Metrics();
  #oneSession = new OneSession();
  /** Of connections that were closed, until the server has ended their sessions. @type {Set<Promise<void>>} */
  #endings = new Set();
  /** @type {NodeJS.Timeout | undefined} */
  #sweepTimer = undefined;
  /** Whether one that is spare is closed at once: nobody will want it back. */
  #closesSpare = false;
  /** close() was called: nobody waits any more. */
  #isClosing = false;

  /**
   * @param {import('../options').Settings} settings
   * @param {import('../statements').StatementRegistry} registry
   * @param {Listener} listener
   * @param {Limits} limits
   */
  constructor(settings, registry, listener, limits) {
    this.#settings = settings;
    this.#registry = registry;
    this.#listener = listener;
    this.#limits = limits;
  }

  /** Those that were made and are not closed yet, whoever has them. */
  get connectedCount() {
    // An attempt that has failed may be no member any more and still be counted in connectingCount.
    return [...this.members].filter(({ state }) => state !== 'connecting').length;
  }

  /** @param {number} millis @returns {Error | undefined} why nobody who has waited for so long got a new one */
  reasonWithin(millis) {
    return this.#backoff.reasonWithin(millis);
  }

  /** Whether another one may be opened now, for queries to share it. */
  get mayGrow() {
    return this.shared.length + this.connectingCount < this.#limits.shared && this.mayGrowAlone;
  }

  /** Whether another one may be opened now, for somebody alone. */
  get mayGrowAlone() {
    if (this.members.size >= this.#limits.all) return false;
    if (!this.#backoff.isActive) return true;
    return this.connectingCount === 0 && this.#backoff.isOver;
  }

  /** Those that nobody misses if they are closed. */
  get spareCount() {
    const { all, shared } = this.#limits;
    return Math.max(this.members.size - all, this.shared.length - shared);
  }

  /** Whether one that comes, or comes back, is closed: there are to be fewer. */
  get isOneTooMany() {
    return this.#closesSpare && this.spareCount > 0;
  }

  /**
   * Whether queries may share connections that are there already, as well as wait for one that somebody has alone:
   * if not, nobody knows when there will be one.
   */
  get isServing() {
    return this.#limits.comeBack ? this.connectedCount > 0 : this.shared.length > 0;
  }

  /**
   * @param {number} queries that wait
   * @param {number} borrowers who wait
   * @param {() => void} again is called when it may be tried again, if not now
   */
  grow(queries, borrowers, again) {
    while (this.#isWorthOne(queries, borrowers)) this.open();
    const mustWait = this.#backoff.isActive && this.connectingCount === 0;
    const isWanted = queries + borrowers > 0 && this.members.size < this.#limits.all;
    if (mustWait && isWanted) this.#backoff.whenOver(again);
  }

  /** @param {number} queries @param {number} borrowers */
  #isWorthOne(queries, borrowers) {
    const { connectingCount } = this;
    if (queries + borrowers <= connectingCount || !this.mayGrowAlone) return false;
    if (connectingCount >= this.#limits.connecting) return false;
    // Queries that wait though nothing is being opened are not to stand behind what all the shared ones do.
    return borrowers > connectingCount || connectingCount === 0 || this.mayGrow;
  }

  /** @returns {Promise<Error | undefined>} why it could not be opened */
  open() {
    /** @type {Member} */
    let member;
    try {
      member = this.#makeMember();
    } catch (error) {
      // The class of the option `Client` is the user's.
      ++this.connectingCount;
      const failure = toFailure(error, 'the class of the option "Client"');
      process.nextTick(() => this.#onOpenFailed(failure));
      return Promise.resolve(failure);
    }
    this.members.add(member);
    ++this.connectingCount;
    return member.connect().then(
      () => {
        this.hasOpened = true;
        this.#backoff.succeeded();
        this.#sweepLater();
        const twin = this.#oneSession.isTwin(member);
        if (twin === undefined) return this.#onConnected(member);
        return twin.then((isTwin) => (isTwin ? this.#onTwin(member) : this.#onConnected(member)));
      },
      (error) => {
        // It may be open: what the class of the option `Client` does in connect() is the user's affair.
        member.connection.destroy();
        const failure = toConnectFailure(error);
        this.#onOpenFailed(failure);
        return failure;
      },
    );
  }

  /** @param {Member} member @returns {Promise<undefined> | undefined} there is no error */
  #onConnected(member) {
    this.#listener.onConnected(member);
    const { connection } = member;
    if (connection.inFlight === 0) return this.#onReady(member);
    return undoTransaction(connection).then(() => this.#onReady(member));
  }

  /** @param {Member} member that nobody has known @returns {undefined} */
  #onTwin(member) {
    --this.connectingCount;
    this.members.delete(member);
    this.#end(member);
    this.#listener.onOneSession();
  }

  /** @param {Member} member @returns {undefined} there is no error */
  #onReady(member) {
    --this.connectingCount;
    this.#listener.onOpened(member);
  }

  /** @param {Error} error */
  #onOpenFailed(error) {
    --this.connectingCount;
    this.#backoff.failed(error, this.isServing || this.#settings.waitForServer);
    this.#listener.onOpenFailed(error);
  }

  #makeMember() {
    const listener = this.#listener;
    /** @type {Member} */
    const member = new Member(this.#settings, this.#registry, {
      onUnsent: listener.onUnsent,
      onSettled: listener.onSettled,
      onReadOnly: () => {
        if (member.onReadOnly()) afterDelivery(() => this.#retireIfShared(member));
      },
      onLost: (error) => listener.onLost(member, error),
      onClosed: () => this.#onClosed(member),
    });
    return member;
  }

  /** @param {Member} member that queries may be sent to from now on */
  share(member) {
    member.become('shared');
    const { shared } = this;
    let index = shared.length;
    while (index > 0 && shared[index - 1].connection.id > member.connection.id) --index;
    shared.splice(index, 0, member);
  }

  /** @param {Member} member */
  unshare(member) {
    const index = this.shared.indexOf(member);
    if (index >= 0) this.shared.splice(index, 1);
  }

  /** @param {Member} member that takes nothing more, and is closed when it is done */
  retire(member) {
    this.unshare(member);
    member.become('leaving');
    this.#end(member);
  }

  /** @param {Member} member */
  #end(member) {
    const ended = member.connection.end();
    this.#endings.add(ended);
    ended.then(() => this.#endings.delete(ended));
  }

  /** @param {import('../connection').Connection} connection that does not answer in time */
  leave(connection) {
    const member = [...this.members].find((each) => each.connection === connection);
    // Only the first of those who have waited for it finds it here.
    if (member === undefined) return;
    // An outage is no reason to open connections without end.
    const { all } = this.#limits;
    const awaited = [...this.left].filter((each) => each.connection.unwanted.isAwaited);
    if (awaited.length < all && this.left.size < 2 * all) {
      this.members.delete(member);
      this.left.add(member);
    }
    this.retire(member);
  }

  /** @param {Member} member that, lent, is looked at when it comes back */
  #retireIfShared(member) {
    if (this.shared.includes(member)) this.retire(member);
  }

  retireSpent() {
    if (this.#settings.maxUses === Infinity) return;
    for (const member of [...this.shared]) if (member.isSpent) this.retire(member);
  }

  /** Closes idle ones that nobody misses. */
  shrink() {
    for (const member of [...this.shared].reverse()) {
      if (this.spareCount > 0 && member.isIdle) this.retire(member);
    }
  }

  /** Closes what is not lent; what is being opened, too. */
  close() {
    this.#isClosing = true;
    for (const member of [...this.shared]) {
      // Somebody waits for its end, also with allowExitOnIdle.
      member.connection.setLoopRef(true);
      this.retire(member);
    }
    for (const member of [...this.members]) {
      if (member.state === 'connecting') this.#end(member);
    }
  }

  /** @returns {Promise<void>} resolves when the server has ended the sessions of those that were closed */
  async whenEnded() {
    await Promise.all(this.#endings);
  }

  stopTimers() {
    clearTimeout(this.#sweepTimer);
    this.#backoff.cancel();
  }

  /**
   * @template T
   * @param {T} totals
   */
  report(totals) {
    return this.#metrics.report([...this.members, ...this.left], totals);
  }

  /** @param {Member} member */
  #onClosed(member) {
    this.#oneSession.remove(member);
    if (!this.members.delete(member) && !this.left.delete(member)) return;
    if (member.state === 'connecting') {
      // It is still being counted as an attempt; but end() has to be told that it is gone.
      if (this.#isClosing) this.#listener.onSettled();
      return;
    }
    this.unshare(member);
    this.#metrics.keep(member);
    this.#listener.onClosed(member);
  }

  /** They were changed, and those of the time that idle connections have, for good. */
  onLimitsChanged() {
    this.#closesSpare = true;
    this.shrink();
    clearTimeout(this.#sweepTimer);
    this.#sweepTimer = undefined;
    if (this.members.size > 0) this.#sweepLater();
  }

  #sweepLater() {
    const { idleTimeoutMillis, maxLifetimeSeconds } = this.#settings;
    const limits = [idleTimeoutMillis, maxLifetimeSeconds * 1000].filter((millis) => millis > 0);
    if (this.#sweepTimer !== undefined || limits.length === 0) return;
    const millis = Math.min(Math.max(Math.min(...limits) / 4, MIN_SWEEP_MILLIS), MAX_SWEEP_MILLIS);
    this.#sweepTimer = setTimeout(() => {
      this.#sweepTimer = undefined;
      this.#sweep();
      if (this.members.size > 0) this.#sweepLater();
    }, millis);
    // The sockets keep the process alive, or are not meant to.
    this.#sweepTimer.unref();
  }

  /** Closes what has been idle for too long, or has lived too long. */
  #sweep() {
    const now = performance.now();
    const { idleTimeoutMillis, min } = this.#settings;
    for (const member of [...this.shared]) {
      member.sweep(now);
      const idleMillis = now - member.idleSince;
      const isIdle = idleTimeoutMillis > 0 && idleMillis >= idleTimeoutMillis;
      const isSpare = idleMillis >= SPARE_MILLIS && this.spareCount > 0;
      const isNeedless = isSpare || (isIdle && this.members.size > min);
      if (isNeedless || member.hasOutlived(now)) this.retire(member);
    }
  }
}

/**
 * A listener has sent something. It may leave a transaction open, in which all that follows would be lost.
 * @param {import('../connection').Connection} connection that nobody else has
 */
async function undoTransaction(connection) {
  await connection.whenQuiet();
  if (connection.state !== 'ready' || connection.session.transactionStatus <= IDLE) return;
  // If that fails, it is closed.
  await connection.ask('rollback').catch(() => connection.destroy());
}

/** @param {import('../options').Settings} settings @returns {Limits} */
function limitsOf({ max }) {
  return { all: max, connecting: max, shared: max, comeBack: true };
}

module.exports = { limitsOf, PoolConnections };
