'use strict';

// One connection: submits queries, keeps the books of what is in flight, and
// settles them. The native Pipeline owns the order; here queries are known by
// their slots. Made by client.js.

const {
  afterDelivery,
  callApart,
  DatabaseError,
  isFatal,
  lock,
  StatementRefusedError,
} = require('../base');
const { addConnection, binding, newConnectionId, removeConnection, ticks } = require('../native');
const { findUnsendable, outcome, traceConnect } = require('../query');
const { Answers } = require('./answers');
const { Cancellation } = require('./cancellation');
const { EndReason } = require('./end-reason');
const { copyAmongError, faultError, silentError, terminatedError } = require('./errors');
const { Handshake } = require('./handshake');
const { ConnectionLoad } = require('./load');
const { Outbox } = require('./outbox');
const { OwnDeadline } = require('./own-statements');
const { StandIn } = require('./stand-in');
const { Unwanted } = require('./unwanted');

/**
 * @typedef {import('../query').Query} Query
 * @typedef {import('../query').Batch} Batch
 * @typedef {import('../base').QueryAbortedError} QueryAbortedError
 *
 * What a connection tells the one who made it.
 * @typedef {object} Owner
 * @property {(error: Error) => void} onLost unexpectedly; its queries have been rejected
 * @property {() => void} onClosed after onLost, or after end()
 * @property {(fields: Readonly<Record<string, string>>) => void} onNotice
 * @property {(message: { processId: number, channel: string, payload: string }) => void}
 *   onNotification
 * @property {(work: Query | Batch) => boolean} [onUnsent] takes what another connection may send
 * @property {() => void} onSettled a query has been settled; runs in the middle of a delivery
 * @property {() => void} [onReadOnly] the server does not let it write; the same
 */

/** @param {Query | Batch} work @returns {readonly Query[]} */
function membersOf(work) {
  return 'members' in work ? work.members : [work];
}

class Connection {
  /** @type {'new' | 'connecting' | 'ready' | 'ending' | 'closed'} */
  state = 'new';
  load = new ConnectionLoad();
  /** Whether several callers share it: what changes the session is refused then. */
  isShared = false;
  processID = 0;
  serverVersion = 0;
  /**
   * PQTransactionStatusType; -1 since something was sent whose effect on it is not known yet. Never a guess:
   * savepoints and transactions are begun by it.
   */
  transactionStatus = 0;
  /** Statements in flight that are no queries: none of them opens or ends a transaction. */
  #housekeeping = 0;
  /** Settled since it was connected. */
  settled = 0;
  /** What ran on it, since this was last cleared, may have left something behind. */
  hasTouchedSession = false;
  hasTouchedTransaction = false;
  /** A cancel request has not come through in time, and may still. */
  mayBeSignalled = false;
  /** What cancels, while it does. @type {Cancellation | undefined} */
  cancellation = undefined;

  #settings;
  #owner;
  #registry;
  /** @type {import('../native').NativeConnection} */
  #native;
  /** @type {Handshake | undefined} */
  #handshake = undefined;
  #isLoopRef = true;
  /** @type {StandIn | undefined} */
  #standIn = undefined;
  #end = new EndReason();
  #outbox;
  #unwanted = new Unwanted(this);
  /** @type {(() => void)[]} */
  #idleWaiters = [];
  /** @type {(() => void)[]} */
  #whenClosed = [];

  /**
   * @param {import('../options').Settings} settings
   * @param {import('../statements').StatementRegistry} registry
   * @param {Owner} owner
   */
  constructor(settings, registry, owner) {
    this.#settings = settings;
    this.#registry = registry;
    this.#owner = owner;
    this.id = newConnectionId();
    this.#native = new binding.Connection(this.id);
    /** Of the driver's own statements. */
    this.ownDeadline = new OwnDeadline(
      this,
      () => this.#native.head(),
      settings.query_timeout,
      (text, millis) => this.#endSilent(silentError(text, millis)),
    );
    this.#outbox = new Outbox(this, settings, registry);
    this.answers = new Answers(this, this.#outbox, owner);
  }

  counters() {
    return this.#native.counters();
  }

  /** @param {string} name @returns {string | null} what the server has told of its session */
  parameterStatus(name) {
    return this.#native.parameterStatus(name);
  }

  get isEncrypted() {
    return this.#native.isEncrypted();
  }

  /** It could not be made, or was lost. */
  get hasFailed() {
    return this.#end.failure !== undefined;
  }

  /** Queries that were submitted and not settled. */
  get inFlight() {
    return this.load.inFlight;
  }

  /** What it has prepared. */
  get statements() {
    return this.#outbox.statements.cache;
  }

  /** @param {boolean} ref whether the connection keeps the process alive */
  setLoopRef(ref) {
    this.#isLoopRef = ref;
    this.#native.setLoopRef(ref);
    this.#standIn?.show(ref);
  }

  // --- Connecting -----------------------------------------------------------

  /**
   * @returns {Promise<void>}
   * @throws {ConnectionError | DatabaseError}
   */
  async connect() {
    this.state = 'connecting';
    addConnection(this);
    this.#handshake = new Handshake(this.#native, this.#settings);
    try {
      const { done } = this.#handshake;
      await traceConnect(this.#settings, () => done);
    } catch (error) {
      this.#end.failure = /** @type {Error} */ (error);
      this.#close();
      throw error;
    }
  }

  /** @param {number} processID @param {number} serverVersion */
  onConnected(processID, serverVersion) {
    this.processID = processID;
    this.serverVersion = serverVersion;
    this.state = 'ready';
    this.load.headSince = performance.now();
    this.#handshake?.succeed();
    afterDelivery(() => {
      if (this.state !== 'closed') {
        this.#standIn = new StandIn(this.#native.socketFamily());
        this.#standIn.show(this.#isLoopRef);
      }
      this.#outbox.formats.begin();
      this.#outbox.sendHeld();
    });
  }

  /** @param {number} millis */
  onRoundTrip(millis) {
    this.load.roundTripMillis = millis;
  }

  /** @param {string} message */
  onConnectFailed(message) {
    this.#handshake?.fail(message);
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
    if (!this.#isOpen) {
      query.reject(this.#end.closedError());
      return;
    }
    if (query.isOwn) {
      this.ownDeadline.watch();
      this.#unwanted.addOwn(query);
    }
    const info = query.identify(this.#registry);
    const { kind, refusal } = info.class;
    const isOne =
      !info.isSeveral || query.parameters.length > 0 || query.isStreamed || query.isExtended;
    if ((!isOne || query.isCopy) && !this.isShared) {
      // Seen later, what came before it may be committed.
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

  /**
   * Sends a text of several statements by the simple protocol.
   * @param {Query} query
   */
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
    if (!this.#isOpen) {
      batch.reject(this.#end.closedError());
    } else if (batch.members.length > 0 && batch.admit(this.#registry, this.isShared)) {
      for (const query of batch.members) this.#expect(query);
      this.#outbox.submitBatch(batch);
    }
  }

  /** @param {Query} query that will be sent */
  #expect({ info }) {
    ++info.uses;
    if (info.touchesSession) this.hasTouchedSession = true;
    if (info.touchesTransaction) this.hasTouchedTransaction = true;
  }

  /** Whether it takes queries; what comes before it is connected waits until it is. */
  get #isOpen() {
    return this.state === 'ready' || this.state === 'connecting' || this.state === 'new';
  }

  /** @param {readonly Query[]} queries that could not be written @param {Error} error */
  onUnwritten(queries, error) {
    for (const query of queries) {
      this.forget(query);
      query.reject(error);
    }
    this.afterSettling();
  }

  // --- The transaction --------------------------------------------------------

  /**
   * What a Sync has told, which holds if nothing was sent behind it. Something may have been since it was read.
   * @param {number} status PQTransactionStatusType, or -1: something was behind it then
   * @param {number} count of the queries that it ends
   */
  onTransactionStatus(status, count) {
    const isLast = this.load.sent <= count && this.#housekeeping === 0;
    this.transactionStatus = isLast ? status : -1;
  }

  /** @param {() => void} write something of our own that nobody waits for */
  whenPipelining(write) {
    this.#outbox.whenPipelining(write);
  }

  housekeepingSent() {
    ++this.#housekeeping;
    this.ownDeadline.watch();
  }

  /** @param {number} status as onTransactionStatus() has it */
  housekeepingSynced(status) {
    --this.#housekeeping;
    if (status !== -1 && this.load.sent === 0 && this.#housekeeping === 0) {
      this.transactionStatus = status;
    }
  }

  /** Whether nobody can say yet if a transaction is open behind all that was submitted, what is held back included. */
  get mayBeInTransaction() {
    return this.hasTouchedTransaction && (this.transactionStatus === -1 || this.inFlight > 0);
  }

  /** @returns {Promise<void>} that can be said, or the connection is closed */
  async whenStatusKnown() {
    while (this.mayBeInTransaction && this.state !== 'closed') {
      await this.whenQuiet();
      if (this.transactionStatus === -1) await this.#outbox.learnTransactionStatus();
    }
  }

  // --- Giving up --------------------------------------------------------------

  /**
   * Cancels what runs now, unless that is nothing.
   * @param {Query | Batch} [target] the only one in flight
   * @param {QueryAbortedError} [reason]
   * @returns {Promise<void>} others may use the connection then
   */
  cancel(target, reason) {
    if (lock.isHeld) return this.#whenUnlocked(() => this.cancel(target, reason));
    if (this.cancellation !== undefined) {
      if (target !== undefined && reason !== undefined) this.cancellation.adopt(target, reason);
      return this.cancellation.asked;
    }
    if (this.state === 'closed' || this.load.sent === 0) return Promise.resolve();
    const cancellation = new Cancellation(this, this.#outbox, target, reason);
    this.cancellation = cancellation;
    // What is in the tick buffer must be there before the signal is.
    ticks.submit();
    this.askToCancel();
    cancellation.done.then(() => {
      this.cancellation = undefined;
    });
    return cancellation.asked;
  }

  /** Signals the backend; onCancelled() follows. */
  askToCancel() {
    this.#outbox.asides.signalBehind(() => {
      if (this.state !== 'closed') this.#native.cancel();
    });
  }

  /**
   * Nothing is in flight and no cancel is under way, or it is closed.
   * @returns {Promise<void>}
   */
  async whenQuiet() {
    while (this.state !== 'closed' && (this.inFlight > 0 || this.cancellation !== undefined)) {
      if (this.cancellation !== undefined) await this.cancellation.done;
      else await this.#whenIdle();
    }
  }

  /** @returns {Promise<void>} */
  #whenIdle() {
    return new Promise((resolve) => {
      this.#idleWaiters.push(resolve);
    });
  }

  #tellIdle() {
    for (const resolve of this.#idleWaiters.splice(0)) resolve();
  }

  /** @param {boolean} ok */
  onCancelled(ok) {
    if (this.cancellation !== undefined) this.cancellation.onCancelled(ok);
    else this.mayBeSignalled = false;
  }

  /**
   * Nobody waits for it any longer. Not sent yet, it is taken out; alone on a
   * connection that is not shared, it is cancelled; else what comes for it is
   * discarded, and its neighbours notice nothing.
   * @param {Query | Batch} work
   * @param {QueryAbortedError} reason
   */
  giveUp(work, reason) {
    if (lock.isHeld) {
      this.#whenUnlocked(() => work.isSettled || this.giveUp(work, reason));
      return;
    }
    const members = membersOf(work);
    if (this.#outbox.remove(work)) {
      for (const query of members) this.forget(query);
      work.reject(reason);
      this.afterSettling();
    } else if (!this.isShared && this.load.sent === members.length) {
      this.cancel(work, reason);
    } else {
      reason.outcome = 'unknown';
      work.abandon(reason);
      this.#unwanted.add(members);
    }
  }

  /** @param {boolean} reading without it the server comes to a halt */
  setReading(reading) {
    if (this.state !== 'closed') this.#native.setReading(reading);
  }

  /** @param {Uint8Array} data */
  putCopyData(data) {
    return this.#native.putCopyData(data);
  }

  /**
   * A parser of the user's asks for it, in the middle of a delivery or of what is being written.
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
   * An event of it could not be taken in: nobody knows what that said.
   * @param {unknown} cause
   * @param {readonly any[]} entries whose last event it was
   */
  onFault(cause, entries) {
    const error = () => faultError(cause);
    this.answers.distrust(error);
    const queries = entries.flatMap((entry) => entry.members ?? entry);
    for (const query of queries) callApart(() => query.reject?.(error()));
  }

  // --- The end of the connection, and what it says by itself -----------------

  /**
   * Nothing of it will be answered: the connection is gone.
   * @param {Query} query
   * @param {import('../base').Outcome} [told]
   */
  onNotSent(query, told = 'not-run') {
    this.forget(query);
    const error = this.#end.unsentError();
    outcome.restrict(error, told);
    query.reject(error);
    this.#owner.onSettled();
  }

  /**
   * @param {string} message
   * @param {Query[]} queries that were in flight
   */
  onLost(message, queries) {
    const wasEnding = this.#wasWanted;
    // The server's last words may have come as the answer to a query.
    const cause = this.#end.lastFatal ?? queries.find(({ wasFatal }) => wasFatal)?.error;
    for (const query of queries) {
      this.forget(query);
      query.reject(
        this.answers.poison !== undefined
          ? this.answers.poison()
          : this.#end.lostError(
              query,
              message,
              query.error ?? cause,
              outcome.ofLost(query),
              wasEnding,
            ),
      );
    }
    // Idle, it is the one that was told.
    const told = queries.length === 0 ? { wasFatal: !wasEnding, error: this.#end.lastFatal } : {};
    this.#end.failure ??= this.#end.lostError(told, message, cause, 'not-run', wasEnding);
    this.#close(wasEnding ? undefined : this.#end.failure);
  }

  /** Whether somebody here has closed it, or is about to. */
  get #wasWanted() {
    return (this.state === 'ending' || this.state === 'closed') && this.#end.silence === undefined;
  }

  /** @param {Readonly<Record<string, string>>} fields */
  onNotice(fields) {
    if (isFatal(fields)) this.#end.lastFatal = new DatabaseError(fields);
    else this.#owner.onNotice(fields);
  }

  /** @param {number} processId @param {string} channel @param {string} payload */
  onNotification(processId, channel, payload) {
    this.#owner.onNotification({ processId, channel, payload });
  }

  // --- Books ----------------------------------------------------------------

  /** @param {Query} query that is settled */
  forget(query) {
    this.#unwanted.delete(query);
    this.load.remove(query);
    ++this.settled;
    this.#outbox.forget(query);
  }

  afterSettling() {
    this.#unwanted.watch();
    if (this.#outbox.isHolding) afterDelivery(() => this.#outbox.sendHeld());
    if (this.cancellation !== undefined) {
      afterDelivery(() => this.cancellation?.advance());
    }
    if (this.inFlight === 0) {
      if (this.state === 'ending') afterDelivery(() => this.#finish());
      if (this.#idleWaiters.length > 0) this.#tellIdle();
    }
    this.#owner.onSettled();
  }

  /** @param {Query | Batch} work that was held back until the connection was gone */
  #returnUnsent(work) {
    for (const query of membersOf(work)) this.forget(query);
    if (!this.isShared || this.#owner.onUnsent?.(work) !== true) {
      work.reject(this.#end.unsentError());
    }
  }

  // --- Closing --------------------------------------------------------------

  /**
   * Finishes what is in flight, then closes.
   * @returns {Promise<void>}
   */
  end() {
    if (lock.isHeld) return this.#whenUnlocked(() => this.end());
    if (this.state === 'closed') return Promise.resolve();
    const closed = new Promise((resolve) => {
      this.#whenClosed.push(() => resolve(undefined));
    });
    if (this.state === 'connecting') {
      this.#handshake?.fail(terminatedError());
      this.#close();
    } else if (this.state === 'new') {
      this.#close();
    } else {
      this.state = 'ending';
      this.#finish();
    }
    return /** @type {Promise<void>} */ (closed);
  }

  /** Closes now; what is in flight is rejected, its outcome unknown. */
  destroy() {
    if (lock.isHeld) {
      this.#whenUnlocked(() => this.destroy());
      return;
    }
    if (this.state === 'closed') return;
    if (this.state === 'connecting') {
      this.#handshake?.fail(terminatedError());
      this.#close();
      return;
    }
    this.state = 'ending';
    // What was not sent yet may go to another connection.
    this.#outbox.block();
    this.#native.close();
    if (this.inFlight === 0) this.#close();
  }

  /** @param {Error} silence */
  #endSilent(silence) {
    if (this.state === 'closed') return;
    this.#end.silence = silence;
    this.state = 'ending';
    this.ownDeadline.stop();
    // What is in flight is settled by the loss that this reports.
    this.#native.close();
    if (this.inFlight > 0) return;
    this.#end.failure ??= silence;
    this.#close(silence);
  }

  #finish() {
    if (this.inFlight > 0 || this.state !== 'ending') return;
    this.#native.close();
    this.#close();
  }

  /** @param {Error} [lost] why, if nobody has wanted it */
  #close(lost) {
    if (this.state === 'closed') return;
    this.state = 'closed';
    this.#standIn?.show(false);
    // What was open is gone with it.
    this.transactionStatus = 0;
    this.#native.close();
    this.#outbox.statements.lost();
    removeConnection(this);
    this.#unwanted.stop();
    this.ownDeadline.stop();
    for (const work of this.#outbox.clear()) this.#returnUnsent(work);
    this.cancellation?.end();
    if (lost !== undefined) this.#owner.onLost(lost);
    this.#owner.onClosed();
    this.#tellIdle();
    for (const callback of this.#whenClosed.splice(0)) callback();
  }
}

module.exports = { Connection };
