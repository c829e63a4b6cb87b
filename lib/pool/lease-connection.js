'use strict';

// What the client of a lease has in the place of a connection. The lease floats: it holds no connection, and statements
// that are the same in each session go where queries of the pool go. With the first other statement it is pinned: it
// gets a connection alone, until it is released, or a transaction is proved to have left nothing in the session (pin.js).
// Made by leases.js.

const { ConnectionError, copyError } = require('../base');
const { eventsOf } = require('../client');
const { Profile } = require('../statements');
const { canceledError, Float } = require('./float');
const { answerTags } = require('./known-settings');
const { LastValues } = require('./last-values');
const { LeaseFace } = require('./lease-face');
const { LeaseSession } = require('./lease-session');
const { Pin } = require('./pin');
const { isOwn, RefusedBegin } = require('./refused-begin');

/**
 * @typedef {import('../query').Query} Query
 * @typedef {import('../query').Batch} Batch
 * @typedef {import('./member').Member} Member
 */

class LeaseConnection extends LeaseFace {
  session = new LeaseSession(this);
  /** Set while it has a connection alone. @type {Pin | undefined} */
  #pin = undefined;
  /** What its client has set of its session, if another connection may be given that. @type {Profile | undefined} */
  #profile = undefined;
  #leases;
  /** @type {import('../client').ClientEvents} of its client */
  #events;
  #float = new Float();
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
  #lastValues = new LastValues();
  #refusedBegin = new RefusedBegin();

  /**
   * @param {import('./leases').Leases} leases
   * @param {import('../client').ClientEvents} events
   */
  constructor(leases, events) {
    super(leases);
    this.#leases = leases;
    this.#events = events;
  }

  /** @override @returns {Member | undefined} */
  get member() {
    return this.#pin?.member;
  }

  // --- What a client asks of its connection ---------------------------------------

  /** The statement that floats now. */
  get floating() {
    return this.#float.query;
  }

  get state() {
    return this.member?.connection.state ?? this.#state;
  }

  get inFlight() {
    const own = this.#waiting.length + (this.floating === undefined ? 0 : 1);
    return own + (this.member?.connection.inFlight ?? 0);
  }

  /** Of the server's backend; 0 if it has none and cannot get one at once. */
  get processID() {
    const isFree = this.member === undefined && this.#state === 'ready' && !this.#isReleased;
    if (isFree && this.inFlight === 0 && !this.#isPinning) {
      this.#leases.rank(this);
      const member = this.#leases.pinNow(this);
      // Whoever knows the backend means this session.
      if (member !== undefined) this.#settleOn(member).isForSession = true;
    }
    if (this.#pin !== undefined) this.#pin.isForSession = true;
    return this.member?.connection.processID ?? 0;
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
    if (isNext && this.#leases.mayFloat(query, this.#events)) this.#sendFloating(query);
    else if (!isNext || !this.#make(query)) this.#wait(query);
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
      this.#refusedBegin.giveUp(work, reason, this.#waiting, index);
      work.reject(reason);
      if (!this.isWaiting) this.#stopPinning();
      this.#tellServed();
    } else if (this.member !== undefined && work.connection === this.member.connection) {
      // The pool does not take that away from whoever has it.
      this.member.connection.abort(work, reason);
    } else {
      if (work === this.floating) this.#float.giveUp();
      this.#leases.abort(work, reason);
    }
  }

  /**
   * Rejects what waits for a connection of a transaction().
   * @param {Query} begin its first statement
   * @param {Error} reason
   */
  withdraw(begin, reason) {
    const index = this.#waiting.indexOf(begin);
    if (index < 0) return;
    const works = this.#waiting.splice(index);
    if (!this.isWaiting) this.#stopPinning();
    for (const work of works) {
      if (work.isInTransaction || isOwn(work)) work.reject(copyError(reason));
      // Its client was released.
      else this.#leases.runReleased(work);
    }
    this.#tellServed();
  }

  /** Cancels what runs now. @returns {Promise<void>} */
  async cancel() {
    // The signal would hit neighbours.
    if (this.floating !== undefined) {
      this.abort(this.floating, /** @type {any} */ (canceledError()));
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

  /** As of a connection: what floats among others is finished. @returns {Promise<void>} */
  async terminate() {
    if (this.member === undefined || this.isWaiting) await this.end();
    else await this.member.connection.terminate();
  }

  destroy() {
    this.#rejectWaiting();
    if (this.member !== undefined) this.member.connection.destroy();
    else this.#close();
  }

  /** @param {Error} reason */
  cut(reason) {
    if (this.member === undefined) this.destroy();
    else this.member.connection.cut(reason);
  }

  /** Resolves when nothing of its client is in flight. */
  async whenQuiet() {
    while (this.isWaiting || this.floating !== undefined) await this.whenServed();
    await this.member?.connection.whenQuiet();
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
    if (this.#refusedBegin.settle(work)) return false;
    if (this.#pin !== undefined) {
      this.#send(this.#pin, work);
      return false;
    }
    const refusal = this.#lastValues.refuse(work, this.#leases.registry);
    if (refusal !== undefined) work.reject(refusal);
    else if (this.#state !== 'ready' || this.#isBroken) work.reject(closedError());
    // What came before its release may still wait: the rest stays behind it.
    else if (this.#isReleased && !this.isWaiting) this.#leases.runReleased(work);
    else return true;
    return false;
  }

  /** @param {Query} query */
  #sendFloating(query) {
    query.profile = this.#profile;
    this.#float.hear(query, this.#events);
    // It may be anywhere.
    if (query.info.mayAdvance) this.#lastValues.leaveAt();
    this.#float.begin(query, () => this.#onFloated());
    this.#leases.float(query);
  }

  #onFloated() {
    this.#events.onSettled();
    if (this.isWaiting) this.#askForPin();
    else this.#tellServed();
  }

  /**
   * Settings that have succeeded before are not executed again: whichever connection is used next gets them.
   * @param {Query | Batch} work
   * @returns {boolean} whether it makes such settings
   */
  #make(work) {
    const settings = this.#leases.findSettings(work);
    if (settings === undefined) return false;
    this.#profile = Profile.change(this.#profile, settings);
    answerTags(
      work,
      settings.map(({ tag }) => tag),
    );
    return true;
  }

  /** What it waits to make is known by now. */
  makeKnownSettings() {
    if (!this.isWaiting || this.#pin !== undefined || this.floating !== undefined) return;
    while (this.isWaiting && this.#make(this.#waiting[0])) this.#waiting.shift();
    if (this.isWaiting) return;
    this.#stopPinning();
    this.#tellServed();
  }

  /** @param {Query | Batch} work */
  #wait(work) {
    this.#waiting.push(work);
    work.defaultLimit?.pause();
    if (this.floating === undefined) this.#askForPin();
  }

  #askForPin() {
    if (this.#isPinning) return;
    this.#leases.rank(this);
    const { member } = this.#lastValues;
    const again = member && this.#leases.pinNow(this, member);
    const idle = again ?? this.#leases.pinNow(this);
    if (idle !== undefined) {
      this.onGranted(idle);
      return;
    }
    this.#isPinning = true;
    this.#leases.pin(this);
  }

  #stopPinning() {
    if (!this.#isPinning) return;
    this.#isPinning = false;
    this.#leases.stopPinning(this);
  }

  #rejectWaiting() {
    for (const work of this.#waiting.splice(0)) work.reject(closedError());
    this.#stopPinning();
    this.#tellServed();
  }

  /** @override @param {Member} member */
  onGranted(member) {
    this.#isPinning = false;
    const works = this.#waiting.splice(0);
    const pin = this.#settleOn(member);
    for (const work of works) {
      if (work.isSettled) continue;
      work.defaultLimit?.restart();
      this.#send(pin, work);
      if (this.#acceptance?.query === work) this.#acceptance.callback();
    }
    if (this.#isReleased) this.#letGo(pin);
    this.#tellServed();
  }

  /** @override @param {Error} error why it gets no connection */
  onRefused(error) {
    this.#isPinning = false;
    const works = this.#waiting.splice(0);
    this.#refusedBegin.note(works, error);
    for (const work of works) {
      // Under overload many are refused: a stack trace for each would cost more than serving them.
      work.isInCall = false;
      work.reject(this.#leases.copy(error));
    }
    this.#tellServed();
    // Whoever never releases it must not keep its place for ever. Who sends something at once keeps it.
    setImmediate(() => {
      if (!this.isWaiting && this.#pin === undefined) this.#leases.unrank(this);
    });
  }

  /** @param {Member} member */
  #settleOn(member) {
    /** @param {import('../statements').Setting[]} settings @param {string} text */
    const onSettings = (settings, text) => {
      this.#profile = Profile.change(this.#profile, settings);
      member.connection.profile.current = this.#profile;
      this.#leases.learnSettings(text, settings);
    };
    this.#pin = new Pin(member, this.#leases, onSettings);
    member.connection.profile.adopt(this.#profile);
    this.#pin.hasLastValues = this.#lastValues.member === member;
    // Who asks gets an error of the server, and not what others have left there.
    if (this.#leases.areSequencesAsked && !this.#pin.hasLastValues) {
      member.connection.profile.forgetSequences();
    }
    ++this.#leases.pinnedCount;
    eventsOf(member.client).face = this.#events.face;
    if (this.#isLoopRef !== undefined) member.connection.setLoopRef(this.#isLoopRef);
    return this.#pin;
  }

  /** @param {Pin} pin @param {Query | Batch} work */
  #send(pin, work) {
    const refusal = this.#lastValues.refuse(work, this.#leases.registry, pin);
    if (refusal !== undefined) {
      work.reject(refusal);
      return;
    }
    const part = pin.note(work);
    if (part === 'end') pin.isOver = true;
    if (part !== 'none' && (pin.isOver || this.#leases.areLasting)) {
      work.onceSettled(() => this.#leases.unpinSoon(this));
    }
    const { connection } = pin.member;
    if ('members' in work) connection.submitBatch(work);
    else connection.submit(work);
  }

  /** Its connection may have become needless. */
  unpin() {
    const pin = this.#pin;
    if (pin === undefined || this.#isReleased || this.#state !== 'ready' || !pin.isIdle) return;
    // What asks the lease for its connection now, waits for it.
    if (this.isWaiting || this.#servedWaiters.length > 0 || !pin.isTraceless) return;
    // It keeps its place among those who may be pinned.
    pin.member.borrower = undefined;
    this.#letGo(pin);
  }

  /** Its client was released. @param {boolean} isBroken its connection, if it has one, is not to be used again */
  release(isBroken) {
    this.#isReleased = true;
    this.#isBroken = isBroken;
    if (this.#pin !== undefined) this.#letGo(this.#pin);
    else if (isBroken) this.#rejectWaiting();
  }

  /** @param {Pin} pin */
  #letGo(pin) {
    const { member } = pin;
    this.#pin = undefined;
    // The session is as it was, apart from the settings that the connection knows of.
    if (pin.isIdle && pin.isTraceless) {
      member.connection.session.hasTouchedSession = false;
      if (pin.hasAdvanced) this.#lastValues.leaveAt(member);
    }
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

function closedError() {
  return new ConnectionError('Client was closed and is not queryable');
}

module.exports = { closedError, LeaseConnection };
