'use strict';

// Reads that stand on a shared connection behind a statement that has stalled, such as one that waits for a lock. In `pg`
// each of them would have a connection of its own, and whoever holds the lock may wait for one of them. So they are asked
// again on another connection, and the first answer counts. Made by leases.js; told by admission.js, too.

const { QueryAbortedError } = require('../base');
const { markHanded } = require('../client');
const { Query } = require('../query');

/** @typedef {import('../connection').Connection} Connection */

const LOOK_MILLIS = 20;
/** After a refusal (`maxWaiting`) none is asked again for so long. */
const PAUSE_MILLIS = 1000;

class StalledReads {
  #dispatcher;
  #findNames;
  /** Reads that were asked again, and as what. @type {Map<Query, Query>} */
  #twins = new Map();
  /** How many queries each overdue connection had settled at the last look. @type {Map<Connection, number>} */
  #overdue = new Map();
  #notBefore = -Infinity;
  /** @type {NodeJS.Timeout | undefined} */
  #timer = undefined;

  /**
   * @param {import('./dispatcher').Dispatcher} dispatcher
   * @param {() => import('../statements').CatalogNames | undefined} findNames by which a read is known; asked for if they
   *   are not known yet
   */
  constructor(dispatcher, findNames) {
    this.#dispatcher = dispatcher;
    this.#findNames = findNames;
  }

  /** Reads that are in flight for the second time. */
  get count() {
    return this.#twins.size;
  }

  /** @param {Query} [query] that was submitted; else some were */
  watch(query) {
    // Alone on its connection, as a rule.
    if (this.#timer !== undefined || query?.connection?.inFlight === 1) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#look();
    }, LOOK_MILLIS).unref();
  }

  #look() {
    const { activity } = this.#dispatcher;
    const now = performance.now();
    const overdue = new Map();
    // Those who ask for the first time come before them.
    let mayAsk = now >= this.#notBefore && [...this.#twins.values()].every(isSent);
    mayAsk &&= activity.mayServe(now);
    const shared = activity.sharedConnections;
    for (const connection of shared) {
      if (!connection.load.isOverdue(now)) continue;
      overdue.set(connection, connection.settled);
      // At the first look it may be this process that was busy, and has not read the answers yet.
      if (this.#overdue.get(connection) !== connection.settled) continue;
      const head = connection.head?.info;
      for (const work of connection.unsettled) {
        if (!mayAsk) break;
        // What has the text of the stalled statement would wait for the same lock, and take one connection more.
        if (this.#isRead(work) && work.info !== head) mayAsk = this.#askAgain(work, now);
      }
    }
    this.#overdue = overdue;
    if (shared.some(({ inFlight }) => inFlight > 1)) this.watch();
  }

  /** @param {any} work that is in flight @returns {boolean} whether it is a read that is to be asked again */
  #isRead(work) {
    if (work.constructor !== Query || work.isSettled || this.#twins.has(work)) return false;
    const { runsSolo, isStreamed, isCopy, isOwn, isDescription, batch, info } = work;
    const isPlain = !runsSolo && !isStreamed && !isCopy && !isOwn && !isDescription;
    if (!isPlain || batch !== undefined || info.isSeveral || info.isWrite) return false;
    const names = this.#findNames();
    return names !== undefined && info.surelyReads(names);
  }

  /** @param {Query} query @param {number} now performance.now() @returns {boolean} whether it did not have to wait */
  #askAgain(query, now) {
    const { text, parameters, rowMode, types, int8, prepare, rowKeys, syncGroup } = query;
    const options = { rowMode, types, prepare, rowKeys, syncGroup };
    const twin = new Query(text, parameters, options, { types, int8 });
    twin.profile = query.profile;
    twin.noticeTaker = query.noticeTaker;
    // Whoever has wrapped query() has seen it already.
    markHanded(twin);
    this.#twins.set(query, twin);
    query.onceSettled(() => {
      this.#twins.delete(query);
      if (!twin.isSettled) this.#dispatcher.abort(twin, answeredError());
    });
    twin.promise.then(
      (result) => this.#answer(query, result),
      // Its own connection will tell what is wrong with it. Until then it may be asked once more.
      () => this.#twins.delete(query),
    );
    this.#dispatcher.runShared(twin);
    this.watch(twin);
    if (twin.isSettled) this.#notBefore = now + PAUSE_MILLIS;
    return isSent(twin);
  }

  /** @param {Query} query @param {import('../rows').Result} result */
  #answer(query, result) {
    if (query.isSettled) return;
    query.resolve(result);
    this.#dispatcher.abort(query, answeredError());
  }
}

/** @param {Query} query */
function isSent({ connection }) {
  return connection !== undefined;
}

function answeredError() {
  return new QueryAbortedError('it was answered on another connection', 'ABORT_ERR');
}

module.exports = { StalledReads };
