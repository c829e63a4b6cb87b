'use strict';

// Finds out, before a caller is told that nothing was kept, whether the database is one server (locality.js), if the
// error alone does not prove it. Seldom asked: for a lost connection between servers, a cancelled write and the like, once
// a minute at most. Owned by answers.js.

const { outcome } = require('../query');

/**
 * @typedef {import('../query').Query} Query
 * @typedef {import('../query').Outcome} Outcome
 * @typedef {import('./sync-groups').SyncGroup} SyncGroup
 * @typedef {import('../query').Place} Place
 */

const NOT_KNOWN = -1;

class Doubts {
  #connection;
  #outbox;
  #catalog;

  /**
   * @param {import('./connection').Connection} connection
   * @param {import('./outbox').Outbox} outbox
   * @param {import('./catalog').Catalog} catalog
   */
  constructor(connection, outbox, catalog) {
    this.#connection = connection;
    this.#outbox = outbox;
    this.#catalog = catalog;
  }

  /** @param {import('../query').Kind} kind @returns {Place} */
  #placeOf(kind) {
    const { names } = this.#catalog;
    return { kind, onlyReads: (info) => names !== undefined && info.surelyReads(names) };
  }

  /**
   * @param {Query} query whose Sync has come
   * @param {Error} error for its caller
   * @param {number} transactionStatus
   * @param {(told: Outcome) => void} tell called at once, or when the server has answered
   */
  ofAnswered(query, error, transactionStatus, tell) {
    this.#decide(
      (place) => outcome.ofAnswered(query, error, place, transactionStatus),
      transactionStatus,
      tell,
    );
  }

  /**
   * @param {SyncGroup} group that the server says it has undone
   * @param {Error} error for its caller
   * @param {number} transactionStatus
   * @param {(told: Outcome) => void} tell as above
   */
  ofGroup(group, error, transactionStatus, tell) {
    this.#decide(
      (place) => outcome.ofUndoneGroup(group, error, place, transactionStatus),
      transactionStatus,
      tell,
    );
  }

  /** @param {Query} query that was in flight on a connection that is gone @returns {Outcome} */
  ofLost(query) {
    return outcome.ofLost(query, this.#placeOf(this.#catalog.locality.kind));
  }

  /**
   * @param {(place: Place) => Outcome} judge
   * @param {number} transactionStatus
   * @param {(told: Outcome) => void} tell
   */
  #decide(judge, transactionStatus, tell) {
    // On a connection for replication nothing is written.
    if (this.#connection.replication !== undefined) {
      tell(judge(this.#placeOf('local')));
      return;
    }
    const { locality } = this.#catalog;
    const isDoubtful =
      !locality.isFresh &&
      judge(this.#placeOf('local')) === 'not-run' &&
      judge(this.#placeOf(undefined)) === 'unknown';
    if (!isDoubtful || !this.#mayAsk(transactionStatus)) {
      this.#learnNames();
      tell(judge(this.#placeOf(locality.kind)));
      return;
    }
    locality.ask(this.#connection, this.#outbox.asides, () => {
      tell(judge(this.#placeOf(locality.isFresh ? locality.kind : undefined)));
    });
  }

  /** By them the next read is proved to be one, where that matters. */
  #learnNames() {
    const { locality, names } = this.#catalog;
    const isOfUse = locality.kind === 'distributed' || locality.kind === 'foreign';
    if (isOfUse && names === undefined && this.#connection.isShared) {
      this.#catalog.find(this.#connection, true);
    }
  }

  /** Only outside of transactions: it would take the snapshot of one. @param {number} transactionStatus */
  #mayAsk(transactionStatus) {
    const { isShared, session, state } = this.#connection;
    if (state !== 'ready' && state !== 'ending') return false;
    if (isShared || transactionStatus === 0) return true;
    return transactionStatus === NOT_KNOWN && !session.hasTouchedTransaction;
  }
}

module.exports = { Doubts };
