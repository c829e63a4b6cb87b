'use strict';

// What the client of a lease has in the place of a connection. The lease floats: it holds no connection, and statements
// that are the same in each session go where queries of the pool go. With the first other statement it is pinned: it
// gets a connection alone, and keeps it until it is released (docs/pooling-and-pipelining.md). Made by leases.js.

const { ConnectionError, DatabaseError, StatementRefusedError } = require('../base');
const { eventsOf } = require('../client');

/**
 * @typedef {import('../query').Query} Query
 * @typedef {import('../query').Batch} Batch
 * @typedef {import('./member').Member} Member
 */

/** PQTransactionStatusType; -1: not known. */
const IDLE = 0;
const NOT_KNOWN = -1;

const CANCELED = {
  S: 'ERROR',
  V: 'ERROR',
  C: '57014',
  M: 'canceling statement due to user request',
};

/** What is known of the session of a lease: see connection/session-state.js. */
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

class LeaseConnection {
  session = new LeaseSession(this);
  /** Whose connection it is pinned to. @type {Member | undefined} */
  member = undefined;
  #leases;
  /** @type {import('../client').ClientEvents} of its client */
  #events;
  /** The statement that floats now; never two, since they might overtake each other. @type {Query | undefined} */
  floating = undefined;
  /** Resolves when the server is done with the write that floats, but was given up. @type {Promise<void> | undefined} */
  #givenUp = undefined;
  /** Whether a write that has floated may have called nextval(). */
  #hasAdvanced = false;
  /** Statements that wait for the one in flight, or for a connection. @type {(Query | Batch)[]} */
  #waiting = [];
  #isPinning = false;
  #isReleased = false;
  #isBroken = false;
  /** @type {'ready' | 'ending' | 'closed'} */
  #state = 'ready';
  /** Whether its connection keeps the process alive, if its client has said so. @type {boolean | undefined} */
  #isLoopRef = undefined;
  /** @type {(() => void)[]} */
  #servedWaiters = [];
  /** Who wants to know that a statement has a connection. @type {{ query: Query, callback: () => void } | undefined} */
  #acceptance = undefined;
  // Its place among the leases (lease-order.js).

  /** @type {LeaseConnection | undefined} */
  older = undefined;
  /** @type {LeaseConnection | undefined} */
  younger = undefined;
  /** Whether it may be pinned. */
  isOld = false;
  /** Set while it waits until it is. @type {import('./leases').Turn | undefined} */
  turn = undefined;
  /** In the pool's line of those who wait for a connection. @type {import('./waiting-room').Borrower | undefined} */
  borrower = undefined;

  /**
   * @param {import('./leases').Leases} leases
   * @param {import('../client').ClientEvents} events
   */
  constructor(leases, events) {
    this.#leases = leases;
    this.#events = events;
  }

  // --- What a client asks of its connection ---------------------------------------

  get state() {
    return this.member?.connection.state ?? this.#state;
  }

  get hasFailed() {
    return this.member?.connection.hasFailed ?? false;
  }

  get isEncrypted() {
    return (this.member ?? this.#leases.anyMember)?.connection.isEncrypted ?? false;
  }

  get inFlight() {
    const own = this.#waiting.length + (this.floating === undefined ? 0 : 1);
    return own + (this.member?.connection.inFlight ?? 0);
  }

  /** Of the server's backend; 0 if it has none and cannot get one at once. */
  get processID() {
    const isFree = this.member === undefined && this.#state === 'ready' && !this.#isReleased;
    if (isFree && this.inFlight === 0 && !this.#isPinning) {
      const member = this.#leases.pinNow(this);
      if (member !== undefined) this.#settleOn(member);
    }
    return this.member?.connection.processID ?? 0;
  }

  /** @param {string} name */
  parameterStatus(name) {
    return (this.member ?? this.#leases.anyMember)?.connection.parameterStatus(name) ?? null;
  }

  /** @param {boolean} ref */
  setLoopRef(ref) {
    this.#isLoopRef = ref;
    this.member?.connection.setLoopRef(ref);
  }

  /** @param {Query} query */
  submit(query) {
    if (!this.#pass(query)) return;
    const isNext = this.floating === undefined && !this.isWaiting;
    if (isNext && this.#leases.mayFloat(query, this.#events)) this.#float(query);
    else this.#wait(query);
  }

  /** @param {Batch} batch */
  submitBatch(batch) {
    if (this.#pass(batch)) this.#wait(batch);
  }

  /** @param {string} text that asks for types @returns {Promise<import('../rows').Result>} */
  ask(text) {
    return this.member === undefined ? this.#leases.ask(text) : this.member.connection.ask(text);
  }

  /** @param {Query} query @param {() => void} callback is called when it is on a connection of its own */
  whenAccepted(query, callback) {
    // Only of a statement with nothing before it.
    if (this.#waiting.includes(query)) this.#acceptance = { query, callback };
    else callback();
  }

  /**
   * @param {Query | Batch} work
   * @param {import('../base').QueryAbortedError} reason
   */
  abort(work, reason) {
    const index = this.#waiting.indexOf(work);
    if (index >= 0) {
      this.#waiting.splice(index, 1);
      work.reject(reason);
      if (!this.isWaiting) this.#stopPinning();
      this.#tellServed();
    } else {
      if (work === this.floating && !work.isSettled) this.#giveUp(this.floating);
      this.#leases.abort(work, reason);
    }
  }

  /** A write that was sent may still be done: what the client sends next must not overtake it. @param {Query} query */
  #giveUp({ info, connection }) {
    if (info.effect === 'read' || connection === undefined) return;
    // Behind it in the pipeline.
    this.#givenUp = connection.ask('').then(ignore, ignore);
  }

  /** Cancels what runs now. @returns {Promise<void>} */
  async cancel() {
    // The signal would hit neighbours.
    if (this.floating !== undefined) {
      const error = /** @type {any} */ (new DatabaseError(CANCELED));
      this.abort(this.floating, error);
    }
    await this.member?.connection.cancel();
  }

  /** Finishes what is in flight, then closes. @returns {Promise<void>} */
  async end() {
    if (this.#state === 'ready') this.#state = 'ending';
    while (this.isWaiting || this.floating !== undefined) await this.whenServed();
    if (this.member !== undefined) await this.member.connection.end();
    else this.#close();
  }

  destroy() {
    this.#rejectWaiting();
    if (this.member !== undefined) this.member.connection.destroy();
    else this.#close();
  }

  // --- Floating and pinned --------------------------------------------------------

  /** Whether something waits for a connection, or for what floats before it. */
  get isWaiting() {
    return this.#waiting.length > 0;
  }

  /** Resolves when something that it waits for has come; then there may be more. @returns {Promise<void>} */
  whenServed() {
    if (!this.isWaiting && this.floating === undefined) return Promise.resolve();
    return new Promise((resolve) => {
      this.#servedWaiters.push(resolve);
    });
  }

  #tellServed() {
    for (const resolve of this.#servedWaiters.splice(0)) resolve();
  }

  /**
   * @param {Query | Batch} work
   * @returns {boolean} whether it is still to be decided what becomes of it
   */
  #pass(work) {
    if (this.#hasAdvanced && this.#leases.asksSequences(work)) work.reject(sequenceError());
    else if (this.member !== undefined) send(this.member, work);
    else if (this.#state !== 'ready' || this.#isBroken) work.reject(closedError());
    // What came before its release may still wait: the rest stays behind it.
    else if (this.#isReleased && !this.isWaiting) this.#leases.runReleased(work);
    else return true;
    return false;
  }

  /** @param {Query} query */
  #float(query) {
    this.floating = query;
    if (query.info.mayAdvance) this.#hasAdvanced = true;
    query.onceSettled(() => {
      if (this.#givenUp === undefined) this.#onFloated();
      else this.#givenUp.then(() => this.#onFloated());
    });
    this.#leases.float(query);
  }

  #onFloated() {
    this.floating = undefined;
    this.#givenUp = undefined;
    this.#events.onSettled();
    if (this.isWaiting) this.#pin();
    else this.#tellServed();
  }

  /** @param {Query | Batch} work */
  #wait(work) {
    this.#waiting.push(work);
    work.defaultLimit?.pause();
    if (this.floating === undefined) this.#pin();
  }

  #pin() {
    if (this.#isPinning) return;
    const idle = this.#leases.pinNow(this);
    if (idle !== undefined) {
      this.#onPinned(idle);
      return;
    }
    this.#isPinning = true;
    this.#leases.pin(this).then(
      (member) => this.#onPinned(member),
      (error) => this.#onRefused(error),
    );
  }

  #stopPinning() {
    if (this.#isPinning && this.#leases.stopPinning(this)) this.#isPinning = false;
  }

  #rejectWaiting() {
    for (const work of this.#waiting.splice(0)) work.reject(closedError());
    this.#stopPinning();
    this.#tellServed();
  }

  /** @param {Member} member */
  #onPinned(member) {
    this.#isPinning = false;
    // What it was for may have been given up; and what came since then waits for a read.
    if (!this.isWaiting || this.floating !== undefined) {
      this.#leases.takeBack(member, false);
    } else {
      const works = this.#waiting.splice(0);
      this.#settleOn(member);
      for (const work of works) {
        if (work.isSettled) continue;
        work.defaultLimit?.restart();
        send(member, work);
        if (this.#acceptance?.query === work) this.#acceptance.callback();
      }
      if (this.#isReleased) this.#letGo();
    }
    this.#tellServed();
  }

  /** @param {Error} error why it got no connection */
  #onRefused(error) {
    this.#isPinning = false;
    for (const work of this.#waiting.splice(0)) work.reject(this.#leases.copy(error));
    this.#tellServed();
  }

  /** @param {Member} member */
  #settleOn(member) {
    this.member = member;
    eventsOf(member.client).face = this.#events.face;
    if (this.#isLoopRef !== undefined) member.connection.setLoopRef(this.#isLoopRef);
  }

  /** Its client was released. @param {boolean} isBroken its connection, if it has one, is not to be used again */
  release(isBroken) {
    this.#isReleased = true;
    this.#isBroken = isBroken;
    if (this.member !== undefined) this.#letGo();
    else if (isBroken) this.#rejectWaiting();
  }

  #letGo() {
    const member = /** @type {Member} */ (this.member);
    this.member = undefined;
    // The end of a connection that is closed now is still reported as that of the client.
    if (!this.#isBroken) eventsOf(member.client).dropFace();
    this.#leases.takeBack(member, this.#isBroken);
  }

  #close() {
    if (this.#state === 'closed') return;
    this.#state = 'closed';
    this.#events.onClosed();
  }
}

/** @param {Member} member @param {Query | Batch} work */
function send({ connection }, work) {
  if ('members' in work) connection.submitBatch(work);
  else connection.submit(work);
}

function sequenceError() {
  return new StatementRefusedError(
    'lastval() and currval() answer for the session of the last nextval(), and a write that called it has run on a ' +
      "shared connection (multiplex: 'all'). Use RETURNING in the write, or set multiplex: 'reads'",
  );
}

function ignore() {}

function closedError() {
  return new ConnectionError('Client was closed and is not queryable');
}

module.exports = { LeaseConnection };
