'use strict';

// Decides when the queries of one connection are sent, as which commands, and which of them share a
// Sync. Queries that wait here have not been sent. Owned by connection.js, which settles them.

const { afterDelivery } = require('../base');
const { ticks } = require('../native');
const { Batch } = require('../query');
const { Asides } = require('./asides');
const { CommandWriter } = require('./command-writer');
const { Fences } = require('./fences');
const { Gathering } = require('./gathering');
const { PreparedStatements } = require('./prepared-statements');
const { ReadGuard } = require('./read-guard');
const { SessionFormats } = require('./session-formats');
const { SessionProfile } = require('./session-profile');
const { SimpleProtocol } = require('./simple-protocol');
const { SyncCandidates } = require('./sync-candidates');
const { SyncWriter } = require('./sync-groups');
const { Turns } = require('./turns');

/**
 * @typedef {import('./connection').Connection} Connection
 * @typedef {import('../query').Query} Query
 */

/**
 * The most text and bytes in flight. The rest waits here and not in libpq's buffer, which does not shrink again, and
 * which an installed libpq (deps/libpq-patches) moves as a whole after each partial write.
 */
const MAX_BYTES_IN_FLIGHT = 8 << 20;

/** When this many queries wait for others, whatever their texts, they are sent even if the server is busy. */
const MAX_GATHERED = 128;

class Outbox {
  #connection;
  #load;
  #candidates;
  #bytesInFlight = 0;
  /** First in, first out: what waits for bytes to leave, or for the connection to be free. @type {(Query | Batch)[]} */
  #held = [];
  /** Queries that wait for others to share their Sync. */
  #gathered = new Gathering();
  #endsTick = false;
  /** What has the connection to itself: everything else waits. @type {Query | Batch | undefined} */
  #solo = undefined;
  #isBlocked = false;
  /** @type {(() => void)[]} */
  #whenPipelining = [];
  #guard;
  #writer;
  #fences;

  /**
   * @param {Connection} connection
   * @param {import('../options').Settings} settings
   * @param {import('../statements').StatementRegistry} registry
   */
  constructor(connection, settings, registry) {
    this.#connection = connection;
    this.#load = connection.load;
    this.turns = new Turns(connection, settings);
    const { catalog } = registry;
    const askSoon = () => this.#fences.askSoon();
    const resume = () => this.sendHeld();
    this.#candidates = new SyncCandidates(connection, settings, catalog, askSoon);
    this.syncs = new SyncWriter(connection.id);
    this.simple = new SimpleProtocol(catalog.locality, askSoon);
    this.asides = new Asides(connection, this.syncs);
    this.#guard = new ReadGuard(connection, this.asides);
    this.#fences = new Fences(connection, this.asides, catalog.locality, this.turns, resume);
    this.profile = new SessionProfile(connection, this.asides, resume);
    this.statements = new PreparedStatements(
      connection,
      this.syncs,
      this.turns,
      settings,
      registry,
      resume,
    );
    this.formats = new SessionFormats(
      connection,
      this.statements.cache,
      (text, onAnswered, onRow) => {
        if (!this.#canSendAside) return false;
        this.turns.wait(() => {
          // Behind another query, it must not delay the cancel of that.
          this.asides.send(text, onAnswered, onRow, this.#load.sent === 0);
        });
        return true;
      },
    );
    this.#writer = new CommandWriter(connection, this, settings);
  }

  /** @param {Query} query that may run on this connection */
  submit(query) {
    query.sharesSync = this.#candidates.take(query);
    if (query.sharesSync) this.#gathered.see(query);
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
      this.#guard.isOpen ||
      this.statements.isAsking ||
      (work.runsSolo && (this.#load.sent > 0 || this.#mustLearn(work))) ||
      this.#fences.mustWait(work) ||
      this.#connection.state !== 'ready' ||
      this.#held.length > 0 ||
      this.#isTooMuch(work) ||
      this.turns.mustWait
    );
  }

  /** @param {Query | Batch} work */
  #hold(work) {
    this.#held.push(work);
    this.#load.hold(work);
    this.sendHeld();
  }

  /** @param {Query | Batch} work */
  #holdFirst(work) {
    this.#held.unshift(work);
    this.#load.hold(work);
  }

  /**
   * Behind a setting that fails it would change something with the settings of somebody else.
   * @param {Query | Batch} work that is next
   */
  #mustWaitForSettings(work) {
    const isRead = !(work instanceof Batch) && work.info.effect === 'read';
    if (isRead && !this.turns.areTaken) return false;
    this.#adoptProfile(work);
    return this.profile.isChanging;
  }

  /** Whoever has a connection alone gives it a profile, and changes it. @param {Query | Batch} work */
  #adoptProfile(work) {
    if (!this.#connection.isShared) return;
    this.profile.adopt(work instanceof Batch ? undefined : work.profile);
  }

  /** @param {Query | Batch} work that may be sent now */
  #place(work) {
    if (work.sharesSync && this.#gathered.isWorthIt && this.#load.isBehindMany) {
      this.#gather(/** @type {Query} */ (work));
      return;
    }
    // What may change something stays behind the reads that were submitted before it.
    if (this.#gathered.size > 0 && !this.#sendAll(this.#gathered.takeAll())) this.#hold(work);
    else if (this.#mustWaitForSettings(work)) this.#holdFirst(work);
    else if (work instanceof Batch) this.#sendBatch(work);
    else this.#send(work);
  }

  /**
   * Only queries of one text are grouped: they take the same locks, and the first of them has what
   * the others need. In a Sync group of several texts, one member's locks would be held while the
   * next one waits for its own, which can deadlock.
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

  /** All callbacks of this turn of the event loop have run: no more queries come in this tick. */
  endTick() {
    this.#endsTick = false;
    if (!this.#canSend) return;
    // While the server is busy, more queries may come that share the Sync.
    if (this.#gathered.size < MAX_GATHERED && this.#load.isBusy) return;
    this.#sendAll(this.#gathered.takeAll());
  }

  /**
   * @param {Query[]} gathered text by text
   * @returns {boolean} whether none of them has to wait for bytes to leave
   */
  #sendAll(gathered) {
    let isAll = true;
    for (const query of gathered) {
      if (
        !isAll ||
        this.#isTooMuch(query) ||
        this.turns.mustWait ||
        this.#mustWaitForSettings(query)
      ) {
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

  /** Sends what no longer has to wait. */
  sendHeld() {
    if (!this.#canSend) return;
    this.turns.sendNext();
    this.#guard.end();
    if (this.#gathered.size > 0) this.#beforeTickEnds();
    while (this.#held.length > 0 && this.#canSend) {
      const [first] = this.#held;
      if (this.#isTooMuch(first) || this.turns.mustWait) return;
      if (first.runsSolo && this.#load.sent > 0) return;
      if (first.runsSolo && this.#mustLearn(first)) {
        this.learnTransactionStatus();
        return;
      }
      if (this.#fences.mustWait(first)) {
        this.#fences.prepare();
        return;
      }
      if (this.#gathered.size === 0 && this.#mustWaitForSettings(first)) return;
      const next = /** @type {Query | Batch} */ (this.#held.shift());
      this.#load.unhold(next);
      this.#place(next);
    }
  }

  get isHolding() {
    if (this.#held.length > 0 || this.#gathered.size > 0) return true;
    return this.#guard.isOpen || this.turns.isAwaited;
  }

  get #canSend() {
    const { state } = this.#connection;
    if (this.#isBlocked || this.#solo !== undefined || this.statements.isAsking) return false;
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

  /** @returns {(Query | Batch)[]} what is held back */
  get held() {
    return [...this.#gathered.queries, ...this.#held];
  }

  /** @param {Query | Batch} work @returns {boolean} whether it was held back; it is removed then */
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

  /** Sends an empty query, even while blocked. @param {() => void} onAnswered */
  sendBarrier(onAnswered) {
    this.asides.send('', onAnswered);
  }

  /**
   * Whether a query must wait until it is known if it runs in a transaction. The Syncs in front of
   * it did not tell if statements of the driver's own were behind them.
   * @param {Query | Batch} work that has the connection to itself
   */
  #mustLearn(work) {
    const { transactionStatus } = this.#connection.session;
    if (transactionStatus !== -1 || !('isRead' in work)) return false;
    return work.isSequence || this.#guard.isFor(work);
  }

  /**
   * @returns {Promise<void>} resolves when the transaction status is known, or never will be, and
   *   what waited for it is sent
   */
  learnTransactionStatus() {
    return this.asides.learnTransactionStatus(() => this.sendHeld());
  }

  /**
   * libpq takes nothing else while a text is run by the simple protocol.
   * @param {() => void} write is called as soon as something may be written
   */
  whenPipelining(write) {
    if (this.#isPipelining) write();
    else this.#whenPipelining.push(write);
  }

  get #isPipelining() {
    return this.#solo === undefined || 'members' in this.#solo || this.#solo.results === undefined;
  }

  /** @returns {(Query | Batch)[]} what was held back and will not be sent here */
  clear() {
    this.asides.end();
    this.turns.end();
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
   * Sends each query under a Sync of its own, or a batch as it was.
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
      // The query takes the connection for itself again when it is sent.
      if (queries.some((query) => this.#isSolo(query))) this.#solo = undefined;
      if (!this.#canSend) {
        for (const query of queries) {
          this.#bytesInFlight += query.size;
          this.#connection.onNotSent(query);
        }
        return;
      }
      const [{ batch }] = queries;
      const works = batch === undefined ? [...queries] : [batch];
      // Before all that is held back: what waits for its settings has waited already.
      while (works.length > 0 && !this.turns.areTaken && !this.#mustWaitForSettings(works[0])) {
        const work = /** @type {Query | Batch} */ (works.shift());
        if (work instanceof Batch) this.#sendBatch(work);
        else this.#send(work);
      }
      for (const work of works.reverse()) this.#holdFirst(work);
      if (this.turns.areTaken) this.sendHeld();
    });
  }

  // --- Sending ----------------------------------------------------------------

  /** @param {Query} query */
  #send(query) {
    this.#adoptProfile(query);
    if (query.runsSolo) this.#solo = query;
    if (query.isSequence) query.role?.begin(this.#connection.session.transactionStatus > 0);
    if (query.isOwn) this.#connection.ownDeadline.watch();
    if (this.#guard.isFor(query)) this.#guard.begin(query);
    this.#bytesInFlight += query.size;
    this.#writer.send(query);
  }

  /**
   * It may be the end of a transaction: not even a cancel keeps it back.
   * @param {Query} query a sequence with its next text, which has the connection to itself
   */
  sendNext(query) {
    query.reset();
    if (query.isOwn) this.#connection.ownDeadline.watch();
    this.#writer.send(query);
  }

  /** @param {Batch} batch */
  #sendBatch(batch) {
    this.#adoptProfile(batch);
    if (batch.runsSolo) this.#solo = batch;
    this.#bytesInFlight += batch.size;
    this.#writer.sendBatch(batch, this.#fences.isNeededFor(batch));
  }

  /** A query that is sent by the simple protocol has the connection to itself. */
  get #canSendAside() {
    if (this.#isBlocked || this.#connection.state !== 'ready') return false;
    return !(this.#solo !== undefined && !(this.#solo instanceof Batch) && this.#solo.results);
  }
}

module.exports = { Outbox };
