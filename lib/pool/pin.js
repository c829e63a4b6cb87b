'use strict';

// What a lease has done on the connection that it is pinned to, and so whether the connection may go back to the pool
// before the lease ends: no transaction is open, and each statement is proved to have left nothing behind in the
// session. Made by lease-connection.js for each connection that it gets.

const { membersOf } = require('../query');
const { endsTransaction, isTraceless, readSettings } = require('../statements');

/**
 * @typedef {import('../query').Query} Query
 * @typedef {import('../query').Batch} Batch
 * @typedef {import('../statements').CatalogNames} CatalogNames
 * @typedef {import('../statements').Setting} Setting
 * @typedef {import('../statements').StatementInfo} StatementInfo
 * @typedef {import('./member').Member} Member
 */

/** PQTransactionStatusType */
const IDLE = 0;

/** A lease that has used more texts of which nothing is known yet keeps the connection. */
const MAX_UNJUDGED = 64;

class Pin {
  member;
  /** Whether it lasts until the lease ends. */
  isForSession = false;
  #onSettings;
  /** What is judged when it matters: of a text more is known once it has succeeded. @type {Set<StatementInfo>} */
  #unjudged = new Set();

  /**
   * @param {Member} member
   * @param {(changes: Setting[]) => void} [onSettings] is told of settings that the lease has made, if they may be
   *   given to other connections
   */
  constructor(member, onSettings) {
    this.member = member;
    this.#onSettings = onSettings;
  }

  /**
   * Before it is sent.
   * @param {Query | Batch} work
   * @param {import('../statements').StatementRegistry} registry
   * @returns {'none' | 'end' | 'statement'} whether the connection may go back when it is settled: it seems to end a
   *   transaction, or to make settings; or it is no part of one
   */
  note(work, registry) {
    if (this.isForSession) return 'none';
    const { session, inFlight } = this.member.connection;
    const isOutside = session.transactionStatus === IDLE;
    for (const query of membersOf(work)) {
      const info = query.identify(registry);
      if (query.isCopy || this.#unjudged.size === MAX_UNJUDGED) {
        this.isForSession = true;
        return 'none';
      }
      const isAlone = isOutside && inFlight === 0 && work === query;
      const settings = isAlone && this.#onSettings !== undefined ? readSettings(info) : undefined;
      if (settings !== undefined) {
        this.#noteSettings(query, settings);
        return 'end';
      }
      this.#unjudged.add(info);
      if (endsTransaction(info)) return 'end';
    }
    return isOutside || session.transactionStatus < IDLE ? 'statement' : 'none';
  }

  /** @param {Query} query @param {Setting[]} settings that it makes if it succeeds */
  #noteSettings(query, settings) {
    query.onceSettled(() => {
      if (query.error === undefined) this.#onSettings?.(settings);
      // What was given up, or is lost, may have been executed.
      else if (!query.hasFailed) this.isForSession = true;
    });
  }

  /** Whether no transaction is open, and nothing is in flight. */
  get isIdle() {
    const { session, inFlight, state } = this.member.connection;
    return state === 'ready' && inFlight === 0 && session.transactionStatus === IDLE;
  }

  /**
   * @param {CatalogNames | undefined} names of the database, if they are known
   * @returns {boolean} whether all that was done is proved to have left nothing behind
   */
  isTraceless(names) {
    if (this.isForSession) return false;
    for (const info of this.#unjudged) {
      const isProved = isTraceless(info, names);
      if (isProved === undefined) return false;
      this.#unjudged.delete(info);
      if (!isProved) {
        this.isForSession = true;
        this.#unjudged.clear();
        return false;
      }
    }
    return true;
  }
}

module.exports = { Pin };
