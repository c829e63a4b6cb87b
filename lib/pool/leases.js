'use strict';

// The leases of a pool: what connect() gives where clients may share connections (the option `multiplex`). Decides
// what may float; who may be pinned, lender.js decides. Owned by pool.js.

const { copyError } = require('../base');
const { Client, markHanded, plainQuery, POOL, transactionsOf } = require('../client');
const { OWN_DEFAULTS, Query } = require('../query');
const { LeaseConnection } = require('./lease-connection');
const { StalledReads } = require('./stalled-reads');

/**
 * @typedef {import('../query').Batch} Batch
 * @typedef {import('./member').Member} Member
 */

class Leases {
  /** Those that were not released. */
  count = 0;
  /** Those of them that have a connection. */
  pinnedCount = 0;
  #settings;
  #registry;
  #dispatcher;
  #admission;
  #shared;
  #stalled;
  #lender;
  /** Those that were released with a read in flight. @type {Set<LeaseConnection>} */
  #released = new Set();

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
    this.#lender = dispatcher.lender;
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

  get counts() {
    return { floating: this.count - this.pinnedCount, pinned: this.pinnedCount };
  }

  get #mayMultiplex() {
    return this.#dispatcher.mayMultiplex && !this.#registry.catalog.isBehindPooler;
  }

  /**
   * Whether connect() may give one now: an open connection shows that the server is there and the login good, and
   * sessions begin as the server makes them.
   */
  get isPossible() {
    if (!this.#lender.mayLease || !this.#mayMultiplex) return false;
    return this.#admission.refuse() === undefined;
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
    ++this.count;
    this.#lender.join(opened);
    const release = (/** @type {boolean} */ isBroken) => {
      transactionsOf(client).close();
      this.#release(opened, isBroken);
    };
    return { client, release };
  }

  /** @param {LeaseConnection} lease @param {boolean} isBroken */
  #release(lease, isBroken) {
    lease.release(isBroken);
    if (lease.isWaiting || lease.floating !== undefined) this.#endLater(lease);
    else this.#end(lease);
  }

  /** @param {LeaseConnection} lease that has left something behind, which is still to be sent or answered */
  async #endLater(lease) {
    while (lease.isWaiting) await lease.whenServed();
    this.#end(lease);
    if (lease.floating === undefined) return;
    this.#released.add(lease);
    await lease.whenServed();
    this.#released.delete(lease);
  }

  /** @param {LeaseConnection} lease */
  #end(lease) {
    --this.count;
    this.#lender.leave(lease);
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
    if (info.effect !== 'read' || info.isSeveral || !this.#mayMultiplex) return false;
    // What the server says beside the answer is for who listens here, not for neighbours.
    if (face.listenerCount('notice') > 0 || face.listenerCount('notification') > 0) return false;
    const { catalog } = this.#registry;
    const names = catalog.names ?? catalog.find(this.#shared, true);
    return names !== undefined && info.readsUnbound(names);
  }

  /** @param {Query} query */
  float(query) {
    if (Client.prototype.query !== plainQuery) markHanded(query);
    this.#dispatcher.runShared(query);
    this.#stalled.watch(query);
  }

  /** Reads in flight. @returns {Query[]} */
  #floating() {
    const queries = [];
    for (const borrower of [...this.#lender.ranked, ...this.#released]) {
      const floating = borrower instanceof LeaseConnection ? borrower.floating : undefined;
      if (floating !== undefined) queries.push(floating);
    }
    return queries;
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

  /** @param {LeaseConnection} lease that is granted a connection, or refused one; perhaps at once */
  pin(lease) {
    this.#lender.pin(lease);
  }

  /** @param {LeaseConnection} lease that waits for a connection, and needs none any more */
  stopPinning(lease) {
    this.#lender.stopPinning(lease);
  }

  /** @param {LeaseConnection} lease @returns {Member | undefined} in the state exclusive, if one is idle */
  pinNow(lease) {
    return this.#lender.pinIdle(lease);
  }

  /** @param {Member} member @param {boolean} isBroken */
  takeBack(member, isBroken) {
    --this.pinnedCount;
    this.#lender.takeBack(member, isBroken);
  }

  /** @param {Error} error that several statements are rejected with */
  copy(error) {
    return Object.assign(copyError(error), { outcome: 'not-run' });
  }
}

module.exports = { Leases };
