'use strict';

// One connection: submits queries, keeps the books of what is in flight, and
// settles them. The native Pipeline owns the order; here queries are known by
// their slots. Made by client.js.

const binding = require('./binding');
const { closedError, lostError, poisonedError } = require('./connection-errors');
const { preparedFlags, unpreparedFlags } = require('./decode-flags');
const delivery = require('./delivery');
const { ConnectionError, DatabaseError, StatementRefusedError } = require('./errors');
const { Handshake } = require('./handshake');
const { tooLargeError } = require('./parameters');
const { PreparedStatements } = require('./prepared-statements');
const { Housekeeping } = require('./query');
const ticks = require('./tick-buffer');
const { flag, int8Mode } = require('./wire-format');

/**
 * @typedef {import('./query').Query} Query
 * @typedef {import('./statement-cache').Statement} Statement
 *
 * What a connection tells the one who made it.
 * @typedef {object} Owner
 * @property {(error: Error) => void} onLost unexpectedly; its queries have been rejected
 * @property {() => void} onClosed after onLost, or after end()
 * @property {(fields: Readonly<Record<string, string>>) => void} onNotice
 * @property {(message: { processId: number, channel: string, payload: string }) => void}
 *   onNotification
 * @property {() => void} onSettled a query has been settled; runs in the middle of a delivery
 */

/** PQTRANS_IDLE; above it are the states of a transaction. */
const TRANSACTION_IDLE = 0;
const TAG_OF_BEGIN = /^(?:BEGIN|START TRANSACTION)$/;

/**
 * More text and bytes than this wait here instead of in libpq's buffer, which
 * libpq moves as a whole after each partial write: with 120 MB in it that cost
 * four times the CPU.
 */
const MAX_BYTES_IN_FLIGHT = 8 << 20;

/**
 * A statement that takes longer is slow: nobody should stand behind it who can
 * stand elsewhere. One that was never seen is taken to be slow.
 */
const SLOW_MILLIS = 5;
/** A head that has run for so long, and twice what was expected, is overdue. */
const OVERDUE_MILLIS = 10;

class Connection {
  /** @type {'new' | 'connecting' | 'ready' | 'ending' | 'closed'} */
  state = 'new';
  /** Queries that were submitted and not settled, those that are held back included. */
  inFlight = 0;
  /** What they are expected to take, in ms. */
  expectedMillis = 0;
  /** When the query at the head became the head (performance.now()). */
  headSince = 0;
  /** Whether several callers share it: what changes the session is refused then. */
  isShared = false;
  processID = 0;
  serverVersion = 0;
  /** PQTransactionStatusType; -1 since something was sent whose effect on it is not known yet. */
  transactionStatus = TRANSACTION_IDLE;
  /** Settled since it was connected. */
  settled = 0;
  /** Statements in flight that are known to be slow, or not known at all. */
  slowInFlight = 0;
  /** What ran on it, since this was last cleared, may have left something behind. */
  hasTouchedSession = false;
  hasTouchedTransaction = false;

  #settings;
  #owner;
  #registry;
  /** @type {import('./binding').NativeConnection} */
  #native;
  /** @type {Handshake | undefined} */
  #handshake = undefined;
  /** Why it is closed, if something went wrong. @type {Error | undefined} */
  #failure = undefined;
  #isPoisoned = false;
  #bytesInFlight = 0;
  /** @type {Query[]} first in, first out: what waits for bytes to leave */
  #held = [];
  /** The server's last words, if it had any. @type {DatabaseError | undefined} */
  #lastFatal = undefined;
  #int8Flags;
  #statements;
  /** @type {(() => void)[]} */
  #whenClosed = [];

  /**
   * @param {import('./options').Settings} settings
   * @param {import('./statement-registry').StatementRegistry} registry
   * @param {Owner} owner
   */
  constructor(settings, registry, owner) {
    this.#settings = settings;
    this.#registry = registry;
    this.#owner = owner;
    this.id = delivery.addConnection(this);
    this.#native = new binding.Connection(this.id);
    this.#statements = new PreparedStatements(this, settings);
    this.#int8Flags = int8Mode[settings.int8] << flag.int8Shift;
  }

  counters() {
    return this.#native.counters();
  }

  /** What it has prepared. */
  get statements() {
    return this.#statements.cache;
  }

  /** @param {boolean} ref whether the connection keeps the process alive */
  setLoopRef(ref) {
    this.#native.setLoopRef(ref);
  }

  // --- Connecting -----------------------------------------------------------

  /**
   * @returns {Promise<void>}
   * @throws {ConnectionError | DatabaseError}
   */
  async connect() {
    this.state = 'connecting';
    delivery.connecting.add(this);
    this.#handshake = new Handshake(this.#native, this.#settings);
    try {
      await this.#handshake.done;
    } catch (error) {
      this.#failure = /** @type {Error} */ (error);
      this.#close();
      throw error;
    } finally {
      delivery.connecting.delete(this);
    }
  }

  /** @param {number} processID @param {number} serverVersion */
  onConnected(processID, serverVersion) {
    this.processID = processID;
    this.serverVersion = serverVersion;
    this.state = 'ready';
    this.headSince = performance.now();
    this.#handshake?.succeed();
    delivery.afterDelivery(() => this.#sendHeld());
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
    if (this.state !== 'ready' && this.state !== 'connecting') {
      query.reject(closedError(this.state, this.#failure ?? this.#lastFatal));
      return;
    }
    const info = (query.info ??= this.#registry.find(query.text));
    const { kind } = info.class;
    if (kind !== 'plain' && kind !== 'alone') {
      const { refusal } = info.class;
      if (this.isShared || kind === 'copy') {
        query.reject(new StatementRefusedError(String(refusal)));
        return;
      }
      if (kind === 'session') this.hasTouchedSession = true;
      else this.hasTouchedTransaction = true;
    }
    ++info.uses;
    query.expectedMillis = info.averageMillis < 0 ? SLOW_MILLIS : info.averageMillis;
    if (this.inFlight === 0) this.headSince = performance.now();
    ++this.inFlight;
    this.expectedMillis += query.expectedMillis;
    if (query.expectedMillis >= SLOW_MILLIS) ++this.slowInFlight;
    if (
      this.state === 'connecting' ||
      this.#held.length > 0 ||
      (this.#bytesInFlight > 0 && this.#bytesInFlight + query.size > MAX_BYTES_IN_FLIGHT)
    ) {
      this.#held.push(query);
      return;
    }
    this.#send(query);
  }

  /** @param {Query} query */
  #send(query) {
    this.#bytesInFlight += query.size;
    this.transactionStatus = -1;
    const statement = this.#statements.choose(query);
    query.statement = statement;
    const slot = delivery.takeSlot(query);
    ticks.begin();
    try {
      if (statement === undefined) {
        const flags = this.#int8Flags | unpreparedFlags(query.types);
        ticks.writeQuery(this.id, slot, flags, query.text, query.parameters);
      } else {
        if (query.leads) ticks.writeParse(this.id, slot, statement.id, statement.text);
        const flags = this.#int8Flags | preparedFlags(statement, query.types);
        ticks.writeExecute(this.id, slot, flags, statement.id, query.parameters);
      }
    } catch (error) {
      ticks.rollback();
      delivery.freeSlot(slot);
      if (query.leads) this.statements.remove(/** @type {Statement} */ (statement));
      this.#forget(query);
      // A string or an array got longer than V8 allows.
      query.reject(tooLargeError({ cause: error }));
      this.#afterSettling();
      return;
    }
    ticks.writeSync(this.id, slot);
    this.#statements.sent(query);
  }

  // --- Answers --------------------------------------------------------------

  /**
   * The query's Sync: it is done, whatever comes.
   * @param {Query} query
   * @param {number} transactionStatus PQTransactionStatusType, or -1: not known
   * @param {number} now
   */
  onSync(query, transactionStatus, now) {
    this.transactionStatus = transactionStatus;
    if (query instanceof Housekeeping) return;
    if (this.#isPoisoned) {
      this.#forget(query);
      query.reject(poisonedError());
      this.#owner.onSettled();
      return;
    }
    // What was waited for is the head's; who comes with it costs nothing.
    query.info.observe(now - this.headSince);
    this.headSince = now;
    this.#statements.answered(query);
    if (this.isShared && (transactionStatus > TRANSACTION_IDLE || TAG_OF_BEGIN.test(query.tag))) {
      this.#leaveTransaction(query);
      return;
    }
    const { error } = query;
    if (error === undefined) {
      this.#forget(query);
      query.resolve(query.result);
    } else if (this.#canHeal(query, error, transactionStatus)) {
      this.#heal(query);
      return;
    } else {
      this.#forget(query);
      // What it committed before it failed is there to stay.
      if (query.info.mayCommitInside && error instanceof DatabaseError) error.outcome = 'unknown';
      query.reject(error);
    }
    this.#afterSettling();
  }

  /** Nothing of it will be answered: the connection is gone. @param {Query} query */
  onNotSent(query) {
    if (query instanceof Housekeeping) return;
    this.#forget(query);
    query.reject(closedError(this.state, this.#failure ?? this.#lastFatal));
    this.#owner.onSettled();
  }

  /**
   * @param {string} message
   * @param {Query[]} queries that were in flight
   */
  onLost(message, queries) {
    const wasEnding = this.state === 'ending' || this.state === 'closed';
    // The server's last words may have come as the answer to a query.
    const cause = this.#lastFatal ?? queries.find(({ wasFatal }) => wasFatal)?.error;
    for (const query of queries) {
      if (query instanceof Housekeeping) continue;
      this.#forget(query);
      const outcome = query.wasSkipped ? 'not-run' : 'unknown';
      query.reject(
        this.#isPoisoned
          ? poisonedError()
          : lostError(wasEnding, message, query.error ?? cause, outcome),
      );
    }
    this.#failure ??= lostError(wasEnding, message, cause, 'not-run');
    const { state } = this;
    this.#close();
    if (state !== 'closed' && !wasEnding) this.#owner.onLost(this.#failure);
  }

  /** @param {Readonly<Record<string, string>>} fields */
  onNotice(fields) {
    if (fields.V === 'FATAL' || fields.V === 'PANIC') this.#lastFatal = new DatabaseError(fields);
    else this.#owner.onNotice(fields);
  }

  /** @param {number} processId @param {string} channel @param {string} payload */
  onNotification(processId, channel, payload) {
    this.#owner.onNotification({ processId, channel, payload });
  }

  /**
   * Whether the query did not run for the sake of its prepared statement alone,
   * and running it now keeps the order that the caller can count on.
   * @param {Query} query
   * @param {Error} error
   * @param {number} transactionStatus
   */
  #canHeal(query, error, transactionStatus) {
    if (query.retried || !this.#statements.isToBlame(query, error)) return false;
    return this.isShared || (transactionStatus === TRANSACTION_IDLE && this.inFlight === 1);
  }

  /** @param {Query} query */
  #heal(query) {
    this.#statements.giveUp(/** @type {Statement} */ (query.statement));
    query.reset();
    this.#bytesInFlight -= query.size;
    delivery.afterDelivery(() => {
      if (this.state === 'ready' || this.state === 'ending') {
        this.#send(query);
        return;
      }
      this.#forget(query);
      query.reject(closedError(this.state, this.#failure ?? this.#lastFatal));
    });
  }

  /**
   * Somebody brought a shared connection into a transaction, past the check of
   * its text. What came behind is in that transaction: the connection is closed,
   * which rolls all of it back, and nobody is told that it was done.
   * @param {Query} query the first that is known to be inside
   */
  #leaveTransaction(query) {
    this.#isPoisoned = true;
    this.#forget(query);
    query.reject(poisonedError());
    delivery.afterDelivery(() => {
      if (this.state === 'closed') return;
      this.#owner.onLost(poisonedError());
      this.destroy();
    });
  }

  // --- Books ----------------------------------------------------------------

  /** @param {Query} query that is settled */
  #forget(query) {
    --this.inFlight;
    ++this.settled;
    this.#bytesInFlight -= query.size;
    this.expectedMillis = this.inFlight === 0 ? 0 : this.expectedMillis - query.expectedMillis;
    if (query.expectedMillis >= SLOW_MILLIS) --this.slowInFlight;
  }

  /**
   * @param {number} now performance.now()
   * @returns {boolean} whether a query sent now would wait for a slow one
   */
  isBlocked(now) {
    if (this.inFlight === 0) return false;
    if (this.slowInFlight > 0) return true;
    const headMillis = now - this.headSince;
    return headMillis > OVERDUE_MILLIS && headMillis > 2 * this.expectedMillis;
  }

  #afterSettling() {
    if (this.#held.length > 0) delivery.afterDelivery(() => this.#sendHeld());
    if (this.inFlight === 0 && this.state === 'ending') {
      delivery.afterDelivery(() => this.#finish());
    }
    this.#owner.onSettled();
  }

  #sendHeld() {
    while (this.#held.length > 0 && this.state !== 'closed') {
      const [next] = this.#held;
      if (this.#bytesInFlight > 0 && this.#bytesInFlight + next.size > MAX_BYTES_IN_FLIGHT) return;
      this.#held.shift();
      this.#send(next);
    }
  }

  // --- Closing --------------------------------------------------------------

  /**
   * Finishes what is in flight, then closes.
   * @returns {Promise<void>}
   */
  end() {
    if (this.state === 'closed') return Promise.resolve();
    const closed = new Promise((resolve) => {
      this.#whenClosed.push(() => resolve(undefined));
    });
    if (this.state === 'connecting') {
      this.#handshake?.fail(new ConnectionError('Connection terminated'));
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
    if (this.state === 'closed') return;
    if (this.state === 'connecting') {
      this.#handshake?.fail(new ConnectionError('Connection terminated'));
      this.#close();
      return;
    }
    this.state = 'ending';
    this.#native.close();
    if (this.inFlight === 0) this.#close();
  }

  #finish() {
    if (this.inFlight > 0 || this.state !== 'ending') return;
    this.#native.close();
    this.#close();
  }

  #close() {
    if (this.state === 'closed') return;
    this.state = 'closed';
    this.#native.close();
    for (const query of this.#held.splice(0)) {
      this.#bytesInFlight += query.size;
      this.#forget(query);
      query.reject(closedError(this.state, this.#failure ?? this.#lastFatal));
    }
    this.#owner.onClosed();
    for (const callback of this.#whenClosed.splice(0)) callback();
  }
}

module.exports = { Connection };
