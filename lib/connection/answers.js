'use strict';

// What becomes of queries whose Sync has come: they are settled, or run again if
// they surely did not run. The answers to one connection; what gets no answer, and
// the connection's own affairs, are connection.js's, which owns this.

const { afterDelivery, ConnectionError, DatabaseError } = require('../base');
const { outcome } = require('../query');
const { lostError, mismatchError, openTransactionError, poisonedError } = require('./errors');

/**
 * @typedef {import('../query').Query} Query
 * @typedef {import('./sync-groups').SyncGroup} SyncGroup
 */

/** PQTRANS_IDLE; above it are the states of a transaction. */
const TRANSACTION_IDLE = 0;
const QUERY_CANCELED = '57014';
const READ_ONLY = '25006';
const TAG_OF_BEGIN = /^(?:BEGIN|START TRANSACTION)$/;

class Answers {
  /** Why nobody is told any more that anything is done. @type {(() => Error) | undefined} */
  poison = undefined;
  #connection;
  #outbox;
  #owner;

  /**
   * @param {import('./connection').Connection} connection
   * @param {import('./outbox').Outbox} outbox
   * @param {import('./connection').Owner} owner
   */
  constructor(connection, outbox, owner) {
    this.#connection = connection;
    this.#outbox = outbox;
    this.#owner = owner;
  }

  /**
   * The query's Sync: it is done, whatever comes.
   * @param {Query} query
   * @param {number} transactionStatus PQTransactionStatusType, or -1: not known
   * @param {number} costMillis what it cost the server
   * @param {number} now performance.now()
   */
  onSync(query, transactionStatus, costMillis, now) {
    this.#connection.onTransactionStatus(transactionStatus, 1);
    this.#connection.load.headSince = now;
    if (this.poison !== undefined) {
      this.#reject(query, this.poison());
      return;
    }
    query.info.observe(costMillis);
    this.#outbox.statements.answered(query);
    if (query.info.changesFormats) this.#outbox.formats.onAnswered(query);
    if (this.#outbox.formats.isWanted) this.#askFormatsSoon();
    if (this.#isInTransaction(query, transactionStatus)) {
      this.distrust(poisonedError);
      this.#reject(query, poisonedError());
      return;
    }
    if (this.#heal(query, [query], transactionStatus)) return;
    if (query.endsTransaction && transactionStatus > TRANSACTION_IDLE) {
      query.error ??= openTransactionError(outcome.ofLeftOpen(query));
    }
    const { cancellation } = this.#connection;
    if (cancellation !== undefined) {
      query.error = cancellation.explain(query, query.error);
    }
    // It may be what a group has failed by.
    if (query.wasUndone && query.hasFailed) query.info.keepAlone();
    this.#settle(query);
    this.#connection.afterSettling();
  }

  /**
   * The Sync of a group: all of it is committed, or nothing.
   * @param {SyncGroup} group
   * @param {number} transactionStatus PQTransactionStatusType, or -1: not known
   * @param {number} costMillis what all of it cost the server
   * @param {number} now performance.now()
   */
  onGroupSync(group, transactionStatus, costMillis, now) {
    const { members } = group;
    this.#connection.onTransactionStatus(transactionStatus, members.length);
    this.#connection.load.headSince = now;
    for (const query of members) {
      query.info.observe(costMillis / members.length);
      this.#outbox.statements.answered(query);
      if (query.info.changesFormats) this.#outbox.formats.onAnswered(query);
    }
    if (this.#outbox.formats.isWanted) this.#askFormatsSoon();
    if (members.some((query) => this.#isInTransaction(query, transactionStatus))) {
      this.distrust(poisonedError);
    } else if (members.some(({ isMiscounted }) => isMiscounted)) {
      this.distrust(mismatchError);
    }
    if (this.poison !== undefined) {
      for (const query of members) this.#reject(query, this.poison());
    } else if (group.isUndone) {
      this.#onUndone(group, transactionStatus);
    } else {
      for (const query of members) {
        // Skipped, though nobody has failed that the server would say so of.
        if (query.wasSkipped) query.error ??= lostError(false, 'no answer', undefined, 'unknown');
        this.#settle(query);
      }
      members[0].batch?.finish();
      this.#connection.afterSettling();
    }
  }

  #askFormatsSoon() {
    afterDelivery(() => this.#outbox.formats.ask());
  }

  /** @param {SyncGroup} group @param {number} transactionStatus */
  #onUndone({ members, error }, transactionStatus) {
    const [{ batch }] = members;
    if (batch === undefined) {
      for (const query of members) this.#runApart(query, error !== undefined);
      this.#outbox.sendAgain(members.filter(({ wasUndone }) => wasUndone));
      this.#connection.afterSettling();
      return;
    }
    const guilty = members.find(({ hasFailed, wasSkipped }) => hasFailed && !wasSkipped);
    if (guilty !== undefined && this.#heal(guilty, members, transactionStatus)) return;
    for (const query of members) this.#connection.forget(query);
    let reason = /** @type {Error} */ (guilty?.error ?? error);
    reason = this.#connection.cancellation?.explain(batch, reason) ?? reason;
    outcome.restrict(reason, outcome.ofUndone(members));
    if (guilty !== undefined) guilty.reject(reason);
    else batch.reject(reason);
    this.#connection.afterSettling();
  }

  /**
   * @param {Query} query a member of a group that was undone
   * @param {boolean} isAnyones at the commit nobody can tell whose fault it is
   */
  #runApart(query, isAnyones) {
    const isGuilty = query.hasFailed && !query.wasSkipped;
    // It may fail only in company, and then would do so each time.
    if (isGuilty || (isAnyones && query.info.effect === 'write')) query.info.keepAlone();
    const { code } = /** @type {any} */ (query.error ?? {});
    // A time limit is not taken twice, and nobody sends a second cancel.
    if (query.isSettled || (isGuilty && code === QUERY_CANCELED)) this.#settle(query);
    else query.wasUndone = true;
  }

  /** @param {Query} query whose Sync has come, and stands */
  #settle(query) {
    const { error, info } = query;
    this.#connection.forget(query);
    if (error === undefined) {
      info.isUntried = false;
      if (query.result !== undefined) {
        info.learnEffect(query.result.command);
        info.rows = query.result.rows.length;
        info.learnCount(query.result);
      }
      query.resolve(query.value);
      // Others may hold the query for longer than its caller holds the result.
      if (!query.isStreamed) query.result = undefined;
      return;
    }
    if (error instanceof DatabaseError && error.code === READ_ONLY) this.#owner.onReadOnly?.();
    if (!(error instanceof ConnectionError)) outcome.restrict(error, outcome.ofAnswered(query));
    query.reject(error);
  }

  /**
   * Runs a query again that did not run for the sake of its prepared statement
   * alone, or may have, if that keeps the order that the caller can count on.
   * What the error tells of the schema is learned in any case.
   * @param {Query} query
   * @param {readonly Query[]} all that were undone with it
   * @param {number} transactionStatus
   * @returns {boolean} whether they run again
   */
  #heal(query, all, transactionStatus) {
    if (query.error === undefined) return false;
    const { statements } = this.#outbox;
    const blame = statements.blame(query);
    if (blame === 'none') return false;
    const mayRepeat = blame !== 'suspect' && this.#mayRepeat(query, all, transactionStatus);
    statements.learn(query, blame, mayRepeat);
    if (!mayRepeat) return false;
    for (const one of all) {
      // Unprepared, so that its answer does not hang on anybody else's Parse again.
      one.prepare = false;
      one.retried = true;
    }
    this.#outbox.sendAgain(all);
    return true;
  }

  /**
   * @param {Query} query
   * @param {readonly Query[]} all
   * @param {number} transactionStatus
   */
  #mayRepeat(query, all, transactionStatus) {
    // Not while a cancel is under way: nothing may be sent then, and nobody may want it any more.
    if (query.retried || this.#connection.cancellation !== undefined) return false;
    if (all.some(({ info }) => info.mayCommitInside)) return false;
    const isAlone =
      transactionStatus === TRANSACTION_IDLE && this.#connection.inFlight === all.length;
    return this.#connection.isShared || isAlone;
  }

  /**
   * The connection is closed, and nobody is told that anything on it was done. Somebody brought a
   * shared connection into a transaction, past the check of its text: what came behind is in it, and
   * rolled back. Or the answers to a group are not those to its queries. Or the driver has failed to take
   * an answer in.
   * @param {() => Error} poison
   */
  distrust(poison) {
    if (this.poison !== undefined) return;
    this.poison = poison;
    const connection = this.#connection;
    afterDelivery(() => {
      if (connection.state === 'closed') return;
      this.#owner.onLost(poison());
      connection.destroy();
    });
  }

  /** @param {Query} query @param {number} transactionStatus */
  #isInTransaction(query, transactionStatus) {
    if (!this.#connection.isShared) return false;
    return (
      transactionStatus > TRANSACTION_IDLE || (query.tag !== '' && TAG_OF_BEGIN.test(query.tag))
    );
  }

  /** @param {Query} query @param {Error} error */
  #reject(query, error) {
    this.#connection.forget(query);
    query.reject(error);
    this.#owner.onSettled();
  }
}

module.exports = { Answers };
