'use strict';

// One connection: accepts queries, keeps track of what is in flight, and settles it. The native
// Pipeline owns the order; here queries are known by their slots. Made by client.js.

const { afterDelivery, lock, StatementRefusedError } = require('../base');
const { binding, entriesOf, entryAt, newConnectionId, removeConnection } = require('../native');
const { findUnsendable, outcome } = require('../query');
const { Answers } = require('./answers');
const { Canceller } = require('./canceller');
const { copyAmongError, silentError } = require('./errors');
const { Lifecycle } = require('./lifecycle');
const { ConnectionLoad } = require('./load');
const { NativeEvents } = require('./native-events');
const { Outbox } = require('./outbox');
const { OwnDeadline, ownQuery } = require('./own-statements');
const { Replication } = require('./replication');
const { SessionState } = require('./session-state');
const { Unwanted } = require('./unwanted');

/**
 * @typedef {import('../query').Query} Query
 * @typedef {import('../query').Batch} Batch
 * @typedef {import('./native-events').Owner} Owner
 */

class Connection {
  load = new ConnectionLoad();
  /** Whether several callers share it: statements that change the session are refused then. */
  isShared = false;
  processID = 0;
  serverVersion = 0;
  /** Queries that were settled since it was connected. */
  settled = 0;

  #owner;
  #registry;
  /** @type {import('../native').NativeConnection} */
  #native;
  #outbox;
  #lifecycle;

  /**
   * @param {import('../options').Settings} settings
   * @param {import('../statements').StatementRegistry} registry
   * @param {Owner} owner
   */
  constructor(settings, registry, owner) {
    this.#registry = registry;
    this.#owner = owner;
    this.id = newConnectionId();
    this.#native = new binding.Connection(this.id);
    /** For the driver's own statements. */
    this.ownDeadline = new OwnDeadline(
      this,
      () => this.#native.head(),
      settings.query_timeout,
      (text, millis) => this.#lifecycle.endUnanswered(silentError(text, millis)),
    );
    this.replication = settings.conninfo.replication ? new Replication() : undefined;
    this.session = new SessionState(this, () => this.#outbox.learnTransactionStatus());
    this.#outbox = new Outbox(this, settings, registry);
    this.#lifecycle = new Lifecycle(this, this.#native, this.#outbox, owner, settings);
    this.events = new NativeEvents(this, this.#lifecycle, owner);
    this.canceller = new Canceller(this, this.#native, this.#outbox);
    this.unwanted = new Unwanted(this, this.#outbox);
    this.answers = new Answers(this, this.#outbox, owner, registry.catalog);
  }

  get state() {
    return this.#lifecycle.state;
  }

  counters() {
    return this.#native.counters();
  }

  /** @param {string} name @returns {string | null} what the server has reported */
  parameterStatus(name) {
    return this.#native.parameterStatus(name);
  }

  get isEncrypted() {
    return this.#native.isEncrypted();
  }

  /** The address and port, or the socket, that it leads to; empty if that is not known. */
  get serverAddress() {
    return this.#native.serverAddress();
  }

  /** Whether it could not be made, or was lost. */
  get hasFailed() {
    return this.#lifecycle.endReason.failure !== undefined;
  }

  /** Queries that were submitted and not settled. */
  get inFlight() {
    return this.load.inFlight;
  }

  /** What was submitted and is not settled, and what the driver asks itself: a search, for what is rare. @returns {any[]} */
  get unsettled() {
    return [...entriesOf(this), ...this.#outbox.held];
  }

  /** What the server is to answer next, if it is known. @returns {Query | undefined} one of its group */
  get head() {
    const head = this.state === 'closed' ? undefined : this.#native.head();
    const entry = /** @type {any} */ (head && entryAt(head.slot));
    return entry?.members?.[0] ?? entry;
  }

  /** The statements that are prepared on it. */
  get statements() {
    return this.#outbox.statements.cache;
  }

  /** The settings of whoever uses it. @returns {import('./session-profile').SessionProfile} */
  get profile() {
    return this.#outbox.profile;
  }

  /** @param {boolean} ref whether the connection keeps the process alive */
  setLoopRef(ref) {
    this.#lifecycle.setLoopRef(ref);
  }

  /** @param {boolean} enable @param {number} idleSeconds before the first one; 0: as it was */
  setKeepAlive(enable, idleSeconds) {
    this.#native.setKeepAlive(enable, idleSeconds);
  }

  // --- Connecting -----------------------------------------------------------

  /**
   * @returns {Promise<void>}
   * @throws {ConnectionError | DatabaseError}
   */
  connect() {
    return this.#lifecycle.connect();
  }

  /**
   * In the place of connect(), for a client that is to share the connections of others.
   * @param {Promise<boolean>} proof that they are there, and whether it may
   * @param {import('./joining').MoveOut} moveOut is called if it may; this connection is closed then, without a word
   * @returns {Promise<void>}
   */
  join(proof, moveOut) {
    return this.#lifecycle.join(proof, moveOut);
  }

  // --- Queries --------------------------------------------------------------

  /**
   * Sends a query, or rejects it. Its promise settles at its Sync.
   * @param {Query} query
   */
  submit(query) {
    query.connection = this;
    if (lock.isHeld) {
      this.#whenUnlocked(() => query.isSettled || this.submit(query));
      return;
    }
    if (!this.#lifecycle.isOpen) {
      query.reject(this.#lifecycle.endReason.closedError());
      return;
    }
    if (query.isOwn) {
      this.ownDeadline.watch();
      this.unwanted.addOwn(query);
    }
    const info = query.identify(this.#registry);
    const { kind, refusal } = info.class;
    // The server takes nothing but the simple protocol on a connection for replication.
    const isSimple = info.isSeveral || this.replication !== undefined;
    const isOne = !isSimple || query.parameters.length > 0 || query.isStreamed || query.isExtended;
    if ((!isOne || query.isCopy) && !this.isShared) {
      // Detected later, the statements in front of the COPY might be committed already.
      if (info.hasCopyAmong && !query.isCopy) query.reject(copyAmongError());
      else this.submitSimple(query);
      return;
    }
    if (kind === 'copy' || (this.isShared && kind !== 'plain' && kind !== 'alone')) {
      query.reject(new StatementRefusedError(String(refusal)));
      return;
    }
    this.#expect(query);
    this.#outbox.submit(query);
  }

  /** @param {string} text of the driver's own @returns {Promise<import('../rows').Result>} */
  ask(text) {
    const query = ownQuery(text);
    this.submit(query);
    return query.promise;
  }

  /** As a lease has it, which may have to wait for a connection. @param {Query} _query @param {() => void} callback */
  whenAccepted(_query, callback) {
    callback();
  }

  /** Sends a text of several statements by the simple protocol. @param {Query} query */
  submitSimple(query) {
    const nul = findUnsendable(query.text, []);
    if (nul !== undefined) {
      query.reject(nul);
      return;
    }
    query.results = [];
    query.runsSolo = true;
    this.#expect(query);
    this.#outbox.submit(query);
  }

  /** @param {number} slot @param {number} flags @param {string} text */
  runSimple(slot, flags, text) {
    this.#native.simple(slot, flags, text);
  }

  /** @param {string} [message] makes the COPY fail */
  endCopy(message) {
    return message === undefined ? this.#native.endCopy() : this.#native.endCopy(message);
  }

  /** @param {boolean} reading false makes the server stop, by back-pressure */
  setReading(reading) {
    if (this.state !== 'closed') this.#native.setReading(reading);
  }

  /** @param {Uint8Array} data */
  putCopyData(data) {
    return this.#native.putCopyData(data);
  }

  /**
   * Sends all of a batch, or rejects it.
   * @param {Batch} batch
   */
  submitBatch(batch) {
    batch.connection = this;
    if (lock.isHeld) {
      this.#whenUnlocked(() => batch.isSettled || this.submitBatch(batch));
      return;
    }
    for (const query of batch.members) query.connection = this;
    if (!this.#lifecycle.isOpen) {
      batch.reject(this.#lifecycle.endReason.closedError());
    } else if (batch.members.length > 0 && batch.admit(this.#registry, this.isShared)) {
      for (const query of batch.members) this.#expect(query);
      this.#outbox.submitBatch(batch);
    }
  }

  /** @param {Query} query that will be sent */
  #expect({ info }) {
    ++info.uses;
    this.session.expect(info);
  }

  /** @param {() => void} write writes a statement of the driver's own, which no caller waits for */
  whenPipelining(write) {
    this.#outbox.whenPipelining(write);
  }

  /** @param {readonly Query[]} queries that could not be written @param {Error} error */
  onUnwritten(queries, error) {
    for (const query of queries) {
      this.forget(query);
      query.reject(error);
    }
    this.afterSettling();
  }

  // --- Cancelling and closing -------------------------------------------------

  /**
   * Cancels what runs now, if anything does.
   * @returns {Promise<void>} resolves when others may use the connection
   */
  cancel() {
    return lock.isHeld ? this.#whenUnlocked(() => this.cancel()) : this.canceller.cancel();
  }

  /**
   * Resolves when nothing is in flight and no cancel is under way, or it is closed.
   * @returns {Promise<void>}
   */
  async whenQuiet() {
    while (this.state !== 'closed') {
      if (this.canceller.current !== undefined) await this.canceller.current.done;
      else if (this.inFlight > 0) await this.load.whenIdle();
      else return;
    }
  }

  /**
   * The caller no longer waits for it.
   * @param {Query | Batch} work
   * @param {import('../base').QueryAbortedError} reason
   * @param {() => void} [leave] of a pool that goes on without this connection if the work was sent
   */
  abort(work, reason, leave) {
    if (lock.isHeld) this.#whenUnlocked(() => work.isSettled || this.abort(work, reason, leave));
    else this.unwanted.abort(work, reason, leave);
  }

  /**
   * Finishes what is in flight, then closes.
   * @returns {Promise<void>} resolves when the server has ended the session
   */
  end() {
    return lock.isHeld ? this.#whenUnlocked(() => this.end()) : this.#lifecycle.end();
  }

  /** As end(), but what is in flight is rejected. @returns {Promise<void>} */
  terminate() {
    return lock.isHeld ? this.#whenUnlocked(() => this.terminate()) : this.#lifecycle.terminate();
  }

  /**
   * Closes now. What is in flight is rejected; its outcome is 'unknown', unless it certainly did
   * not begin.
   */
  destroy() {
    if (lock.isHeld) this.#whenUnlocked(() => this.destroy());
    else this.#lifecycle.destroy();
  }

  /**
   * Postpones what a user's parser requests in the middle of a delivery, or while commands are
   * written.
   * @template T
   * @param {() => T} action
   * @returns {Promise<Awaited<T>>}
   */
  #whenUnlocked(action) {
    return new Promise((resolve) => {
      afterDelivery(() => resolve(/** @type {any} */ (action())));
    });
  }

  /**
   * As if the connection were lost now: whoever has it is told so.
   * @param {Error} reason of what is in flight, and of all that follows
   */
  cut(reason) {
    if (lock.isHeld) this.#whenUnlocked(() => this.cut(reason));
    else this.#lifecycle.cut(reason);
  }

  // --- Loss ---------------------------------------------------------------------

  /**
   * The query or its Sync could not be sent: the connection is gone.
   * @param {Query} query
   * @param {import('../base').Outcome} [told]
   */
  onNotSent(query, told = 'not-run') {
    this.forget(query);
    const error = this.#lifecycle.endReason.unsentError();
    outcome.restrict(error, told);
    query.reject(error);
    this.#owner.onSettled();
  }

  /** Everything in it ends with it. */
  onClosed() {
    this.session.end();
    this.#outbox.statements.lost();
    removeConnection(this.events);
    this.unwanted.stop();
    this.ownDeadline.stop();
    this.canceller.end();
    this.load.tellIdle();
  }

  // --- Bookkeeping ------------------------------------------------------------

  /** @param {Query} query that is settled */
  forget(query) {
    this.unwanted.delete(query);
    this.load.remove(query);
    ++this.settled;
    this.#outbox.forget(query);
    this.replication?.end(query);
  }

  /** @param {number} millis of the shortest one so far */
  onRoundTrip(millis) {
    this.load.roundTripMillis = millis;
    this.#outbox.turns.greeted();
    this.resume();
  }

  /** What is held back may be sent now. */
  resume() {
    if (this.#outbox.isHolding) afterDelivery(() => this.#outbox.sendHeld());
  }

  /** How many queries may be in flight at a time. */
  get maxInFlight() {
    return this.#outbox.turns.limit;
  }

  afterSettling() {
    this.unwanted.watch();
    this.resume();
    this.canceller.advance();
    if (this.inFlight === 0) {
      this.#lifecycle.onIdle();
      this.load.tellIdle();
    }
    this.#owner.onSettled();
  }
}

module.exports = { Connection };
