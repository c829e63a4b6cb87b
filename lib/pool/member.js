'use strict';

// One connection of a pool: who may use it now, and until when it lives. Used
// by pool.js alone.

const {
  Client,
  connectionOf,
  eventsOf,
  handOver,
  plainQuery,
  POOL,
  setUpSession,
  typesOf,
} = require('../client');
const { ownQuery } = require('../connection');
const { DISCARD_ALL } = require('../options');
const { Batch } = require('../query');

/** Lifetimes end between this part of the limit and all of it, so that a pool does not renew all of its connections at once. */
const LIFETIME_JITTER = 0.1;

/**
 * @typedef {import('../client').PoolSide} PoolSide
 * @typedef {import('../query').Query} Query
 */

class Member {
  /**
   * shared: queries of everybody; reserved: no new ones, since somebody waits
   * to have it alone; exclusive: lent; leaving: closed once nothing is in flight
   * @type {'connecting' | 'shared' | 'reserved' | 'exclusive' | 'leaving'}
   */
  state = 'connecting';
  /** Who has it, while it is lent. @type {import('./ranking').Borrower | undefined} */
  borrower = undefined;
  /** Since when nothing has been in flight, as of the last sweep. */
  idleSince = Infinity;
  #settledAtSweep = -1;
  /** Queries that are no uses of it: those that made its session what it is, and a borrower's but one. */
  #uncounted = 0;
  #queriesAtLoan = 0;
  #retireAt = Infinity;
  /** It is to write, and the server does not let it: a primary is a standby now. */
  #isUnfit = false;
  #settings;
  #onUnsent;

  /**
   * @param {import('../options').Settings} settings
   * @param {import('../statements').StatementRegistry} registry
   * @param {Required<Pick<PoolSide, 'onUnsent' | 'onSettled' | 'onLost' | 'onClosed'>> & Pick<PoolSide, 'onReadOnly'>} listener
   */
  constructor(settings, registry, listener) {
    this.#settings = settings;
    this.#onUnsent = listener.onUnsent;
    const side = { [POOL]: { settings, registry, ...listener } };
    this.client = settings.makeClient === undefined ? new Client(side) : settings.makeClient(side);
    this.connection = connectionOf(this.client);
  }

  /** @returns {Promise<void>} */
  async connect() {
    await this.client.connect();
    await setUpSession(this.client, this.connection, this.#settings);
    const { maxLifetimeSeconds } = this.#settings;
    if (maxLifetimeSeconds > 0) {
      const millis = maxLifetimeSeconds * 1000;
      this.#retireAt = performance.now() + millis * (1 - LIFETIME_JITTER * Math.random());
    }
  }

  /** From now on others may use it. */
  start() {
    const { connection } = this;
    connection.session.hasTouchedSession = false;
    this.#uncounted = connection.settled + connection.inFlight;
  }

  /** @param {'shared' | 'reserved' | 'exclusive' | 'leaving'} state */
  become(state) {
    // While it was lent it was in use, whatever was sent.
    if (this.state === 'exclusive' && state === 'shared') this.#settledAtSweep = -1;
    if (state === 'exclusive') this.#queriesAtLoan = this.#queries;
    this.state = state;
    // What is in flight on one that leaves is still that of its callers, one or many.
    if (state !== 'leaving') this.connection.isShared = state !== 'exclusive';
    // Nobody tells the pool when a borrower sends something.
    if (state === 'exclusive') this.connection.setLoopRef(true);
  }

  /** @param {Query | Batch} work */
  submit(work) {
    // Idle connections of such a pool do not keep the process alive, busy ones do.
    if (this.#settings.allowExitOnIdle && this.connection.inFlight === 0) {
      this.connection.setLoopRef(true);
    }
    if (typesOf(this.client) !== this.#settings.types) this.#lendParsers(work);
    if (this.isWrapped && !(work instanceof Batch) && work.isPlain) {
      if (handOver(work, this.client, this.connection, this.#onUnsent)) return;
    }
    if (work instanceof Batch) this.connection.submitBatch(work);
    else this.connection.submit(work);
  }

  /**
   * As in `pg`, what a listener of `connect` has set on the client counts for what a pool runs on it.
   * @param {Query | Batch} work
   */
  #lendParsers(work) {
    for (const query of work instanceof Batch ? work.members : [work]) {
      if (query.types === this.#settings.types) query.types = typesOf(this.client);
    }
  }

  /** The client that users have for it. */
  get face() {
    return eventsOf(this.client).face;
  }

  /** Somebody wants to see what is asked of the client. */
  get isWrapped() {
    return this.client.query !== plainQuery;
  }

  get isIdle() {
    return this.connection.inFlight === 0;
  }

  get #queries() {
    const { settled, inFlight } = this.connection;
    return settled + inFlight;
  }

  /** Its borrower has given it back: as in `pg` that was one use. */
  endLoan() {
    this.#uncounted += this.#queries - this.#queriesAtLoan - 1;
    this.connection.session.hasTouchedTransaction = false;
  }

  /** Whether it has served as often as it may. */
  get isSpent() {
    return this.#isUnfit || this.#queries - this.#uncounted >= this.#settings.maxUses;
  }

  /** @returns {boolean} whether it is to be replaced for that */
  onReadOnly() {
    this.#isUnfit = this.#settings.wantsWriter;
    return this.#isUnfit;
  }

  /** @param {number} now performance.now() */
  hasOutlived(now) {
    return now >= this.#retireAt;
  }

  /**
   * Looks whether it has been in use since the last time.
   * @param {number} now performance.now()
   */
  sweep(now) {
    const { settled } = this.connection;
    if (!this.isIdle || settled !== this.#settledAtSweep) this.idleSince = now;
    this.#settledAtSweep = settled;
  }

  /** Whether its borrower has left nothing behind: nothing is in flight, and there is nothing to undo. */
  get isClean() {
    const { session, canceller, inFlight } = this.connection;
    if (inFlight > 0 || canceller.current !== undefined || canceller.mayBeSignalled) return false;
    if (session.hasTouchedSession) return false;
    return !session.hasTouchedTransaction || session.transactionStatus === 0;
  }

  /**
   * Undoes what the last borrower left behind: an open transaction, a changed
   * session.
   * @param {boolean} hasInitialState the session did not begin as the server
   *   makes it, and DISCARD ALL would lose that
   * @returns {Promise<boolean>} whether others may use it now
   */
  async reset(hasInitialState) {
    const { connection } = this;
    const { session } = connection;
    // A signal that comes late would hit whoever is next.
    if (connection.canceller.mayBeSignalled) return false;
    const { resetQuery } = this.#settings;
    // A text of the user's own is to make that state, too.
    const losesState = hasInitialState && resetQuery === DISCARD_ALL;
    if (session.hasTouchedSession && losesState) return false;
    /** @type {string[]} */
    const texts = [];
    // 0 is known to be idle; anything else, with such statements, may be a transaction.
    if (session.hasTouchedTransaction && session.transactionStatus !== 0) {
      texts.push('ROLLBACK');
    }
    if (session.hasTouchedSession && resetQuery !== '') texts.push(resetQuery);
    session.hasTouchedTransaction = false;
    session.hasTouchedSession = false;
    if (texts.length === 0) return true;
    const queries = texts.map((text) => ownQuery(text));
    for (const query of queries) connection.submit(query);
    const outcomes = await Promise.allSettled(queries.map(({ promise }) => promise));
    session.hasTouchedTransaction = false;
    session.hasTouchedSession = false;
    if (resetQuery === DISCARD_ALL && texts.includes(resetQuery)) {
      connection.profile.current = undefined;
    }
    // It may have left a transaction open.
    if (session.transactionStatus > 0) return false;
    return outcomes.every(({ status }) => status === 'fulfilled');
  }
}

module.exports = { Member };
