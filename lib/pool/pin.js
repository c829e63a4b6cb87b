'use strict';

// What a lease has done on the connection that it is pinned to, and so whether the connection may go back to the pool
// before the lease ends: no transaction is open, and each statement is proved to have left nothing behind in the
// session. Made by lease-connection.js for each connection that it gets.

const { membersOf } = require('../query');
const { endsTransaction, isTraceless, readSettings } = require('../statements');

/**
 * @typedef {import('../query').Query} Query
 * @typedef {import('../query').Batch} Batch
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
  /** Whether a statement may have called nextval(), whose value the session remembers. */
  hasAdvanced = false;
  /** Whether what it was for has been sent: it may end as soon as nothing is in flight. */
  isOver = false;
  /** Whether the session remembers what the lease has done here before, and nothing else. */
  hasLastValues = false;
  #leases;
  #onSettings;
  /** What is judged when it matters: of a text more is known once it has succeeded. @type {Set<StatementInfo>} */
  #unjudged = new Set();

  /**
   * @param {Member} member
   * @param {import('./leases').Leases} leases
   * @param {(settings: Setting[], text: string) => void} onSettings is told of settings that the lease has made, and that other
   *   connections may be given
   */
  constructor(member, leases, onSettings) {
    this.member = member;
    this.#leases = leases;
    this.#onSettings = onSettings;
  }

  /**
   * Before it is sent.
   * @param {Query | Batch} work
   * @returns {'none' | 'end' | 'statement'} whether the connection may go back when it is settled: it seems to end a
   *   transaction, or to make settings; or it is no part of one
   */
  note(work) {
    if (this.isForSession) return 'none';
    const { session, inFlight } = this.member.connection;
    const isOutside = session.transactionStatus === IDLE;
    for (const query of membersOf(work)) {
      const info = query.identify(this.#leases.registry);
      if (query.isCopy || this.#unjudged.size === MAX_UNJUDGED) {
        this.isForSession = true;
        return 'none';
      }
      const mayMake = isOutside && inFlight === 0 && work === query && this.#leases.mayHaveProfiles;
      const settings = mayMake ? readSettings(info) : undefined;
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
      if (query.error === undefined) this.#onSettings(settings, query.text);
      // What was given up, or is lost, may have been executed.
      else if (!query.hasFailed) this.isForSession = true;
    });
  }

  /** Whether no transaction is open, and nothing is in flight. */
  get isIdle() {
    const { session, inFlight, state } = this.member.connection;
    return state === 'ready' && inFlight === 0 && session.transactionStatus === IDLE;
  }

  /** Whether a statement may have called nextval() here. */
  get mayHaveAdvanced() {
    if (this.hasAdvanced || this.isForSession) return true;
    const { names } = this.#leases;
    if (names === undefined) return true;
    return [...this.#unjudged].some(
      (info) => info.effect === 'write' && info.mayCallNextval(names),
    );
  }

  /** Whether all that was done is proved to have left nothing behind that is asked for. */
  get isTraceless() {
    const { names, areSequencesAsked, mayMultiplex } = this.#leases;
    if (this.isForSession || names === undefined || !mayMultiplex) return false;
    for (const info of this.#unjudged) {
      const isProved = isTraceless(info, names);
      if (isProved === undefined) return false;
      this.#unjudged.delete(info);
      const isWrite = isProved && info.effect === 'write';
      if (isWrite && info.mayCallNextval(names)) this.hasAdvanced = true;
      if (!isProved || (this.hasAdvanced && areSequencesAsked)) {
        this.isForSession = true;
        this.#unjudged.clear();
        return false;
      }
    }
    return true;
  }
}

module.exports = { Pin };
