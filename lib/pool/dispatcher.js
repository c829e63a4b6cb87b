'use strict';

// Who gets which connection. Queries share connections: each goes to one that is
// idle, else joins the pipeline that is expected to be done first, never behind
// something slow; else it waits (docs/pooling-and-pipelining.md). What needs a connection
// without neighbours borrows one. Owned by pool.js.

const { AsyncResource } = require('node:async_hooks');

const {
  afterDelivery,
  CallSite,
  copyError,
  Deferred,
  duringCall,
  lock,
  PoolError,
} = require('../base');
const { Client, plainQuery, transactionsOf } = require('../client');
const { isTransient, waitedError } = require('../connection');
const { PoolConnections } = require('./connections');
const { RefusalWarning } = require('./refusal-warning');
const { WaitingLine } = require('./waiting-line');

/**
 * @typedef {import('../query').Batch} Batch
 * @typedef {import('./member').Member} Member
 * @typedef {import('../query').Query} Query
 * @typedef {Deferred<Member>} Borrower
 *
 * @typedef {object} DispatcherOwner
 * @property {() => Error | undefined} refuse why nothing is taken any more
 * @property {() => boolean} hasSetUp whether sessions begin otherwise than the server makes them
 * @property {(client: Client) => void} onOpened nobody else has it yet
 * @property {(error: Error) => void} onOpenFailed
 * @property {(error: Error, client: Client) => void} onLost it was not lent
 * @property {(client: Client) => void} onClosed
 */

/** Opening a connection takes about so long: a longer queue is worth another one. */
const GROWTH_MILLIS = 5;

class Dispatcher {
  #settings;
  #owner;
  #connections;
  /** @type {WaitingLine<Query | Batch>} */
  #queries;
  /** @type {WaitingLine<Borrower>} */
  #borrowers;
  /** What waits for a connection without neighbours. @type {WeakMap<Query | Batch, Borrower>} */
  #waitingAlone = new WeakMap();
  /** Where those in the line came from, if clients may be wrapped. @type {WeakMap<Query | Batch, AsyncResource>} */
  #contexts = new WeakMap();
  #refusals = new RefusalWarning();
  /** A borrower has left a wrapper on his client. */
  #hasWrapped = false;
  #pumpPending = false;
  #hasOpened = false;
  /** @type {(() => void) | undefined} set by end() */
  #whenEnded = undefined;

  /**
   * @param {import('../options').Settings} settings
   * @param {import('../statements').StatementRegistry} registry
   * @param {DispatcherOwner} owner
   */
  constructor(settings, registry, owner) {
    this.#settings = settings;
    this.#owner = owner;
    this.#connections = new PoolConnections(settings, registry, {
      onOpened: (member) => this.#onOpened(member),
      onOpenFailed: (error) => this.#onOpenFailed(error),
      onLost: (member, error) => this.#onLost(member, error),
      onClosed: (member) => this.#onClosed(member),
      onUnsent: (work) => this.#onUnsent(work),
      onSettled: () => this.#onSettled(),
    });
    const { connectionTimeoutMillis } = settings;
    this.#queries = new WaitingLine(connectionTimeoutMillis, (query) => {
      query.reject(this.#timeoutError());
      this.#pumpSoon();
    });
    this.#borrowers = new WaitingLine(connectionTimeoutMillis, (borrower) => {
      borrower.reject(this.#timeoutError());
      this.#pumpSoon();
    });
  }

  get totalCount() {
    return this.#connections.members.size;
  }

  get idleCount() {
    return this.#connections.shared.filter((member) => member.isIdle).length;
  }

  get waitingCount() {
    return this.#queries.length + this.#borrowers.length;
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

  get isEnding() {
    return this.#whenEnded !== undefined;
  }

  stats() {
    return this.#connections.report({
      totalCount: this.totalCount,
      idleCount: this.idleCount,
      waitingCount: this.waitingCount,
    });
  }

  /** @returns {import('./leak-warning').Activity} */
  get activity() {
    const { members, shared } = this.#connections;
    let settled = 0;
    for (const { connection } of members) settled += connection.settled;
    const isIdle = this.waitingCount === 0 && this.idleCount === members.size;
    return { open: shared.length, isIdle, settled };
  }

  /** What its end has to wait for. */
  get unfinished() {
    const { members } = this.#connections;
    let borrowed = 0;
    let inFlight = 0;
    for (const { state, connection } of members) {
      if (state === 'exclusive') ++borrowed;
      inFlight += connection.inFlight;
    }
    return { borrowed, inFlight, waiting: this.waitingCount };
  }

  // --- Queries ------------------------------------------------------------------

  /** @param {Query | Batch} work */
  runShared(work) {
    const isNext = this.#queries.length === 0 && !lock.isHeld;
    const member = isNext ? this.#choose(this.waitingCount) : undefined;
    if (member !== undefined) {
      member.submit(work);
      return;
    }
    if (this.#mayBeWrapped) this.#contexts.set(work, new AsyncResource('PgConduitQuery'));
    this.#enqueue(this.#queries, work, (error) => work.reject(error));
  }

  /** Whether somebody may want to know in whose context a query is sent. */
  get #mayBeWrapped() {
    return Client.prototype.query !== plainQuery || this.#hasWrapped || this.#owner.hasSetUp();
  }

  /**
   * Without neighbours, who would wait for it or for its locks.
   * @param {Query | Batch} work
   */
  runAlone(work) {
    this.borrow(work).then(
      (member) => {
        if (work.isSettled) {
          this.takeBack(member);
          return;
        }
        // Not by its promise: a handler there would hide a rejection that nobody else handles.
        work.onceSettled(() => this.takeBack(member));
        member.submit(work);
      },
      (error) => work.reject(error),
    );
  }

  /**
   * Its caller waits no longer.
   * @param {Query | Batch} work
   * @param {import('../base').QueryAbortedError} reason
   */
  giveUp(work, reason) {
    if (work.connection !== undefined) {
      work.connection.giveUp(work, reason);
      return;
    }
    this.#queries.remove(work);
    const borrower = this.#waitingAlone.get(work);
    if (borrower !== undefined) this.#borrowers.remove(borrower);
    this.#waitingAlone.delete(work);
    work.reject(reason);
    this.#pumpSoon();
  }

  /**
   * @param {number} othersWaiting
   * @returns {Member | undefined} nothing: the query is to wait
   */
  #choose(othersWaiting) {
    const { maxInFlight } = this.#settings;
    const now = performance.now();
    /** @type {Member | undefined} */
    let best;
    let leastMillis = Infinity;
    for (const member of this.#connections.shared) {
      const { load } = member.connection;
      if (member.state !== 'shared' || member.isSpent) continue;
      if (load.inFlight === 0) return member;
      if (load.inFlight >= maxInFlight || load.expectedMillis >= leastMillis) continue;
      // Never behind something slow: whoever waits gets the first one that is free.
      if (load.isBlocked(now)) continue;
      best = member;
      leastMillis = load.expectedMillis;
    }
    if (best === undefined) return undefined;
    const { connectingCount, mayGrow } = this.#connections;
    // What was never seen may be slow: not behind it while a connection is being opened, or may be.
    const isDoubtful = best.connection.load.unknown > 0;
    if (isDoubtful && (connectingCount > othersWaiting || mayGrow)) return undefined;
    if (leastMillis > GROWTH_MILLIS && connectingCount === 0 && mayGrow) this.#connections.open();
    return best;
  }

  // --- Connections without neighbours ---------------------------------------------

  /**
   * @param {Query | Batch} [work] that it is for
   * @returns {Promise<Member>} in the state exclusive
   */
  borrow(work) {
    const refusal = this.#owner.refuse();
    if (refusal !== undefined) return Promise.reject(refusal);
    /** @type {Borrower} */
    const borrower = new Deferred(this.#hasOpened ? undefined : new CallSite());
    if (work !== undefined) this.#waitingAlone.set(work, borrower);
    duringCall(borrower, () => {
      this.#enqueue(this.#borrowers, borrower, (error) => borrower.reject(error));
    });
    return borrower.promise;
  }

  /**
   * @param {Member} member
   * @param {boolean} [isBroken] the borrower does not want it to be used again
   */
  async takeBack(member, isBroken = false) {
    transactionsOf(member.client).close();
    if (member.isWrapped) this.#hasWrapped = true;
    if (!this.#connections.members.has(member)) return;
    if (isBroken) {
      member.become('leaving');
      member.connection.destroy();
      return;
    }
    // What the borrower has left in flight is nobody's to wait behind.
    await member.connection.whenQuiet();
    const isUsable = await member.reset(this.#owner.hasSetUp());
    if (!this.#connections.members.has(member)) return;
    member.endLoan();
    if (isUsable && !member.isSpent) this.#connections.share(member);
    else this.#connections.retire(member);
    this.#pump();
  }

  // --- The waiting lines --------------------------------------------------------

  #timeoutError() {
    const { connectedCount } = this.#connections;
    const millis = this.#settings.connectionTimeoutMillis;
    const reason = this.#connections.reasonWithin(millis);
    if (connectedCount === 0) {
      return waitedError({
        millis,
        reason,
        message: 'Connection terminated due to connection timeout',
        silent: 'the server did not answer',
        refused: 'no connection could be made',
      });
    }
    return waitedError({
      millis,
      reason,
      message: 'timeout exceeded when trying to connect',
      silent: 'no connection was free',
      refused: `no connection was free (of ${connectedCount}), and no further one could be made,`,
    });
  }

  /**
   * @template {{ isInCall: boolean }} T
   * @param {WaitingLine<T>} line
   * @param {T} item
   * @param {(error: Error) => void} reject
   */
  #enqueue(line, item, reject) {
    line.push(item);
    const begin = () => {
      this.#pump();
      this.#refuseExcess(line, item, reject);
    };
    if (lock.isHeld) afterDelivery(begin);
    else begin();
  }

  /**
   * @template {{ isInCall: boolean }} T
   * @param {WaitingLine<T>} line
   * @param {T} item its last
   * @param {(error: Error) => void} reject
   */
  #refuseExcess(line, item, reject) {
    const { maxWaiting } = this.#settings;
    if (this.waitingCount <= maxWaiting || !line.remove(item)) return;
    this.#pumpSoon();
    // So many may be refused that writing out where each came from would cost more than serving them.
    item.isInCall = false;
    reject(
      new PoolError(
        `the pool is overloaded: ${maxWaiting} are waiting for a connection (maxWaiting); ` +
          'try again later, or raise max or maxInFlight',
        'ERR_PG_CONDUIT_POOL_FULL',
      ),
    );
  }

  /**
   * Its connection was lost before it was sent: another one does as well.
   * @param {Query | Batch} work
   */
  #onUnsent(work) {
    if (!work.isSettled) {
      // In the line at once: an end() must not be over before it is done.
      work.connection = undefined;
      this.#queries.push(work);
      this.#onSettled();
    }
    return true;
  }

  #onSettled() {
    const { allowExitOnIdle, maxUses } = this.#settings;
    const isWorthIt =
      this.waitingCount > 0 || this.isEnding || allowExitOnIdle || maxUses !== Infinity;
    if (isWorthIt) this.#pumpSoon();
  }

  /**
   * Also when somebody waits no longer: no connection is to be reserved for him any more, and the
   * end may have waited for him.
   */
  #pumpSoon() {
    if (this.#pumpPending) return;
    this.#pumpPending = true;
    afterDelivery(() => {
      this.#pumpPending = false;
      this.#pump();
    });
  }

  /** Gives out what is free, and opens what is missing. */
  #pump() {
    if (lock.isHeld) {
      this.#pumpSoon();
      return;
    }
    this.#connections.retireSpent();
    // Where connections are replaced after a few uses, none is ever kept free for those who want one alone.
    if (this.#borrowers.oldestSince < this.#queries.oldestSince) this.#serveBorrowers();
    this.#serveQueries();
    // What is not reserved any more may serve queries at once.
    if (this.#serveBorrowers()) this.#serveQueries();
    this.#connections.grow(this.waitingCount, () => this.#pump());
    if (this.#settings.allowExitOnIdle) {
      for (const member of this.#connections.shared) {
        if (member.isIdle) member.connection.setLoopRef(false);
      }
    }
    if (this.isEnding) this.#finish();
  }

  #serveQueries() {
    for (let query = this.#queries.peek(); query !== undefined; query = this.#queries.peek()) {
      const member = this.#choose(this.waitingCount - 1);
      if (member === undefined) return;
      this.#queries.shift();
      const context = member.isWrapped ? this.#contexts.get(query) : undefined;
      if (context === undefined) member.submit(query);
      else context.runInAsyncScope(() => member.submit(query));
    }
  }

  /** @returns {boolean} whether a connection is not reserved any more */
  #serveBorrowers() {
    for (let next = this.#borrowers.peek(); next !== undefined; next = this.#borrowers.peek()) {
      const member = this.#connections.shared.find(({ isIdle, isSpent }) => isIdle && !isSpent);
      if (member === undefined) break;
      this.#borrowers.shift();
      this.#connections.unshare(member);
      member.become('exclusive');
      next.resolve(member);
    }
    // Under a steady load no connection is ever idle by itself: some are kept
    // free of new queries, one for each borrower, unless queries wait for longer.
    let wanted = this.#connections.mayGrow ? 0 : this.#borrowers.length;
    if (this.#borrowers.oldestSince > this.#queries.oldestSince) wanted = 0;
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

  // --- Connections that come and go ---------------------------------------------

  /** @param {Member} member */
  #onOpened(member) {
    this.#refusals.over();
    this.#hasOpened = true;
    // A listener may send what every connection is to begin with; it still has it alone.
    this.#owner.onOpened(member.client);
    member.start();
    // Or end it.
    if (member.connection.state === 'ready') this.#connections.share(member);
    else this.#connections.retire(member);
    this.#pump();
  }

  /** @param {Error} error */
  #onOpenFailed(error) {
    this.#owner.onOpenFailed(error);
    // Others that are connected will serve those who wait; a deadline says how
    // long a server that is down may take to come back.
    const { connectedCount, connectingCount } = this.#connections;
    const isHopeful =
      connectedCount > 0 || (isTransient(error) && this.#settings.connectionTimeoutMillis > 0);
    if (isHopeful) {
      this.#warnOfRefusal(error);
    } else if (connectingCount === 0) {
      // Nothing of theirs was sent, whatever the error says of a query of onConnect's.
      const copy = () => Object.assign(copyError(error), { outcome: 'not-run' });
      for (const query of this.#queries.clear()) query.reject(copy());
      for (const borrower of this.#borrowers.clear()) borrower.reject(copy());
    }
    this.#pump();
  }

  /** Who waits without a limit for what others have. @param {Error} error */
  #warnOfRefusal(error) {
    if (this.#settings.connectionTimeoutMillis > 0) return;
    const since = Math.min(this.#queries.oldestSince, this.#borrowers.oldestSince);
    this.#refusals.tell(error, since, {
      waiting: this.waitingCount,
      connected: this.#connections.connectedCount,
      max: this.#settings.max,
    });
  }

  /** @param {Member} member @param {Error} error */
  #onLost(member, error) {
    // Who has borrowed it hears it from the client.
    if (member.state !== 'exclusive') this.#owner.onLost(error, member.client);
  }

  /** @param {Member} member */
  #onClosed(member) {
    this.#owner.onClosed(member.client);
    // Not at once: nothing may be sent in the middle of a delivery.
    this.#onSettled();
  }

  // --- The end ------------------------------------------------------------------

  /** @returns {Promise<void>} when all that was asked for is done and all connections are closed */
  async end() {
    await new Promise((resolve) => {
      this.#whenEnded = () => resolve(undefined);
      this.#pump();
    });
    this.#connections.stopTimers();
  }

  #finish() {
    if (this.waitingCount > 0) return;
    this.#connections.close();
    if (this.#connections.members.size === 0) this.#whenEnded?.();
  }
}

module.exports = { Dispatcher };
