'use strict';

// Several statements behind one Sync: all of them are committed, or none, and their results are
// returned together. Made by read-batch.js, sent by outbox.js.

const { CallSite, ConnectionError, QueryAbortedError, StatementRefusedError } = require('../base');
const { ticks } = require('../native');
const { StatementInfo } = require('../statements');
const { OWN_DEFAULTS, Query } = require('./query');
const { Work } = require('./work');

/**
 * @typedef {import('../statements').StatementRegistry} StatementRegistry
 */

/** Why a batch refuses statements that would end or split its transaction. */
const SPLITTING = 'a batch is a transaction of its own, which begins and ends with it: leave out';

const READ_COMMITTED = "set transaction_isolation to 'read committed'";
/** It does not count as a change of the session: like SET TRANSACTION it ends with the batch. */
const HARMLESS = Object.assign(new StatementInfo(READ_COMMITTED), {
  class: new StatementInfo('select').class,
  touchesSession: false,
  touchesTransaction: false,
  isNeverPrepared: true,
});

/**
 * The first member of a batch whose statements must each see what is committed when they begin,
 * whatever the default isolation level is. SET TRANSACTION would do the same, but with a warning of
 * the server, since there is no BEGIN.
 */
function readCommitted() {
  const query = new Query(READ_COMMITTED, [], { prepare: false }, OWN_DEFAULTS);
  query.info = HARMLESS;
  // The tag of a SET would count as a change of the session.
  query.isTagless = true;
  return query;
}

class Batch extends Work {
  /** @type {import('../rows').Result[]} */
  results = [];

  /**
   * @param {Query[]} members in their order
   * @param {import('./work').Limits} [options]
   */
  constructor(members, options = {}) {
    super();
    this.members = members;
    this.limit(options);
    this.size = 0;
    for (const [index, query] of members.entries()) {
      this.size += query.size;
      query.batch = this;
      query.index = index;
      if (this.refusal === undefined && query.refusal !== undefined) {
        this.refusal = withIndex(query.refusal, index);
      }
    }
  }

  /** All members have been answered. */
  finish() {
    this.resolve(this.results);
  }

  /**
   * The first error counts.
   * @override
   * @param {Error} error
   * @param {number} [index] of the member that has failed
   */
  reject(error, index) {
    if (index !== undefined && !this.isSettled) withIndex(error, index);
    super.reject(error);
  }

  /** @param {Query} query a member @param {Error} error */
  onMemberFailed(query, error) {
    // No statement is to blame for the loss of the connection, nor for a cancel.
    const isNobodys = error instanceof ConnectionError || error instanceof QueryAbortedError;
    if (!isNobodys) query.tellText(error);
    this.reject(error, isNobodys ? undefined : query.index);
  }

  /** Its caller no longer waits. @param {Error} error */
  abandon(error) {
    this.reject(error);
  }

  /** Whether it, or a statement in it, must run without neighbours. */
  get runsAlone() {
    return this.runsSolo || this.members.some(({ info }) => info.class.kind === 'alone');
  }

  /**
   * @param {StatementRegistry} registry
   * @param {boolean} isShared whether it is for a shared connection
   * @returns {boolean} whether it may run there; if not, it is rejected
   */
  admit(registry, isShared) {
    for (const query of this.members) {
      query.info ??= registry.find(query.text);
      const { kind, keyword, refusal } = query.info.class;
      if (this.isInCall && this.callSite === undefined) {
        if (registry.mayRecord(query.info, ticks.turn())) this.callSite = new CallSite();
      }
      if (kind === 'plain' || kind === 'alone' || (kind === 'session' && !isShared)) continue;
      if (kind === 'transaction' && this.isInTransaction) continue;
      const why = kind === 'transaction' ? `${keyword}: ${SPLITTING} ${keyword}` : String(refusal);
      query.reject(new StatementRefusedError(why));
      return false;
    }
    return true;
  }
}

/**
 * @template {Error} T
 * @param {T} error
 * @param {number} index
 */
function withIndex(error, index) {
  return Object.assign(error, { index });
}

/** @param {Query | Batch} work @returns {readonly Query[]} */
function membersOf(work) {
  return 'members' in work ? work.members : [work];
}

module.exports = { Batch, membersOf, readCommitted };
