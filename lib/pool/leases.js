'use strict';

// The leases of a pool: what connect() gives where clients may share connections (the option `multiplex`). Decides
// what may float, and who may be pinned: the oldest `max` leases, who would have a connection in `pg`. So nobody
// waits for a connection of those who wait for them, unless they did with `pg`. Owned by pool.js.

const { copyError, Deferred, TimeLimit } = require('../base');
const { Client, markHanded, plainQuery, POOL, transactionsOf } = require('../client');
const { OWN_DEFAULTS, Query } = require('../query');
const { LeaseConnection } = require('./lease-connection');
const { LeaseOrder } = require('./lease-order');
const { StalledReads } = require('./stalled-reads');

/**
 * @typedef {import('../query').Batch} Batch
 * @typedef {import('./member').Member} Member
 *
 * A lease that waits until it is among the oldest.
 * @typedef {{ granted: Deferred<void>, limit: TimeLimit | undefined }} Turn
 */

class Leases {
  #settings;
  #registry;
  #dispatcher;
  #admission;
  #shared;
  #stalled;
  #order;
  /** Those that were released with a statement in flight. @type {Set<LeaseConnection>} */
  #released = new Set();
  /** Those that wait until they are old enough. */
  #turnCount = 0;

  /**
   * @param {import('../options').Settings} settings
   * @param {import('../statements').StatementRegistry} registry
   * @param {import('./dispatcher').Dispatcher} dispatcher
   * @param {import('./admission').Admission} admission
   */
  constructor(settings, registry, dispatcher, admission) {
    this.#settings = settings;
    this.#registry = registry;
    this.#dispatcher = dispatcher;
    this.#admission = admission;
    this.#order = new LeaseOrder(settings.max);
    this.#stalled = new StalledReads(
      () => this.#floating(),
      (query) => this.float(query),
      (query, reason) => dispatcher.abort(query, reason),
    );
    /** What asks the catalog. */
    this.#shared = {
      state: 'ready',
      isShared: true,
      submit: (/** @type {Query} */ query) => dispatcher.runShared(query),
    };
  }

  get count() {
    return this.#order.size;
  }

  get counts() {
    let pinned = 0;
    for (const { member } of this.#order) if (member !== undefined) ++pinned;
    return { floating: this.count - pinned, pinned };
  }

  /** Those that wait until they may be pinned. */
  get waitingCount() {
    return this.#turnCount;
  }

  /**
   * Whether connect() may give one now: an open connection shows that the server is there and the login good, and
   * sessions begin as the server makes them. With `max: 1` a pool is used as a mutex.
   */
  get isPossible() {
    const { multiplex, max, makeClient, resetQuery } = this.#settings;
    if (multiplex === 'off' || max === 1 || makeClient !== undefined) return false;
    // Sessions keep what borrowers have made of them.
    if (resetQuery === '') return false;
    return this.#dispatcher.mayMultiplex;
  }

  /** @returns {{ client: Client, release: (isBroken: boolean) => void }} */
  open() {
    /** @type {LeaseConnection | undefined} */
    let lease;
    const client = new Client({
      [POOL]: {
        settings: this.#settings,
        registry: this.#registry,
        makeConnection: (/** @type {import('../client').ClientEvents} */ events) =>
          (lease = new LeaseConnection(this, events)),
      },
    });
    const opened = /** @type {LeaseConnection} */ (/** @type {unknown} */ (lease));
    this.#order.add(opened);
    const release = (/** @type {boolean} */ isBroken) => {
      transactionsOf(client).close();
      this.#release(opened, isBroken);
    };
    return { client, release };
  }

  /** @param {LeaseConnection} lease @param {boolean} isBroken */
  async #release(lease, isBroken) {
    lease.release(isBroken);
    // What it has left behind is still to be sent.
    while (lease.isWaiting) await lease.whenServed();
    this.#remove(lease);
    if (lease.floating === undefined) return;
    this.#released.add(lease);
    await lease.whenServed();
    this.#released.delete(lease);
  }

  /** @param {LeaseConnection} lease */
  #remove(lease) {
    const next = this.#order.remove(lease);
    // It is served from here on: it can no longer be taken back.
    if (next !== undefined) this.#endTurn(next)?.granted.resolve();
    this.#dispatcher.onLeaseReleased();
  }

  // --- Floating -------------------------------------------------------------------

  /**
   * @param {Query} query
   * @param {import('../client').ClientEvents} events of the lease's client
   */
  mayFloat(query, { face }) {
    if (query.runsSolo || query.isStreamed || query.isCopy || query.isOwn) return false;
    const info = query.identify(this.#registry);
    const isWrite = info.effect === 'write' && this.#settings.multiplex === 'all';
    if (info.effect !== 'read' && !isWrite) return false;
    if (info.isSeveral || !this.#dispatcher.mayMultiplex) return false;
    // What the server says beside the answer is for who listens here, not for neighbours.
    if (face.listenerCount('notice') > 0 || face.listenerCount('notification') > 0) return false;
    const { catalog } = this.#registry;
    const names = catalog.names ?? catalog.find(this.#shared, true);
    if (names === undefined) return false;
    return isWrite ? this.#mayFloatWrite(info, names) : info.readsUnbound(names);
  }

  /**
   * Not a write behind which lastval() or currval() may be asked: they answer for the session of the write. Nor where
   * somebody is in a transaction, who may have locked its rows, and may wait, outside of the database, for a write that
   * would stand behind this one.
   * @param {import('../statements').StatementInfo} info
   * @param {import('../statements').CatalogNames} names
   */
  #mayFloatWrite(info, names) {
    if (!info.writesPlain(names) || this.#dispatcher.hasTransaction) return false;
    const areAsked = names.asksSequences || this.#registry.hasAskedSequences;
    return !areAsked || !info.mayCallNextval(names);
  }

  /** @param {Query} query */
  float(query) {
    if (Client.prototype.query !== plainQuery) markHanded(query);
    this.#dispatcher.runShared(query);
    if (isRead(query)) this.#stalled.watch(query);
  }

  /** Reads in flight; a write is never sent again. @returns {Query[]} */
  #floating() {
    const queries = [];
    for (const leases of [this.#order, this.#released]) {
      for (const { floating } of leases) {
        if (floating !== undefined && isRead(floating)) queries.push(floating);
      }
    }
    return queries;
  }

  /** @param {Query | Batch} work @returns {boolean} whether it may ask for the last value of a sequence */
  asksSequences(work) {
    const queries = 'members' in work ? work.members : [work];
    return queries.some(({ text }) => this.#registry.find(text).asksSequences);
  }

  /** @param {string} text of the driver's own @returns {Promise<import('../rows').Result>} */
  ask(text) {
    const query = new Query(text, [], {}, OWN_DEFAULTS);
    this.#dispatcher.runShared(query);
    return query.promise;
  }

  /** @param {Query | Batch} work @param {import('../base').QueryAbortedError} reason */
  abort(work, reason) {
    this.#dispatcher.abort(work, reason);
  }

  /** As a query of the pool. @param {Query | Batch} work of a client that was released */
  runReleased(work) {
    this.#admission.dispatch(work);
  }

  /** A connection that queries share, to ask what all of them know. */
  get anyMember() {
    return this.#dispatcher.anyShared;
  }

  // --- Pinning --------------------------------------------------------------------

  /** @param {LeaseConnection} lease @returns {Promise<Member>} in the state exclusive */
  async pin(lease) {
    if (!lease.isOld) await this.#whenOld(lease);
    return this.#dispatcher.pin(undefined, lease);
  }

  /**
   * @param {LeaseConnection} lease that needs no connection any more
   * @returns {boolean} whether it waited for one; then the promise of pin() never settles
   */
  stopPinning(lease) {
    const turn = this.#endTurn(lease);
    if (turn === undefined) return this.#dispatcher.stopPinning(lease);
    turn.limit?.cancel();
    return true;
  }

  /** @param {LeaseConnection} lease @returns {Member | undefined} in the state exclusive, if one is idle */
  pinNow(lease) {
    return lease.isOld ? this.#dispatcher.pinIdle() : undefined;
  }

  /** @param {Member} member @param {boolean} isBroken */
  takeBack(member, isBroken) {
    this.#dispatcher.takeBack(member, isBroken);
  }

  /** @param {LeaseConnection} lease */
  async #whenOld(lease) {
    const refusal = this.#dispatcher.refuseToWait();
    if (refusal !== undefined) throw refusal;
    const { connectionTimeoutMillis: millis } = this.#settings;
    /** @type {Turn} */
    const turn = { granted: new Deferred(), limit: undefined };
    if (millis > 0) {
      turn.limit = new TimeLimit(millis, () =>
        turn.granted.reject(this.#dispatcher.timeoutError()),
      );
    }
    lease.turn = turn;
    ++this.#turnCount;
    try {
      await turn.granted.promise;
    } finally {
      turn.limit?.cancel();
      if (lease.turn === turn) this.#endTurn(lease);
    }
  }

  /** @param {LeaseConnection} lease @returns {Turn | undefined} what it has waited for, if it has */
  #endTurn(lease) {
    const { turn } = lease;
    if (turn === undefined) return undefined;
    lease.turn = undefined;
    --this.#turnCount;
    return turn;
  }

  /** @param {Error} error that several statements are rejected with */
  copy(error) {
    return Object.assign(copyError(error), { outcome: 'not-run' });
  }
}

/** Not identified yet is the second query for a read that has stalled. @param {Query} query that floats */
function isRead({ info }) {
  return info?.effect !== 'write';
}

module.exports = { Leases };
