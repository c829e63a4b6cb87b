'use strict';

// The leases of a pool: what connect() gives where clients may share connections (the option `multiplex`). Decides
// what may float; who may be pinned, lender.js decides. Owned by pool.js.

const { afterDelivery, copyError } = require('../base');
const { Client, connectionOf, markHanded, plainQuery, POOL, transactionsOf } = require('../client');
const { binding, ticks } = require('../native');
const { DISCARD_ALL } = require('../options');
const { OWN_DEFAULTS, Query } = require('../query');
const { KnownSettings } = require('./known-settings');
const { LeaseConnection } = require('./lease-connection');
const { StalledReads } = require('./stalled-reads');

/**
 * @typedef {import('../query').Batch} Batch
 * @typedef {import('../statements').Setting} Setting
 * @typedef {import('./member').Member} Member
 */

class Leases {
  /** Whether they live for long, so that each lets go of a connection as soon as it can. */
  areLasting = false;
  registry;
  /** Those that were not released. */
  count = 0;
  /** Those of them that have a connection. */
  pinnedCount = 0;
  #settings;
  /** Of the clients that have a lease. */
  #config;
  #dispatcher;
  #admission;
  #shared;
  #stalled;
  #lender;
  #knownSettings = new KnownSettings();
  /** @type {LeaseConnection[]} */
  #unpinning = [];
  /** What the driver asks for itself, in flight. */
  #questions = 0;
  /** The last of these. @type {Promise<void>} */
  #answered = Promise.resolve();

  /**
   * @param {import('../options').Settings} settings
   * @param {import('../statements').StatementRegistry} registry
   * @param {import('./dispatcher').Dispatcher} dispatcher
   * @param {import('./admission').Admission} admission
   */
  constructor(settings, registry, dispatcher, admission) {
    this.#settings = settings;
    this.registry = registry;
    this.#dispatcher = dispatcher;
    this.#admission = admission;
    this.#lender = dispatcher.lender;
    this.#stalled = new StalledReads(dispatcher, this);
    this.#config = {
      [POOL]: {
        settings,
        registry,
        makeConnection: (/** @type {import('../client').ClientEvents} */ events) =>
          new LeaseConnection(this, events),
      },
    };
    /** What asks the catalog. */
    this.#shared = {
      state: 'ready',
      isShared: true,
      submit: (/** @type {Query} */ query) => this.#askForAll(query),
    };
  }

  get counts() {
    return { floating: this.count - this.pinnedCount, pinned: this.pinnedCount };
  }

  /** Whether statements may run on any connection: all lead to the same server, and nothing is between. */
  get mayMultiplex() {
    return this.#dispatcher.mayMultiplex && !this.registry.catalog.isBehindPooler;
  }

  /**
   * Whether connect() may give one now: an open connection shows that the server is there and the login good, and
   * sessions begin as the server makes them.
   */
  get isPossible() {
    if (!this.#lender.mayLease || !this.mayMultiplex) return false;
    return this.#admission.refuse() === undefined;
  }

  /** @returns {Client} */
  open() {
    const client = new Client(this.#config);
    this.add(leaseOf(client));
    return client;
  }

  /** @param {LeaseConnection} lease */
  add(lease) {
    ++this.count;
    this.#lender.join(lease);
  }

  /** @param {LeaseConnection} lease that needs a connection: it takes its place behind the others, if it has none */
  rank(lease) {
    if (!lease.isRanked) this.#lender.join(lease);
  }

  /** @param {LeaseConnection} lease that has waited in vain, and needs a connection no more */
  unrank(lease) {
    this.#lender.leave(lease);
  }

  /** @param {Client} client of open() @param {boolean} isBroken */
  release(client, isBroken) {
    transactionsOf(client).close();
    const lease = leaseOf(client);
    lease.release(isBroken);
    if (lease.isWaiting) this.#endLater(lease);
    else this.remove(lease);
  }

  /** @param {LeaseConnection} lease that has left something behind, which is still to be sent */
  async #endLater(lease) {
    while (lease.isWaiting) await lease.whenServed();
    this.remove(lease);
  }

  /** @param {LeaseConnection} lease */
  remove(lease) {
    --this.count;
    this.#lender.leave(lease);
    this.#dispatcher.onLeaseReleased();
  }

  /** What the catalog of the database says, if it is known; else it is asked. */
  get names() {
    const { catalog } = this.registry;
    // A client alone has nobody to share with.
    if (this.areLasting && this.count < 2) return catalog.names;
    return catalog.names ?? catalog.find(this.#shared, true);
  }

  /** Whether somebody asks for what nextval() has left in the session. */
  get areSequencesAsked() {
    return this.registry.hasAskedSequences || this.names?.asksSequences === true;
  }

  /** Whether connections are given the settings of leases. A reset of the user's own may restore others. */
  get mayHaveProfiles() {
    return this.#settings.resetQuery === DISCARD_ALL;
  }

  /** @param {Query | Batch} work @returns {Setting[] | undefined} settings that it makes, and that need not be executed */
  findSettings(work) {
    return this.mayHaveProfiles && this.mayMultiplex ? this.#knownSettings.find(work) : undefined;
  }

  /** @param {string} text that has made them @param {Setting[]} settings */
  learnSettings(text, settings) {
    if (!this.#knownSettings.learn(text, settings)) return;
    // Others wait for a connection to make the same.
    afterDelivery(() => {
      for (const borrower of [...this.#lender.ranked]) {
        if (borrower instanceof LeaseConnection) borrower.makeKnownSettings();
      }
    });
  }

  // --- Floating -------------------------------------------------------------------

  /**
   * @param {Query} query
   * @param {import('../client').ClientEvents} events of the lease's client
   */
  mayFloat(query, { face }) {
    // A read that stalls is asked again by its text: so it is no description.
    if (query.runsSolo || !query.isPlain) return false;
    const info = query.identify(this.registry);
    const { isWrite } = info;
    if (info.effect === 'other' || (isWrite && this.#settings.multiplex !== 'all')) return false;
    if (info.isSeveral || !this.mayMultiplex) return false;
    if (face.listenerCount('notification') > 0) return false;
    if (face.listenerCount('notice') > 0 && !binding.placesNotices) return false;
    const { names } = this;
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
    if (!info.writesPlain(names) || this.#dispatcher.activity.hasTransaction) return false;
    return !this.areSequencesAsked || !info.mayCallNextval(names);
  }

  /** @param {Query} query */
  float(query) {
    if (Client.prototype.query !== plainQuery) markHanded(query);
    this.#dispatcher.runShared(query);
  }

  /** @param {Query | Batch} work that was sent on a connection that others share: a read that stalls there is asked again */
  watch(work) {
    this.#stalled.watch(work);
  }

  /** @param {string} text of the driver's own @returns {Promise<import('../rows').Result>} */
  ask(text) {
    const query = new Query(text, [], {}, OWN_DEFAULTS);
    this.#askForAll(query);
    return query.promise;
  }

  /** @param {Query} query of the driver's own */
  #askForAll(query) {
    ++this.#questions;
    this.#answered = new Promise((resolve) => {
      query.onceSettled(() => {
        --this.#questions;
        resolve();
      });
    });
    // Not for those who have wrapped query().
    markHanded(query);
    this.#dispatcher.runShared(query);
  }

  /** Has the catalog asked. @returns {Promise<void>} resolves when it has answered, or has failed to */
  async whenLearned() {
    if (this.names !== undefined) return;
    // It is asked behind what is being delivered.
    await new Promise((resolve) => {
      afterDelivery(() => resolve(undefined));
    });
    await this.#answered;
  }

  /** What is in flight, or waits, besides that of leases: at most so many connections are busy with it. */
  get besideCount() {
    return this.#questions + this.#stalled.count;
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

  /**
   * @param {LeaseConnection} lease
   * @param {Member} [wanted] no other one
   * @returns {Member | undefined} in the state exclusive, if one is idle
   */
  pinNow(lease, wanted) {
    return this.#lender.pinIdle(lease, wanted);
  }

  /**
   * Most clients are released behind their transaction: then the connection goes straight to the next one.
   * @param {LeaseConnection} lease whose connection may become needless
   */
  unpinSoon(lease) {
    if (this.#unpinning.push(lease) === 1) ticks.beforeEnd(this);
  }

  /** All callbacks of this turn of the event loop have run, and whoever wanted to has released a client. */
  endTick() {
    for (const each of this.#unpinning.splice(0)) each.unpin();
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

/** @param {Client} client @returns {LeaseConnection} */
function leaseOf(client) {
  return /** @type {any} */ (connectionOf(client));
}

module.exports = { Leases };
