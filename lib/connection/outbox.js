'use strict';

// What one connection is to send: when it goes, as which commands, and with whom
// it shares a Sync. Queries that wait here have not been sent. Owned by
// connection.js, which settles them.

const { afterDelivery, BytesGoneError, flag, int8Mode, ParameterError } = require('../base');
const { freeSlot, takeSlot, ticks } = require('../native');
const { Batch, tooLargeError } = require('../query');
const { preparedFlags, unpreparedFlags } = require('./decode-flags');
const { Gathering } = require('./gathering');
const { PreparedStatements } = require('./prepared-statements');

const { Housekeeping } = require('./housekeeping');
const { SessionFormats } = require('./session-formats');
const { SyncCandidates } = require('./sync-candidates');
const { SyncGroup, SyncWriter } = require('./sync-groups');

/**
 * @typedef {import('./connection').Connection} Connection
 * @typedef {import('../query').Query} Query
 * @typedef {import('../statements').Statement} Statement
 */

/**
 * More text and bytes than this wait here instead of in libpq's buffer, which
 * libpq moves as a whole after each partial write: with 120 MB in it that cost
 * four times the CPU.
 */
const MAX_BYTES_IN_FLIGHT = 8 << 20;

/** A statement that brought more, or was never seen, has its rows decoded as they come. */
const MANY_ROWS = 1000;

/** So many that wait for company are enough, whatever their texts. */
const MAX_GATHERED = 128;

/** Name of a savepoint. */
const GUARD = 'pg_conduit_read';

/** PQTRANS_IDLE */
const IDLE = 0;
/** PQTRANS_INTRANS */
const IN_TRANSACTION = 2;

class Outbox {
  #connection;
  #load;
  #candidates;
  #int8Flags;
  #bytesInFlight = 0;
  /** First in, first out: what waits for bytes to leave, or to have the connection to itself. @type {(Query | Batch)[]} */
  #held = [];
  /** What waits for company in its Sync. */
  #gathered = new Gathering();
  #endsTick = false;
  /** What has the connection to itself: the rest waits. @type {Query | Batch | undefined} */
  #solo = undefined;
  #isBlocked = false;
  /** Our own statements in flight, which no signal must hit. */
  #asides = 0;
  /** @type {(() => void) | undefined} */
  #whenNoAsides = undefined;
  /** @type {(() => void)[]} */
  #whenPipelining = [];
  /** @type {Promise<void> | undefined} */
  #learning = undefined;
  #onLearned = () => {};
  /** What ends the savepoint of a query that was read. @type {string[] | undefined} */
  #guardEnd = undefined;

  /**
   * @param {Connection} connection
   * @param {import('../options').Settings} settings
   * @param {import('../statements').StatementRegistry} registry
   */
  constructor(connection, settings, registry) {
    this.#connection = connection;
    this.#load = connection.load;
    this.#candidates = new SyncCandidates(connection, settings, registry.catalog);
    this.#int8Flags = int8Mode[settings.int8] << flag.int8Shift;
    this.syncs = new SyncWriter(connection.id);
    this.statements = new PreparedStatements(connection, this.syncs, settings, registry);
    this.formats = new SessionFormats(
      connection,
      this.statements.cache,
      (text, onAnswered, onRow) => {
        if (!this.#canSendAside) return false;
        // Behind something else it must not keep that from being cancelled.
        this.#sendAside(text, onAnswered, onRow, this.#load.sent === 0);
        return true;
      },
    );
  }

  /** @param {Query} query that may run on this connection */
  submit(query) {
    query.sharesSync = this.#candidates.take(query);
    const isHeld = this.#mustHold(query);
    this.#load.add(query);
    if (isHeld) this.#hold(query);
    else this.#place(query);
  }

  /** @param {Batch} batch that may run on this connection */
  submitBatch(batch) {
    const isHeld = this.#mustHold(batch);
    for (const query of batch.members) {
      this.#load.add(query);
      batch.expectedMillis += query.expectedMillis;
    }
    if (isHeld) this.#hold(batch);
    else this.#place(batch);
  }

  /** @param {Query | Batch} work */
  #mustHold(work) {
    return (
      this.#isBlocked ||
      this.#solo !== undefined ||
      this.#guardEnd !== undefined ||
      (work.runsSolo && (this.#load.sent > 0 || this.#mustLearn(work))) ||
      this.#connection.state !== 'ready' ||
      this.#held.length > 0 ||
      this.#isTooMuch(work)
    );
  }

  /** @param {Query | Batch} work */
  #hold(work) {
    this.#held.push(work);
    this.#load.hold(work);
    this.sendHeld();
  }

  /** @param {Query | Batch} work that may be sent now */
  #place(work) {
    if (work.sharesSync && this.#load.isBehindMany) {
      this.#gather(/** @type {Query} */ (work));
      return;
    }
    // What changes something stays behind what was to be read before.
    if (this.#gathered.size > 0 && !this.#sendAll(this.#gathered.takeAll())) this.#hold(work);
    else if (work instanceof Batch) this.#sendBatch(work);
    else this.#send(work);
  }

  /**
   * In a Sync group of several texts one member's locks would be held while the next one waits for its own, which
   * makes deadlocks of what is none. Those of one text want the same locks: the first of them has what the others
   * need.
   * @param {Query} query that may share its Sync
   */
  #gather(query) {
    this.#load.hold(query);
    if (this.#gathered.add(query)) this.#sendAll(this.#gathered.take(query.info));
    else this.#beforeTickEnds();
  }

  #beforeTickEnds() {
    if (this.#endsTick) return;
    this.#endsTick = true;
    ticks.beforeEnd(this);
  }

  /** All callbacks of this turn of the loop have run: no more company comes in this tick. */
  endTick() {
    this.#endsTick = false;
    if (!this.#canSend) return;
    // While the server has enough to do, more may come that share the Sync.
    if (this.#gathered.size < MAX_GATHERED && this.#load.isBusy) return;
    this.#sendAll(this.#gathered.takeAll());
  }

  /** @param {Query[]} gathered text by text @returns {boolean} whether nothing of it has to wait for bytes to leave */
  #sendAll(gathered) {
    let isAll = true;
    for (const query of gathered) {
      if (!isAll || this.#isTooMuch(query)) {
        isAll = false;
        this.#held.push(query);
      } else {
        this.#load.unhold(query);
        this.#send(query);
      }
    }
    return isAll;
  }

  /** @param {Query | Batch} work */
  #isTooMuch(work) {
    return this.#bytesInFlight > 0 && this.#bytesInFlight + work.size > MAX_BYTES_IN_FLIGHT;
  }

  /** Sends what need not wait any longer. */
  sendHeld() {
    if (!this.#canSend) return;
    this.#endGuard();
    if (this.#gathered.size > 0) this.#beforeTickEnds();
    while (this.#held.length > 0 && this.#canSend) {
      const [first] = this.#held;
      if (this.#isTooMuch(first) || (first.runsSolo && this.#load.sent > 0)) return;
      if (first.runsSolo && this.#mustLearn(first)) {
        this.learnTransactionStatus();
        return;
      }
      const next = /** @type {Query | Batch} */ (this.#held.shift());
      this.#load.unhold(next);
      this.#place(next);
    }
  }

  get isHolding() {
    return this.#held.length > 0 || this.#gathered.size > 0 || this.#guardEnd !== undefined;
  }

  get #canSend() {
    const { state } = this.#connection;
    if (this.#isBlocked || this.#solo !== undefined) return false;
    return state === 'ready' || state === 'ending';
  }

  /** Sends nothing until unblock(). */
  block() {
    this.#isBlocked = true;
  }

  unblock() {
    this.#isBlocked = false;
    this.sendHeld();
  }

  /** @param {Query | Batch} work @returns {boolean} whether it was held back, and now is not any more */
  remove(work) {
    if (!this.#gathered.remove(work)) {
      const index = this.#held.indexOf(work);
      if (index === -1) return false;
      this.#held.splice(index, 1);
    }
    this.#load.unhold(work);
    this.#bytesInFlight += work.size;
    return true;
  }

  /** Sends an empty query, though blocked. @param {() => void} onAnswered */
  sendBarrier(onAnswered) {
    this.#sendAside('', onAnswered);
  }

  /**
   * A signal would hit a statement of our own that is in front of what it is for: a savepoint that
   * fails takes its transaction along.
   * @param {() => void} signal
   */
  signalBehindAsides(signal) {
    if (this.#asides === 0) signal();
    else this.#whenNoAsides = signal;
  }

  /** Nobody waits for it any more. @returns {boolean} whether it was still to be sent */
  withdrawSignal() {
    const isWaiting = this.#whenNoAsides !== undefined;
    this.#whenNoAsides = undefined;
    return isWaiting;
  }

  /**
   * @param {string} text of our own
   * @param {() => void} [onAnswered]
   * @param {(row: any[]) => void} [onRow]
   * @param {boolean} [isGuarded] no signal is sent before it is answered
   */
  #sendAside(text, onAnswered, onRow, isGuarded = true) {
    if (isGuarded) ++this.#asides;
    const answered = () => {
      if (isGuarded) --this.#asides;
      onAnswered?.();
      const signal = this.#whenNoAsides;
      if (this.#asides > 0 || signal === undefined) return;
      this.#whenNoAsides = undefined;
      signal();
    };
    const slot = takeSlot(new Housekeeping(this.#connection, text, answered, onRow));
    ticks.writeQuery(this.#connection.id, slot, 0, text, []);
    this.syncs.endAlone(slot);
  }

  /**
   * Whether a query must wait until it is known if it runs in a transaction. The Syncs in front of it
   * have not told while statements of our own were behind them.
   * @param {Query | Batch} work that has the connection to itself
   */
  #mustLearn(work) {
    return 'isRead' in work && this.#needsGuard(work) && this.#connection.transactionStatus === -1;
  }

  /** @param {Query} query */
  #needsGuard(query) {
    return query.isRead && !this.#connection.isShared;
  }

  /**
   * Asks for the status that a Sync tells, by a statement that does nothing.
   * @returns {Promise<void>} it is answered, or never will be, and what waited for that is sent
   */
  learnTransactionStatus() {
    this.#learning ??= new Promise((resolve) => {
      this.#onLearned = () => {
        this.#learning = undefined;
        this.sendHeld();
        resolve();
      };
      this.#sendAside('', this.#onLearned);
    });
    return this.#learning;
  }

  /**
   * A query that is read as its rows come is cancelled when nobody wants the rest: that is to undo
   * it, and not the transaction that it is in.
   * @param {Query} query that is about to be sent, alone
   */
  #guard(query) {
    if (this.#connection.transactionStatus !== IN_TRANSACTION) return;
    this.#sendAside(`SAVEPOINT ${GUARD}`);
    query.onceSettled(() => {
      if (query.wasStopped) this.#guardEnd = [`ROLLBACK TO ${GUARD}`, `RELEASE ${GUARD}`];
      else if (!query.hasFailed) this.#guardEnd = [`RELEASE ${GUARD}`];
    });
  }

  /** Before all else that waits. */
  #endGuard() {
    const texts = this.#guardEnd;
    if (texts === undefined) return;
    this.#guardEnd = undefined;
    // The statement has ended the transaction, and its savepoint with it.
    if (this.#connection.transactionStatus === IDLE) return;
    for (const text of texts) this.#sendAside(text);
    // They succeed: the savepoint was made in a transaction that was known to be open.
    if (this.#connection.transactionStatus > IDLE) {
      this.#connection.transactionStatus = IN_TRANSACTION;
    }
  }

  /**
   * While a text goes by the simple protocol libpq takes nothing else.
   * @param {() => void} write is called as soon as something may be written
   */
  whenPipelining(write) {
    if (this.#isPipelining) write();
    else this.#whenPipelining.push(write);
  }

  get #isPipelining() {
    return this.#solo === undefined || 'members' in this.#solo || this.#solo.results === undefined;
  }

  /** @returns {(Query | Batch)[]} what was held back, and never will be sent here */
  clear() {
    this.#onLearned();
    const held = [...this.#gathered.takeAll(), ...this.#held.splice(0)];
    for (const work of held) this.#load.unhold(work);
    for (const { size } of held) this.#bytesInFlight += size;
    return held;
  }

  /** @param {Query} query that is settled */
  forget(query) {
    this.#bytesInFlight -= query.size;
    if (this.#isSolo(query)) this.#solo = undefined;
    this.syncs.forget(query);
    if (this.#whenPipelining.length === 0) return;
    for (const write of this.#whenPipelining.splice(0)) {
      afterDelivery(() => this.whenPipelining(write));
    }
  }

  /** @param {Query} query */
  #isSolo(query) {
    return this.#solo !== undefined && (query === this.#solo || query.batch === this.#solo);
  }

  /**
   * Each under a Sync of its own, or a batch as it was.
   * @param {readonly Query[]} queries that have not run, or were undone
   */
  sendAgain(queries) {
    if (queries.length === 0) return;
    for (const query of queries) {
      query.reset();
      query.sharesSync = false;
      this.#bytesInFlight -= query.size;
    }
    afterDelivery(() => {
      // It will have the connection to itself again.
      if (queries.some((query) => this.#isSolo(query))) this.#solo = undefined;
      if (!this.#canSend) {
        for (const query of queries) {
          this.#bytesInFlight += query.size;
          this.#connection.onNotSent(query);
        }
        return;
      }
      const [{ batch }] = queries;
      if (batch !== undefined) this.#sendBatch(batch);
      else for (const query of queries) this.#send(query);
    });
  }

  // --- Commands ---------------------------------------------------------------

  /** @param {Query} query */
  #send(query) {
    if (query.runsSolo) this.#solo = query;
    if (this.#needsGuard(query)) this.#guard(query);
    if (query.results !== undefined) {
      this.#sendSimple(query);
      return;
    }
    this.#begin(query);
    ticks.begin(query.size);
    try {
      this.#write(query);
    } catch (error) {
      this.#undo([query], error);
      return;
    }
    if (query.sharesSync) this.syncs.endShared(query);
    else this.syncs.endAlone(query.slot);
    this.#sendBehind(query);
  }

  /** @param {Query} query that was written */
  #sendBehind(query) {
    if (query.info.resetsFormats) this.formats.onSent(query);
    if (this.formats.isWanted) this.formats.ask();
  }

  /** A query that goes by the simple protocol has the connection to itself. */
  get #canSendAside() {
    if (this.#isBlocked || this.#connection.state !== 'ready') return false;
    return !(this.#solo !== undefined && !(this.#solo instanceof Batch) && this.#solo.results);
  }

  /** @param {Query} query a text of several statements */
  #sendSimple(query) {
    this.#bytesInFlight += query.size;
    let flags = this.#int8Flags;
    try {
      flags |= unpreparedFlags(query.types);
    } catch (error) {
      this.#connection.onUnwritten([query], unwrittenError(error));
      return;
    }
    this.#connection.transactionStatus = -1;
    this.statements.sent(query);
    query.slot = takeSlot(query);
    query.trace?.sent(this.#connection);
    if (query.info.changesFormats) this.formats.onSend(query);
    // Behind what was written so far.
    ticks.submit();
    this.#connection.runSimple(query.slot, flags, query.text);
  }

  /** @param {Batch} batch */
  #sendBatch(batch) {
    const { members } = batch;
    if (batch.runsSolo) this.#solo = batch;
    batch.trace?.sent(this.#connection);
    for (const query of members) this.#begin(query);
    ticks.begin(batch.size);
    let culprit = members[0];
    try {
      for (const query of members) {
        culprit = query;
        this.#write(query);
      }
    } catch (error) {
      // The first to be told is the one that the batch is rejected for.
      this.#undo([culprit, ...members.filter((query) => query !== culprit)], error);
      return;
    }
    this.syncs.endAlone(new SyncGroup(members).slot);
    for (const query of members) this.#sendBehind(query);
  }

  /** @param {Query} query */
  #begin(query) {
    this.#connection.transactionStatus = -1;
    if (query.info.changesFormats) this.formats.onSend(query);
    this.#bytesInFlight += query.size;
    query.statement = this.statements.choose(query);
    this.statements.sent(query);
    query.slot = takeSlot(query);
    query.trace?.sent(this.#connection);
  }

  /**
   * @param {readonly Query[]} queries written since ticks.begin()
   * @param {unknown} cause
   */
  #undo(queries, cause) {
    ticks.rollback();
    for (const query of queries) {
      freeSlot(query.slot);
      this.statements.notSent(query);
      if (query.info.changesFormats) this.formats.onAnswered(query);
    }
    this.#connection.onUnwritten(queries, unwrittenError(cause));
  }

  /** @param {Query} query */
  #write(query) {
    const { id } = this.#connection;
    const { statement, slot, info, types, parameters } = query;
    const mayBeMany = info.rows > MANY_ROWS || info.effect === 'unknown';
    let flags = this.#int8Flags;
    if (query.isStreamed) flags |= flag.streamed;
    else if (mayBeMany) flags |= flag.chunked;
    if (statement === undefined) {
      ticks.writeQuery(id, slot, flags | unpreparedFlags(types), query.text, parameters);
      return;
    }
    if (query.leads) ticks.writeParse(id, slot, statement.id, statement.text);
    flags |= info.keepsColumns
      ? preparedFlags(statement, types, this.formats)
      : unpreparedFlags(types);
    ticks.writeExecute(id, slot, flags, statement.id, parameters);
  }
}

/**
 * A string or an array got longer than V8 allows, bytes were taken away, or somebody's `types` threw.
 * @param {unknown} cause
 */
function unwrittenError(cause) {
  if (cause instanceof BytesGoneError) {
    return new ParameterError(`a parameter cannot be sent: ${cause.message}`, { cause });
  }
  return cause instanceof ParameterError ? cause : tooLargeError({ cause });
}

module.exports = { Outbox };
