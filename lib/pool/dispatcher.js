'use strict';

// Brings together what waits for a connection of a pool (waiting-room.js) and the connections (connections.js): sends
// queries on shared connections, and lets lender.js lend some without neighbours. Which connection it is, balancer.js
// decides (docs/pooling-and-pipelining.md). Owned by pool.js.

const { afterDelivery, lock } = require('../base');
const { isWorthWaiting } = require('../connection');
const { isTimeout } = require('../query');
const { Activity } = require('./activity');
const { Balancer } = require('./balancer');
const { limitsOf, PoolConnections } = require('./connections');
const { Lender } = require('./lender');
const { RefusalWarning } = require('./refusal-warning');
const { limitToOne, warnOfOneSession } = require('./one-session');
const { SameServer } = require('./same-server');
const { WaitingContexts } = require('./waiting-contexts');
const { WaitingRoom } = require('./waiting-room');

/**
 * @typedef {import('../query').Batch} Batch
 * @typedef {import('./member').Member} Member
 * @typedef {import('../query').Query} Query
 * @typedef {import('./ranking').Borrower} Borrower
 *
 * @typedef {object} DispatcherOwner
 * @property {() => Error | undefined} refuse why nothing is taken any more
 * @property {() => boolean} hasSetUp whether sessions begin otherwise than the server makes them
 * @property {() => boolean} hasFloating whether borrowers have what may still need a connection
 * @property {(work: Query | Batch) => void} onShared it was sent on a connection that others share
 * @property {(client: import('../client').Client) => void} onOpened nobody else has it yet
 * @property {(error: Error) => void} onOpenFailed
 * @property {(error: Error, client: import('../client').Client) => void} onLost of a connection that was not lent
 * @property {(client: import('../client').Client) => void} onClosed
 */

class Dispatcher {
  /** @type {Activity} */
  activity;
  /** @type {Lender} */
  lender;
  #settings;
  #owner;
  #connections;
  #balancer;
  #waiting;
  /** The lines of #waiting. */
  #queries;
  #borrowers;
  #limits;
  #sameServer = new SameServer();
  #contexts = new WaitingContexts();
  #refusals = new RefusalWarning();
  #pumpPending = false;
  /** @type {(() => void) | undefined} set by end() */
  #whenEnded = undefined;

  /**
   * @param {import('../options').Settings} settings
   * @param {import('../statements').StatementRegistry} registry
   * @param {DispatcherOwner} owner
   * @param {import('./connections').Limits} [limits]
   */
  constructor(settings, registry, owner, limits = limitsOf(settings)) {
    this.#settings = settings;
    this.#owner = owner;
    this.#limits = limits;
    const listener = {
      onConnected: (/** @type {Member} */ member) => this.#onConnected(member),
      onOpened: (/** @type {Member} */ member) => this.#onOpened(member),
      onOpenFailed: (/** @type {Error} */ error) => this.#onOpenFailed(error),
      onLost: (/** @type {Member} */ member, /** @type {Error} */ error) =>
        this.#onLost(member, error),
      onClosed: (/** @type {Member} */ member) => this.#onClosed(member),
      onUnsent: (/** @type {Query | Batch} */ work) => this.#onUnsent(work),
      onOneSession: () => this.#onOneSession(),
      onSettled: () => this.#onSettled(),
    };
    this.#connections = new PoolConnections(settings, registry, listener, limits);
    this.#balancer = new Balancer(settings, this.#connections, limits);
    this.#waiting = new WaitingRoom(settings, this.#connections, {
      onLeft: (item) => this.#onLeft(item),
      queue: (work) => this.#queue(work),
    });
    this.#queries = this.#waiting.queries;
    this.#borrowers = this.#waiting.borrowers;
    this.activity = new Activity(this.#connections, this.#waiting);
    this.lender = new Lender(settings, this.#connections, this.#balancer, this.#waiting, {
      hasSetUp: owner.hasSetUp,
      enqueue: (line, borrower) => this.#enqueue(line, borrower),
      pump: () => this.#pump(),
    });
  }

  get isEnding() {
    return this.#whenEnded !== undefined;
  }

  /** A connection that queries share; else one that somebody has. @returns {Member | undefined} */
  get anyShared() {
    const { members, shared } = this.#connections;
    return shared[0] ?? [...members].find(({ state }) => state === 'exclusive');
  }

  /** Whether reads of borrowers may go to any connection. An open one shows that the server is there. */
  get mayMultiplex() {
    return this.#sameServer.isCertain && !this.#owner.hasSetUp();
  }

  // --- Queries ------------------------------------------------------------------

  /** @param {Query | Batch} work */
  runShared(work) {
    if (this.sendNow(work)) return;
    this.#contexts.keep(work, this.lender.hasWrapped || this.#owner.hasSetUp());
    this.#enqueue(this.#queries, work);
  }

  /**
   * @param {Query | Batch} work
   * @returns {boolean} whether it was sent on a connection that others share; if not, it does not wait for one
   */
  sendNow(work) {
    const isNext = this.#waiting.isNext('queries') && this.#queries.length === 0 && !lock.isHeld;
    const member = isNext ? this.#balancer.choose(work, this.#waiting.wantedCount) : undefined;
    if (member === undefined) return false;
    member.submit(work);
    this.#owner.onShared(work);
    return true;
  }

  /** @param {Query | Batch} work that has waited @param {Member} member */
  #send(work, member) {
    this.#contexts.send(work, member);
    this.#owner.onShared(work);
  }

  /**
   * Without neighbours, who would wait for it or for its locks.
   * @param {Query | Batch} work
   */
  runAlone(work) {
    this.borrow(work).then(
      (member) => {
        if (work.isSettled) {
          this.lender.takeBack(member);
          return;
        }
        // Not by its promise: a handler there would hide a rejection that nobody else handles.
        work.onceSettled(() => this.lender.takeBack(member));
        member.submit(work);
      },
      (error) => work.reject(error),
    );
  }

  /**
   * @param {Query | Batch} work whose caller waits no longer
   * @param {import('../base').QueryAbortedError} reason
   */
  abort(work, reason) {
    const { connection } = work;
    if (connection !== undefined) {
      const leave = () => {
        this.#connections.leave(connection);
        this.#pumpSoon();
      };
      connection.abort(work, reason, isTimeout(reason) ? leave : undefined);
      return;
    }
    this.#waiting.remove(work);
    work.reject(reason);
  }

  // --- Connections without neighbours ---------------------------------------------

  /**
   * @param {Query | Batch} [work] that it is for
   * @returns {Promise<Member>} in the state exclusive; the lender takes it back
   */
  borrow(work) {
    const refusal = this.#owner.refuse();
    return refusal === undefined ? this.lender.borrow(work) : Promise.reject(refusal);
  }

  /** The end of the pool may have waited for it. */
  onLeaseReleased() {
    if (this.isEnding) this.#pumpSoon();
  }

  // --- Serving those who wait --------------------------------------------------------

  /**
   * @template {Query | Batch | Borrower} T
   * @param {import('./waiting-line').WaitingLine<T>} line
   * @param {T} item
   */
  #enqueue(line, item) {
    line.push(item);
    const begin = () => {
      // Whose turn has not come cannot be served.
      if (/** @type {unknown} */ (line) !== this.#waiting.turns) this.#pump();
      this.#waiting.refuseExcess(line, item);
    };
    if (lock.isHeld) afterDelivery(begin);
    else begin();
  }

  /** @param {Query | Batch} work whose connection was lost before it was sent: it may go to another one */
  #onUnsent(work) {
    if (!work.isSettled) {
      // At once: an end() must not be over before it is done.
      work.connection = undefined;
      this.#queries.push(work);
      this.#onSettled();
    }
    return true;
  }

  #onSettled() {
    const { allowExitOnIdle, maxUses } = this.#settings;
    const isWorthIt =
      this.#waiting.wantedCount > 0 || this.isEnding || allowExitOnIdle || maxUses !== Infinity;
    if (isWorthIt) this.#pumpSoon();
  }

  /**
   * The connection that was reserved for it may serve queries, and the end of the pool may have waited for it.
   * @param {Query | Batch | Borrower} item that waits no longer
   */
  #onLeft(item) {
    this.lender.onLeft(item);
    this.#pumpSoon();
  }

  #pumpSoon() {
    if (this.#pumpPending) return;
    this.#pumpPending = true;
    afterDelivery(() => {
      this.#pumpPending = false;
      this.#pump();
    });
  }

  /** Gives idle connections to those who wait, and opens what is missing. */
  #pump() {
    if (lock.isHeld) {
      this.#pumpSoon();
      return;
    }
    this.#connections.retireSpent();
    // Where connections are replaced after a few uses, none is ever kept free for those who want one alone.
    if (this.#borrowers.oldestSince < this.#queries.oldestSince) this.lender.serve();
    this.#serveQueries();
    // A connection that is not reserved any more may serve queries at once.
    if (this.lender.serve()) this.#serveQueries();
    const { length: queries } = this.#queries;
    this.#connections.grow(queries, this.#waiting.wantedCount - queries, () => this.#pump());
    if (this.#settings.allowExitOnIdle) {
      for (const member of this.#connections.shared) {
        if (member.isIdle) member.connection.setLoopRef(false);
      }
    }
    if (this.isEnding) this.#finish();
  }

  #serveQueries() {
    for (let query = this.#queries.peek(); query !== undefined; query = this.#queries.peek()) {
      if (!this.#waiting.isNext('queries')) return;
      const member = this.#balancer.choose(query, this.#waiting.wantedCount - 1);
      if (member === undefined) return;
      this.#queries.shift();
      this.#send(query, member);
    }
  }

  /**
   * @param {Query | Batch} work that may wait no longer
   * @returns {boolean} whether it was sent, behind what was only to spare it a wait
   */
  #queue(work) {
    const member = this.#balancer.choose(work, this.#waiting.wantedCount, true);
    if (member !== undefined) this.#send(work, member);
    return member !== undefined;
  }

  // --- Connections that come and go ---------------------------------------------

  /** Opens one, whether somebody waits or not. @returns {Promise<Error | undefined>} why it could not */
  open() {
    return this.#connections.open();
  }

  /** Opens one, unless one is being opened, or there may be no other one. */
  openAnother() {
    const { mayGrow, connectingCount } = this.#connections;
    if (mayGrow && connectingCount === 0) this.#connections.open();
  }

  /** Nobody is there any more to whom the answers matter. @param {Error} error */
  dismiss(error) {
    this.#waiting.rejectAll(error);
  }

  /** Fewer may be there now. */
  shrink() {
    this.#connections.shrink();
  }

  /** @param {Member} member */
  #onConnected(member) {
    this.#refusals.over();
    // A listener of once() is gone behind this connection, and the others are not like it.
    this.#sameServer.add(member, this.#owner.hasSetUp());
    // A listener may send what every connection is to begin with. It has it alone until that is answered: it may go by the
    // answer, as those do who ask for the OID of a type and set its parser.
    this.#owner.onOpened(member.client);
  }

  /** @param {Member} member */
  #onOpened(member) {
    member.start();
    // The listener may have ended it, too.
    const isWanted = member.connection.state === 'ready' && !this.#connections.isOneTooMany;
    if (isWanted) this.#connections.share(member);
    else this.#connections.retire(member);
    this.#pump();
  }

  /** @param {Error} error */
  #onOpenFailed(error) {
    this.#owner.onOpenFailed(error);
    // Those who wait will be served by open connections, if there are any.
    const { isServing, connectingCount } = this.#connections;
    if (isServing || isWorthWaiting(error, this.#settings)) {
      this.#refusals.tell(error, this.#settings, this.#waiting, this.#connections);
    } else if (connectingCount === 0) {
      this.#waiting.rejectAll(error);
    }
    this.#pump();
  }

  /** @param {Member} member @param {Error} error */
  #onLost(member, error) {
    // To a borrower the client reports it.
    if (member.state !== 'exclusive') this.#owner.onLost(error, member.client);
  }

  /** @param {Member} member */
  #onClosed(member) {
    this.#sameServer.remove(member);
    this.lender.onClosed(member);
    this.#owner.onClosed(member.face);
    // Not at once: nothing may be sent in the middle of a delivery.
    this.#onSettled();
  }

  /** Options that say how many connections there are, and for how long, were changed. */
  onOptionsChanged() {
    const { max } = this.#settings;
    if (max !== this.#limits.all) {
      Object.assign(this.#limits, limitsOf(this.#settings));
      this.lender.resize(max);
    }
    this.#connections.onLimitsChanged();
    this.#waiting.onOptionsChanged();
    this.#pumpSoon();
  }

  #onOneSession() {
    warnOfOneSession();
    this.#settings.max = 1;
    limitToOne(this.#limits);
    this.lender.resize(1);
    this.onOptionsChanged();
  }

  // --- The end ------------------------------------------------------------------

  /** @returns {Promise<void>} when all that was asked for is done, and the server has ended all sessions */
  async end() {
    await new Promise((resolve) => {
      this.#whenEnded = () => resolve(undefined);
      this.#pump();
    });
    this.#connections.stopTimers();
    await this.#connections.whenEnded();
  }

  #finish() {
    if (this.#waiting.length > 0 || this.#owner.hasFloating()) return;
    this.#connections.close();
    const { members, left } = this.#connections;
    if (members.size + left.size === 0) this.#whenEnded?.();
  }
}

module.exports = { Dispatcher };
