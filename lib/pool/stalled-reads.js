'use strict';

// Reads that stand on a shared connection behind a statement that has stalled, such as one that waits for a lock. In `pg`
// each of them would have a connection of its own, and whoever holds the lock may wait for one of them. So they are asked
// again on another connection, and the first answer counts. Made by leases.js.

const { QueryAbortedError } = require('../base');
const { markHanded } = require('../client');
const { Catalog } = require('../connection');
const { OWN_DEFAULTS, Query } = require('../query');

/**
 * @typedef {import('../query').Batch} Batch
 * @typedef {import('../connection').Connection} Connection
 */

const LOOK_MILLIS = 20;
/** Whether one statement waits for a lock is asked at most so often. */
const ASK_MILLIS = 500;
/** What a backend waits for: https://www.postgresql.org/docs/current/monitoring-stats.html#WAIT-EVENT-TABLE */
const WAIT_OF_BACKEND =
  'select wait_event_type as wait from pg_catalog.pg_stat_activity where pid operator(pg_catalog.=) $1';

class StalledReads {
  #dispatcher;
  #leases;
  /** Reads that were asked again, and as what. @type {Map<Query, Query>} */
  #twins = new Map();
  /** How many queries each overdue connection had settled at the last look. @type {Map<Connection, number>} */
  #overdue = new Map();
  /**
   * When it may be asked next whether a statement that has stalled waits for a lock; Infinity: it does not.
   * @type {WeakMap<object, number>}
   */
  #askLockAt = new WeakMap();
  /** @type {NodeJS.Timeout | undefined} */
  #timer = undefined;

  /**
   * @param {import('./dispatcher').Dispatcher} dispatcher
   * @param {{ names: import('../statements').CatalogNames | undefined }} leases which know by what names a read is known,
   *   and ask for them if they do not
   */
  constructor(dispatcher, leases) {
    this.#dispatcher = dispatcher;
    this.#leases = leases;
  }

  /** Reads that are in flight for the second time. */
  get count() {
    return this.#twins.size;
  }

  /** @param {Query | Batch} [work] that was sent; else some was */
  watch(work) {
    // Alone on its connection, as a rule.
    if (this.#timer !== undefined || work?.connection?.inFlight === 1) return;
    this.#timer = setTimeout(() => {
      this.#timer = undefined;
      this.#look();
    }, LOOK_MILLIS).unref();
  }

  #look() {
    const { activity, isEnding } = this.#dispatcher;
    const now = performance.now();
    const overdue = new Map();
    let mayAsk = true;
    const shared = activity.sharedConnections;
    for (const connection of shared) {
      if (!connection.load.isOverdue(now)) continue;
      overdue.set(connection, connection.settled);
      // At the first look it may be this process that was busy, and has not read the answers yet.
      if (this.#overdue.get(connection) !== connection.settled) continue;
      const { head } = connection;
      for (const work of connection.unsettled) {
        if (!mayAsk) break;
        if (work === head || !this.#isPlain(work)) continue;
        mayAsk = activity.mayServe(now) || (isEnding && activity.isGrowing);
        if (!mayAsk || !this.#isRead(work)) continue;
        // What has the text of the stalled statement would wait for the same lock, and take one connection more.
        const isOther = work.info !== head?.info;
        if (isOther || this.#isFreeOfLocks(connection, now)) mayAsk = this.#askAgain(work);
      }
    }
    // There will be one at a later look, unless those who ask for the first time take it.
    if (!mayAsk && !isEnding) this.#dispatcher.openAnother();
    this.#overdue = overdue;
    if (shared.some(({ inFlight }) => inFlight > 1)) this.watch();
  }

  /**
   * Whether the statement that a connection waits for is known not to wait for a lock: it is slow, or its backend does not
   * get it. The server is asked for that.
   * @param {Connection} connection
   * @param {number} now performance.now()
   */
  #isFreeOfLocks({ head, processID }, now) {
    if (head === undefined) return false;
    const askAt = this.#askLockAt.get(head) ?? 0;
    if (now < askAt) return askAt === Infinity;
    const question = new Query(WAIT_OF_BACKEND, [processID], { prepare: false }, OWN_DEFAULTS);
    if (!this.#send(question)) return false;
    this.#askLockAt.set(head, now + ASK_MILLIS);
    question.promise.then(
      ({ rows }) => {
        // Behind a pooler the number is that of no backend, or of another one.
        if (rows.length > 0 && rows[0].wait !== 'Lock') this.#askLockAt.set(head, Infinity);
      },
      // Another server than PostgreSQL: then it may be a lock.
      () => {},
    );
    return false;
  }

  /** @param {any} work that is in flight @returns {boolean} whether it may be a read that is to be asked again */
  #isPlain(work) {
    if (!(work instanceof Query) || work.isSettled || this.#twins.has(work)) return false;
    const { isPlain, runsSolo, batch, info } = work;
    if (!isPlain || runsSolo) return false;
    return batch === undefined && !info.isSeveral && !info.isWrite;
  }

  /** @param {Query} query that may be one */
  #isRead(query) {
    const { names } = this.#leases;
    if (names === undefined || Catalog.isQuestion(query)) return false;
    return query.info.surelyReads(names);
  }

  /** @param {Query} query @returns {boolean} whether there was a connection for it */
  #askAgain(query) {
    const { text, parameters, rowMode, types, int8, prepare, rowKeys, syncGroup } = query;
    const options = { rowMode, types, prepare, rowKeys, syncGroup };
    const twin = new Query(text, parameters, options, { types, int8 });
    twin.profile = query.profile;
    twin.noticeTaker = query.noticeTaker;
    if (!this.#send(twin)) return false;
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
    return true;
  }

  /**
   * It takes nobody's place among those who wait. At the end of the pool nobody else does, and a connection that is opened
   * then is closed at once, unless somebody waits for it.
   * @param {Query} query that is not for whoever has wrapped query()
   * @returns {boolean} whether it was sent, or waits
   */
  #send(query) {
    markHanded(query);
    if (!this.#dispatcher.isEnding) return this.#dispatcher.sendNow(query);
    this.#dispatcher.runShared(query);
    return true;
  }

  /** @param {Query} query @param {import('../rows').Result} result */
  #answer(query, result) {
    if (query.isSettled) return;
    query.resolve(result);
    this.#dispatcher.abort(query, answeredError());
  }
}

function answeredError() {
  return new QueryAbortedError('it was answered on another connection', 'ABORT_ERR');
}

module.exports = { StalledReads };
