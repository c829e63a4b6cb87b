'use strict';

// Whether a statement that was prepared is still there in the next transaction, which a pooler may run in another
// session of the server. Until that is known, a statement of an earlier transaction is executed only where its query
// would be sent again without it. Found out once for all of a pool or client, by the first who has a connection alone
// and prepares one, as soon as nothing else is in flight there: PgBouncer 1.18 in statement mode may not answer two at a
// time. That no pooler is between is asked of each connection besides, by who leaves out descriptions (known-columns.js).
// Owned by prepared-statements.js.

const { randomUUID } = require('node:crypto');
const { afterDelivery, knownColumns } = require('../base');
const { takeSlot, ticks } = require('../native');
const { Housekeeping } = require('./housekeeping');

/**
 * @typedef {import('./connection').Connection} Connection
 * @typedef {import('../query').Query} Query
 * @typedef {import('../statements').Statement} Statement
 *
 * - unknown
 * - direct: no pooler is between
 * - managed: a pooler is between, and gives statements names of its own: it prepares them wherever it needs them
 * - blind: a pooler is between that passes them on as they are. They stay where sessions are not shared (session mode)
 * @typedef {'unknown' | 'direct' | 'managed' | 'blind'} Keeping
 */

/** PQTRANS_IDLE */
const IDLE = 0;

/** Who may not ask for the process is not asked again and again; somebody's cancel request may have hit the question. */
const MAX_FAILURES = 3;

class StatementKeeping {
  #connection;
  #syncs;
  #settings;
  #takeId;
  /** A question that waits until it can do no harm. @type {(() => void) | undefined} */
  #question = undefined;
  #isAsking = false;
  /** A question was sent: nothing else is, until it is answered. */
  isInFlight = false;
  /** Whether it is proved that no pooler is between this connection and its server. */
  isDirect = false;
  /** Whether the question for the process was answered. */
  #isKnown = false;
  /** How often the question has had no answer. */
  #failures = 0;
  #resume;

  /**
   * @param {Connection} connection
   * @param {import('./sync-groups').SyncWriter} syncs
   * @param {import('../options').Settings} settings
   * @param {() => number} takeId of a statement
   * @param {() => void} resume sends what has waited for an answer
   */
  constructor(connection, syncs, settings, takeId, resume) {
    this.#connection = connection;
    this.#resume = resume;
    this.#syncs = syncs;
    this.#settings = settings;
    this.#takeId = takeId;
  }

  get #isSure() {
    const { keeping } = this.#settings;
    return keeping === 'direct' || keeping === 'managed';
  }

  /**
   * Whether to prepare one. What stays behind in sessions of others, nobody closes.
   * @param {Query} query that would execute it
   */
  mayPrepare({ info }) {
    return (
      this.#settings.keeping !== 'blind' || (this.#connection.isShared && !info.mayCommitInside)
    );
  }

  /**
   * @param {Statement} statement
   * @param {Query} query that is about to be sent
   */
  mayExecute({ transaction }, { info }) {
    if (this.#isSure) return true;
    const { isShared, session } = this.#connection;
    if (isShared) return !info.mayCommitInside;
    this.#want();
    // A transaction stays in its session.
    return session.transactionStatus > IDLE && session.transaction === transaction;
  }

  /** @param {Statement} statement that is about to be prepared */
  onPrepare(statement) {
    statement.transaction = this.#connection.session.transaction;
    if (!this.#connection.isShared) this.#want();
  }

  /** It is of use to know. */
  #want() {
    if (this.#settings.keeping === 'unknown') this.#wantProcess();
  }

  /** It is of use to know isDirect. */
  wantDirect() {
    const { keeping } = this.#settings;
    if (!this.#isKnown && keeping !== 'managed' && keeping !== 'blind') this.#wantProcess();
  }

  #wantProcess() {
    if (this.#isAsking || this.#failures === MAX_FAILURES) return;
    this.#isAsking = true;
    this.#question = () => this.#askProcess();
  }

  /** A Sync has come. */
  synced() {
    if (this.#question === undefined) return;
    afterDelivery(() => this.#connection.whenPipelining(() => this.#askIfPossible()));
  }

  /** Not in a transaction of a caller's: an error would abort that. */
  #askIfPossible() {
    const question = this.#question;
    const { session, state, canceller } = this.#connection;
    const isCancelling = canceller.current !== undefined;
    const isPossible = session.isAllAnswered || this.#isCrowded;
    const isIdle = isPossible && !isCancelling && session.transactionStatus <= IDLE;
    if (question === undefined || state !== 'ready' || !isIdle) return;
    this.#question = undefined;
    question();
  }

  /** Whether callers have more than one query in flight: then it does no harm if there is another. */
  get #isCrowded() {
    return this.#connection.isShared && this.#connection.inFlight > 1;
  }

  /** A pooler reports process ids of its own. */
  #askProcess() {
    /** @type {number | undefined} */
    let found;
    this.#send(
      'select pg_catalog.pg_backend_pid()',
      (row) => (found = Number(row[0])),
      () => this.#learnProcess(found),
    );
  }

  /** @param {number | undefined} found undefined: there was no answer */
  #learnProcess(found) {
    const { processID, isShared, state } = this.#connection;
    this.#isKnown = found !== undefined;
    if (!this.#isKnown) ++this.#failures;
    // 0 is what they say who have none.
    this.isDirect = found === processID && processID > 0;
    if (found === processID) this.#learn('direct');
    const isWanted = this.#settings.keeping === 'unknown' && !isShared && state === 'ready';
    if (this.#isKnown && isWanted) this.#question = () => this.#askName();
    else this.#isAsking = false;
    this.synced();
  }

  /** A statement looks for itself by its own text, and so for the name that it has on the server. */
  #askName() {
    const mark = randomUUID();
    const text =
      'select count(*)::int from pg_catalog.pg_prepared_statements ' +
      `where name like 'pgc\\_%' and pg_catalog.strpos(statement, '${mark}') > 0`;
    /** @type {number | undefined} */
    let found;
    const onRow = (/** @type {any[]} */ row) => (found = Number(row[0]));
    this.#send(
      text,
      onRow,
      () => {
        this.#isAsking = false;
        if (found !== undefined) this.#learn(found > 0 ? 'blind' : 'managed');
      },
      true,
    );
  }

  /** @param {Keeping} keeping */
  #learn(keeping) {
    if (this.#settings.keeping === 'unknown') this.#settings.keeping = keeping;
  }

  /**
   * @param {string} text
   * @param {(row: any[]) => void} onRow
   * @param {() => void} onAnswered
   * @param {boolean} [isPrepared] and closed behind the same Sync, so in the same session
   */
  #send(text, onRow, onAnswered, isPrepared = false) {
    const { id } = this.#connection;
    this.isInFlight = !this.#isSure && !this.#isCrowded;
    const answered = () => {
      this.isInFlight = false;
      onAnswered();
      this.#resume();
    };
    const slot = takeSlot(new Housekeeping(this.#connection, text, answered, onRow));
    if (isPrepared) {
      const statement = this.#takeId();
      ticks.writeParse(id, slot, statement, text);
      ticks.writeExecute(id, slot, 0, statement, knownColumns.unknown, []);
      ticks.writeClose(id, slot, statement);
    } else {
      ticks.writeQuery(id, slot, 0, text, []);
    }
    this.#syncs.endAlone(slot);
  }
}

module.exports = { StatementKeeping };
