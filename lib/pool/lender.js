'use strict';

// Lends connections of a pool to those who need one without neighbours, and takes them back: leases, borrowers, and
// what runs alone. Only the oldest `max` of them have one at a time, as in `pg`, where each has it from its call on. So
// nobody waits for a connection of those who wait for them, unless they did with `pg`. Owned by dispatcher.js.

const { CallSite, Deferred, lock } = require('../base');
const { transactionsOf } = require('../client');
const { Borrower, Ranking } = require('./ranking');

/**
 * @typedef {import('./member').Member} Member
 *
 * @typedef {object} LenderOwner
 * @property {() => boolean} hasSetUp whether sessions begin otherwise than the server makes them
 * @property {(line: import('./waiting-line').WaitingLine<Borrower>, borrower: Borrower) => void} enqueue
 * @property {() => void} pump serves those who wait
 */

/** Who borrows a connection from the start, and has it until it is taken back. */
class Loan extends Borrower {
  #granted;

  /** @param {CallSite} [callSite] */
  constructor(callSite) {
    super();
    /** @type {Deferred<Member>} */
    this.#granted = new Deferred(callSite);
  }

  get promise() {
    return this.#granted.promise;
  }

  /** @override @param {Member} member */
  onGranted(member) {
    this.#granted.resolve(member);
  }

  /** @override @param {Error} error */
  onRefused(error) {
    this.#granted.reject(error);
  }
}

class Lender {
  /** A borrower has left a wrapper on their client. */
  hasWrapped = false;
  /** Whether borrowers may be leases. With `max: 1` a pool is used as a mutex. */
  mayLease;
  #connections;
  #balancer;
  #waiting;
  #owner;
  #ranking;
  #isRanked;

  /**
   * @param {import('../options').Settings} settings
   * @param {import('./connections').PoolConnections} connections
   * @param {import('./balancer').Balancer} balancer
   * @param {import('./waiting-room').WaitingRoom} waiting
   * @param {LenderOwner} owner
   */
  constructor(settings, connections, balancer, waiting, owner) {
    const { multiplex, max, makeClient, resetQuery } = settings;
    // With resetQuery: '' sessions keep what borrowers have made of them.
    const mayLease =
      multiplex !== 'off' && max > 1 && makeClient === undefined && resetQuery !== '';
    this.mayLease = mayLease;
    this.#connections = connections;
    this.#balancer = balancer;
    this.#waiting = waiting;
    this.#owner = owner;
    // Without leases whoever waits for a connection waits for those who have one: the line is order enough.
    this.#isRanked = mayLease;
    this.#ranking = new Ranking(mayLease ? max : Infinity);
  }

  /** @param {number} max connections from now on */
  resize(max) {
    // One connection is a mutex.
    if (max === 1) this.mayLease = false;
    if (!this.#isRanked) return;
    for (const borrower of this.#ranking.resize(max)) this.#waiting.beginTurn(borrower);
  }

  /** From the oldest to the youngest. @returns {Iterable<Borrower>} */
  get ranked() {
    return this.#ranking;
  }

  /** @param {Borrower} lease that may need a connection from now on */
  join(lease) {
    this.#ranking.add(lease);
  }

  /** @param {Borrower} borrower that needs no connection any more */
  leave(borrower) {
    if (this.#giveUpPlace(borrower)) this.#owner.pump();
  }

  /** @param {Borrower} borrower @returns {boolean} whether somebody may be served now who could not before */
  #giveUpPlace(borrower) {
    const next = this.#ranking.remove(borrower);
    return next !== undefined && this.#waiting.beginTurn(next);
  }

  // --- Lending --------------------------------------------------------------------

  /**
   * @param {import('../query').Query | import('../query').Batch} [work] that it is for
   * @returns {Promise<Member>} in the state exclusive, until takeBack()
   */
  borrow(work) {
    const loan = new Loan(this.#connections.hasOpened ? undefined : new CallSite());
    if (work !== undefined) this.#waiting.borrowFor(work, loan);
    this.#ranking.add(loan);
    this.pin(loan);
    return loan.promise;
  }

  /** @param {Borrower} borrower that is granted a connection, or refused one; perhaps at once */
  pin(borrower) {
    const { borrowers, turns } = this.#waiting;
    this.#owner.enqueue(borrower.isOld ? borrowers : turns, borrower);
  }

  /** @param {Borrower} lease that waits for a connection, and needs none any more */
  stopPinning(lease) {
    this.#waiting.removeBorrower(lease);
  }

  /**
   * @param {Borrower} lease
   * @param {Member} [wanted] no other one
   * @returns {Member | undefined} in the state exclusive, if one is idle and nobody waits
   */
  pinIdle(lease, wanted) {
    if (!lease.isOld || this.#waiting.wantedCount > 0 || lock.isHeld) return undefined;
    if (wanted !== undefined && !(wanted.state === 'shared' && wanted.isIdle)) return undefined;
    const member = wanted ?? this.#balancer.findIdle();
    if (member !== undefined) this.#lendOut(member, lease);
    return member;
  }

  /** @returns {boolean} whether a connection is not reserved any more */
  serve() {
    const { borrowers, queries } = this.#waiting;
    for (let next = borrowers.peek(); next !== undefined; next = borrowers.peek()) {
      if (!this.#waiting.isNext('borrowers')) break;
      const member = this.#balancer.findIdle();
      if (member === undefined) break;
      borrowers.shift();
      this.#lendOut(member, next);
      next.onGranted(member);
    }
    // One for each borrower, unless queries have waited for longer.
    const isQueriesTurn = borrowers.oldestSince > queries.oldestSince;
    const wanted = this.#connections.mayGrowAlone || isQueriesTurn ? 0 : borrowers.length;
    return this.#balancer.reserve(wanted);
  }

  /** @param {Member} member @param {Borrower} borrower */
  #lendOut(member, borrower) {
    this.#connections.unshare(member);
    member.become('exclusive');
    // A lease has settings of its own.
    if (borrower instanceof Loan) member.connection.profile.adopt(undefined);
    member.borrower = borrower;
  }

  /** @param {unknown} item that has waited in vain */
  onLeft(item) {
    if (item instanceof Loan) this.#giveUpPlace(item);
  }

  // --- Taking back ----------------------------------------------------------------

  /**
   * @param {Member} member
   * @param {boolean} [isBroken] the borrower does not want it to be used again
   */
  takeBack(member, isBroken = false) {
    transactionsOf(member.client).close();
    if (member.isWrapped) this.hasWrapped = true;
    const hasNext = this.#endLoan(member);
    const isOpen = this.#connections.members.has(member);
    if (isOpen && !isBroken && member.isClean) {
      this.#putBack(member, true);
      return;
    }
    if (isOpen && isBroken) {
      member.become('leaving');
      member.connection.destroy();
    } else if (isOpen) {
      this.#reset(member);
    }
    if (hasNext) this.#owner.pump();
  }

  /** @param {Member} member that is closed, though somebody may still have it */
  onClosed(member) {
    this.#endLoan(member);
  }

  /** @param {Member} member whose borrower has no connection from now on @returns {boolean} as #giveUpPlace() */
  #endLoan(member) {
    const { borrower } = member;
    member.borrower = undefined;
    return borrower !== undefined && this.#giveUpPlace(borrower);
  }

  /** @param {Member} member */
  async #reset(member) {
    // Nobody is to wait behind what the borrower has left in flight.
    await member.connection.whenQuiet();
    const isUsable = await member.reset(this.#owner.hasSetUp());
    if (this.#connections.members.has(member)) this.#putBack(member, isUsable);
  }

  /** @param {Member} member @param {boolean} isUsable */
  #putBack(member, isUsable) {
    member.endLoan();
    const { borrowers, queries } = this.#waiting;
    const isDone = member.isSpent || member.hasOutlived(performance.now());
    if (!isUsable || isDone || this.#connections.isOneTooMany) {
      this.#connections.retire(member);
    } else if (borrowers.oldestSince < queries.oldestSince && !lock.isHeld) {
      // Straight to the next one: under load that is the rule, and connections that are shared have their own order.
      const next = /** @type {Borrower} */ (borrowers.shift());
      this.#lendOut(member, next);
      next.onGranted(member);
      if (this.#connections.shared.length === 0 && borrowers.length + queries.length === 0) return;
    } else {
      this.#connections.share(member);
    }
    this.#owner.pump();
  }
}

module.exports = { Lender };
