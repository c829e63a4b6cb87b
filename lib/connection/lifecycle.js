'use strict';

// The life of one connection, from the handshake until it is closed, and what becomes of queries
// that it leaves without an answer. Owned by connection.js.

const { afterDelivery } = require('../base');
const { addConnection } = require('../native');
const { membersOf, traceConnect } = require('../query');
const { noteSilent } = require('./addresses');
const { EndReason } = require('./end-reason');
const { Farewell } = require('./farewell');
const { settingError, terminatedError } = require('./errors');
const { Handshake } = require('./handshake');
const { Joining } = require('./joining');
const { StandIn } = require('./stand-in');
const { Turns } = require('./turns');

/**
 * @typedef {import('../query').Query} Query
 * @typedef {import('../query').Batch} Batch
 */

class Lifecycle {
  endReason = new EndReason();
  /** @type {'new' | 'connecting' | 'ready' | 'ending' | 'closed'} */
  #state = 'new';
  #connection;
  #native;
  #outbox;
  #owner;
  #settings;
  /** @type {Handshake | Joining | undefined} */
  #handshake = undefined;
  #isLoopRef = true;
  /** @type {import('./socket-pump').SocketPump | undefined} */
  #pump = undefined;
  /** @type {StandIn | undefined} */
  #standIn = undefined;
  /** @type {(() => void)[]} */
  #whenClosed = [];
  /** Of a connection that this side has closed in peace. @type {Farewell | undefined} */
  #farewell = undefined;

  /**
   * @param {import('./connection').Connection} connection
   * @param {import('../native').NativeConnection} native
   * @param {import('./outbox').Outbox} outbox
   * @param {import('./native-events').Owner} owner
   * @param {import('../options').Settings} settings
   */
  constructor(connection, native, outbox, owner, settings) {
    this.#connection = connection;
    this.#native = native;
    this.#outbox = outbox;
    this.#owner = owner;
    this.#settings = settings;
  }

  get state() {
    return this.#state;
  }

  /** Whether queries are accepted; those submitted before it is connected wait until it is. */
  get isOpen() {
    return this.#state === 'ready' || this.#state === 'connecting' || this.#state === 'new';
  }

  /** @param {boolean} ref whether the connection keeps the process alive */
  setLoopRef(ref) {
    // A pool says it at each checkout.
    if (ref === this.#isLoopRef) return;
    this.#isLoopRef = ref;
    this.#native.setLoopRef(ref);
    this.#standIn?.show(ref);
    this.#farewell?.setLoopRef(ref);
  }

  // --- Connecting -----------------------------------------------------------

  /**
   * @returns {Promise<void>}
   * @throws {ConnectionError | DatabaseError}
   */
  async connect() {
    this.#state = 'connecting';
    addConnection(this.#connection.events);
    const onStreamFailed = (/** @type {Error} */ error) => this.#connection.cut(error);
    const handshake = new Handshake(this.#native, this.#settings, onStreamFailed);
    this.#pump = handshake.pump;
    this.#handshake = handshake;
    try {
      const { done } = handshake;
      await traceConnect(this.#settings, () => done);
    } catch (error) {
      this.#onFailed(error);
      throw error;
    }
  }

  /** @param {unknown} error */
  #onFailed(error) {
    this.endReason.failure = /** @type {Error} */ (error);
    this.#close();
  }

  /**
   * Waits until its client may share the connections of others, and gives its place up; else it connects.
   * @param {Promise<boolean>} proof
   * @param {import('./joining').MoveOut} moveOut
   * @returns {Promise<void>}
   */
  async join(proof, moveOut) {
    this.#state = 'connecting';
    const joining = new Joining(proof, this.#settings.connectionTimeoutMillis);
    this.#handshake = joining;
    let mayShare;
    try {
      mayShare = await joining.done;
      // It may have been ended just then.
      if (this.state === 'closed') throw terminatedError();
    } catch (error) {
      this.#onFailed(error);
      throw error;
    }
    if (mayShare) this.#vacate(moveOut);
    else await this.connect();
  }

  /** @param {import('./joining').MoveOut} moveOut */
  #vacate(moveOut) {
    this.#state = 'closed';
    this.#native.close();
    const works = this.#outbox.clear();
    for (const work of works) this.#forgetPlace(work);
    this.#connection.onClosed();
    moveOut(works, this.#isLoopRef);
  }

  onConnected() {
    this.#state = 'ready';
    this.#outbox.turns.begin(this.#native.lastParameters(Turns.SHOWN));
    this.#handshake?.succeed();
    afterDelivery(() => {
      if (this.#state !== 'closed') {
        this.#standIn = new StandIn(this.#native.socketFamily());
        this.#standIn.show(this.#isLoopRef);
      }
      if (this.#connection.replication === undefined) this.#outbox.formats.begin();
      this.#outbox.sendHeld();
    });
  }

  /** @param {string} message */
  onConnectFailed(message) {
    if (this.#handshake instanceof Handshake) this.#handshake.onConnectFailed(message);
  }

  /** @param {Query | Batch} work that is to be submitted elsewhere, where other things are known of its text */
  #forgetPlace(work) {
    for (const query of membersOf(work)) {
      this.#connection.forget(query);
      // @ts-expect-error as before it was submitted
      query.connection = query.info = undefined;
    }
    work.connection = undefined;
    work.expectedMillis = 0;
  }

  // --- Closing --------------------------------------------------------------

  /** @returns {Promise<void>} resolves when it is closed, and the server has ended the session */
  async #untilEnded() {
    if (this.#state !== 'closed') {
      await new Promise((resolve) => {
        this.#whenClosed.push(() => resolve(undefined));
      });
    }
    await this.#farewell?.done;
  }

  /**
   * Finishes what is in flight, then closes.
   * @returns {Promise<void>} resolves when the server has ended the session
   */
  end() {
    const ended = this.#untilEnded();
    if (this.#state === 'connecting') {
      this.#handshake?.fail(terminatedError());
      this.#bidFarewell();
    } else if (this.#state === 'new') {
      this.#close();
    } else if (this.#state !== 'closed' && this.#connection.replication?.isOn) {
      // It never finishes.
      this.destroy();
    } else if (this.#state !== 'closed') {
      this.#state = 'ending';
      this.#finish();
    }
    return ended;
  }

  /**
   * As the end() of `pg`: what is in flight is rejected. Closes now then; else as end().
   * @returns {Promise<void>}
   */
  terminate() {
    const isConnected = this.#state === 'ready' || this.#state === 'ending';
    const { inFlight, unwanted } = this.#connection;
    if (!isConnected || inFlight <= unwanted.ownInFlight) return this.end();
    const ended = this.#untilEnded();
    this.endReason.wasTerminated = true;
    this.destroy();
    return ended;
  }

  /**
   * Closes now. What is in flight is rejected; its outcome is 'unknown', unless it certainly did
   * not begin.
   */
  destroy() {
    if (this.#state === 'closed') return;
    if (this.#state === 'connecting') {
      this.#handshake?.fail(terminatedError());
      this.#close();
      return;
    }
    this.#state = 'ending';
    // What was not sent yet may go to another connection.
    this.#outbox.block();
    this.#native.close();
    if (this.#connection.inFlight === 0) this.#close();
  }

  /** As if it were lost now. @param {Error} reason */
  cut(reason) {
    if (this.#state !== 'new' && this.#state !== 'connecting') {
      this.endSilent(reason);
      return;
    }
    this.#handshake?.fail(reason);
    this.endReason.failure = reason;
    this.#close();
  }

  /** The server does not answer statements of the driver's own. @param {Error} silence */
  endUnanswered(silence) {
    noteSilent(this.#connection.serverAddress);
    this.endSilent(silence);
  }

  /** @param {Error} silence the server does not answer, say */
  endSilent(silence) {
    if (this.#state === 'closed') return;
    this.endReason.silence = silence;
    this.#state = 'ending';
    // What is in flight is settled by the loss that this reports.
    this.#native.close();
    if (this.#connection.inFlight > 0) return;
    this.endReason.failure ??= silence;
    this.#close(silence);
  }

  /** Nothing is in flight any more. */
  onIdle() {
    if (this.#state === 'ending') afterDelivery(() => this.#finish());
  }

  #finish() {
    if (this.#connection.inFlight > 0 || this.#state !== 'ending') return;
    const { silence } = this.endReason;
    if (silence === undefined) {
      this.#bidFarewell();
    } else {
      // What was in flight was settled in the delivery in which this was found out.
      this.endReason.failure ??= silence;
      this.#close(silence);
    }
  }

  /** Closes it, and looks when the server does. */
  #bidFarewell() {
    this.#farewell = new Farewell(this.#native.leave(), this.#isLoopRef);
    this.#close();
  }

  /**
   * @param {string} message
   * @param {Query[]} queries that were in flight
   */
  onLost(message, queries) {
    const { answers } = this.#connection;
    const wasEnding = this.#wasWanted;
    // The server may have sent its last error as the answer to a query.
    const cause = this.endReason.lastFatal ?? queries.find(({ wasFatal }) => wasFatal)?.error;
    for (const query of queries) {
      this.#connection.forget(query);
      query.reject(
        answers.poison !== undefined
          ? answers.poison()
          : this.endReason.lostError(
              query,
              message,
              query.error ?? cause,
              answers.doubts.ofLost(query),
              wasEnding,
            ),
      );
    }
    // With nothing in flight, the server's last error was for the connection itself.
    const told =
      queries.length === 0 ? { wasFatal: !wasEnding, error: this.endReason.lastFatal } : {};
    this.endReason.failure ??= this.endReason.lostError(told, message, cause, 'not-run', wasEnding);
    this.#close(wasEnding ? undefined : this.endReason.failure);
  }

  /** Whether this side has closed it, or is about to. */
  get #wasWanted() {
    if (this.endReason.silence !== undefined) return false;
    return this.#state === 'ending' || this.#state === 'closed';
  }

  /** @param {Error} [lost] the reason, if this side did not close it */
  #close(lost) {
    if (this.#state === 'closed') return;
    this.#state = 'closed';
    this.#standIn?.show(false);
    this.#native.close();
    this.#pump?.close();
    this.#connection.onClosed();
    for (const work of this.#outbox.clear()) this.#returnUnsent(work);
    if (lost !== undefined) this.#owner.onLost(lost);
    this.#owner.onClosed();
    for (const callback of this.#whenClosed.splice(0)) callback();
  }

  /** @param {Query | Batch} work that was still held back when the connection closed */
  #returnUnsent(work) {
    for (const query of membersOf(work)) this.#connection.forget(query);
    const { refusal } = this.#connection.profile;
    // Other connections may refuse it, too, and so on without end.
    if (refusal !== undefined && work.hasMoved) {
      work.reject(settingError(refusal, 'not-run'));
      return;
    }
    work.hasMoved = refusal !== undefined;
    if (!this.#connection.isShared || this.#owner.onUnsent?.(work) !== true) {
      work.reject(this.endReason.unsentError());
    }
  }
}

module.exports = { Lifecycle };
