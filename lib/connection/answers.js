'use strict';

// Takes the answers of one connection: a query whose Sync has come is settled, or sent again if it
// certainly did not run. Owned by connection.js. What gets no answer because the connection ends is
// settled by lifecycle.js.

const {
  afterDelivery,
  callApart,
  ConnectionError,
  copyError,
  DatabaseError,
  QUERY_CANCELED,
} = require('../base');
const { outcome } = require('../query');
const { countRows } = require('../rows');
const { Doubts } = require('./doubts');
const {
  faultError,
  lostError,
  mismatchError,
  openTransactionError,
  poisonedError,
} = require('./errors');
const { Unreplicated } = require('./unreplicated');

/**
 * @typedef {import('../query').Query} Query
 * @typedef {import('./sync-groups').SyncGroup} SyncGroup
 */

/** PQTRANS_IDLE; the higher values are the states of a transaction. */
const TRANSACTION_IDLE = 0;
const READ_ONLY = '25006';
const TAG_OF_BEGIN = /^(?:BEGIN|START TRANSACTION)$/;

class Answers {
  /**
   * Makes the error that all further queries are rejected with, once the connection cannot be
   * trusted.
   * @type {(() => Error) | undefined}
   */
  poison = undefined;
  unreplicated = new Unreplicated();
  #connection;
  #outbox;
  #owner;

  /**
   * @param {import('./connection').Connection} connection
   * @param {import('./outbox').Outbox} outbox
   * @param {import('./native-events').Owner} owner
   * @param {import('./catalog').Catalog} catalog
   */
  constructor(connection, outbox, owner, catalog) {
    this.#connection = connection;
    this.#outbox = outbox;
    this.#owner = owner;
    this.doubts = new Doubts(connection, outbox, catalog);
  }

  /**
   * The Sync of a query has come.
   * @param {Query} query
   * @param {number} transactionStatus PQTransactionStatusType, or -1: not known
   * @param {number} costMillis what it cost the server
   * @param {number} now performance.now()
   */
  onSync(query, transactionStatus, costMillis, now) {
    const unreplicated = this.unreplicated.take();
    query.error ??= unreplicated;
    this.#connection.session.querySynced(transactionStatus, 1);
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
    if (query.isSequence) this.#goOn(query, transactionStatus);
    else this.#finish(query, transactionStatus);
  }

  /** @param {Query} query a text of which is answered @param {number} transactionStatus */
  #goOn(query, transactionStatus) {
    query.error = this.#connection.canceller.current?.explain(query, query.error) ?? query.error;
    afterDelivery(() => {
      const { state } = this.#connection;
      if (!query.role?.next(transactionStatus)) this.#finish(query, transactionStatus);
      else if (state === 'ready' || state === 'ending') this.#outbox.sendNext(query);
      else this.#connection.onNotSent(query);
    });
  }

  /** @param {Query} query whose last Sync has come @param {number} transactionStatus */
  #finish(query, transactionStatus) {
    if (query.endsTransaction && transactionStatus > TRANSACTION_IDLE) {
      query.error ??= openTransactionError(outcome.ofLeftOpen(query));
    }
    const cancellation = this.#connection.canceller.current;
    if (cancellation !== undefined) {
      query.error = cancellation.explain(query, query.error);
    }
    // It may be the member that made its Sync group fail.
    if (query.wasUndone && query.hasFailed) query.info.keepAlone();
    this.#settle(query, transactionStatus);
    this.#connection.afterSettling();
  }

  /**
   * The Sync of a group has come: all members are committed, or none.
   * @param {SyncGroup} group
   * @param {number} transactionStatus PQTransactionStatusType, or -1: not known
   * @param {number} costMillis what all of it cost the server
   * @param {number} now performance.now()
   */
  onGroupSync(group, transactionStatus, costMillis, now) {
    const { members } = group;
    const unreplicated = this.unreplicated.take();
    this.#connection.session.querySynced(transactionStatus, members.length);
    this.#connection.load.headSince = now;
    /** Of which the cost is counted: most groups are of one text. */
    let counted;
    for (const query of members) {
      if (query.info !== counted) {
        counted = query.info;
        counted.observe(costMillis / members.length);
      }
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
      const [{ batch }] = members;
      if (batch !== undefined && unreplicated !== undefined) {
        batch.reject(
          this.#connection.canceller.current?.explain(batch, unreplicated) ?? unreplicated,
        );
      }
      for (const query of members) {
        // The server skipped it, but reported no error of another member.
        if (query.wasSkipped) query.error ??= lostError(false, 'no answer', undefined, 'unknown');
        query.error ??= unreplicated && copyError(unreplicated);
        this.#settle(query, transactionStatus);
      }
      batch?.finish();
      this.#connection.afterSettling();
    }
  }

  #askFormatsSoon() {
    afterDelivery(() => this.#outbox.formats.ask());
  }

  /** @param {SyncGroup} group @param {number} transactionStatus */
  #onUndone(group, transactionStatus) {
    const { members, error } = group;
    const [{ batch }] = members;
    if (batch === undefined) {
      for (const query of members) this.#runApart(query, error !== undefined, transactionStatus);
      this.#outbox.sendAgain(members.filter(({ wasUndone }) => wasUndone));
      this.#connection.afterSettling();
      return;
    }
    const guilty = members.find(({ hasFailed, wasSkipped }) => hasFailed && !wasSkipped);
    if (guilty !== undefined && this.#heal(guilty, members, transactionStatus)) return;
    let reason = /** @type {Error} */ (guilty?.error ?? error);
    reason = this.#connection.canceller.current?.explain(batch, reason) ?? reason;
    this.doubts.ofGroup(group, reason, transactionStatus, (told) => {
      for (const query of members) this.#connection.forget(query);
      outcome.restrict(reason, told);
      if (guilty !== undefined) guilty.reject(reason);
      else batch.reject(reason);
      this.#connection.afterSettling();
    });
  }

  /**
   * @param {Query} query a member of a group that was undone
   * @param {boolean} isAnyones the error came at the commit, so any member may be to blame
   * @param {number} transactionStatus
   */
  #runApart(query, isAnyones, transactionStatus) {
    const isGuilty = query.hasFailed && !query.wasSkipped;
    // It may fail only within a group, and would then fail in each group.
    if (isGuilty || (isAnyones && query.info.effect === 'write')) query.info.keepAlone();
    const { code } = /** @type {any} */ (query.error ?? {});
    // A cancelled query is not retried: a statement_timeout would count twice, and nobody would
    // repeat the cancel request.
    if (query.isSettled || (isGuilty && code === QUERY_CANCELED)) {
      this.#settle(query, transactionStatus);
    } else query.wasUndone = true;
  }

  /** @param {Query} query that has its Sync and is not sent again @param {number} transactionStatus */
  #settle(query, transactionStatus) {
    const { error, info } = query;
    if (error === undefined) {
      this.#connection.forget(query);
      info.isUntried = false;
      if (query.result !== undefined) {
        info.learnEffect(query.result.command);
        info.rows = countRows(query.result);
        info.learnCount(query.result, info.rows);
      }
      query.resolve(query.value);
      // The query may be referenced for longer than its caller keeps the result.
      if (!query.isStreamed) query.result = undefined;
      return;
    }
    if (error instanceof DatabaseError && error.code === READ_ONLY) this.#owner.onReadOnly?.();
    if (error instanceof ConnectionError || query.isSettled) {
      this.#fail(query, error);
      return;
    }
    let isLater = false;
    this.doubts.ofAnswered(query, error, transactionStatus, (told) => {
      this.#fail(query, error, told);
      if (isLater) this.#connection.afterSettling();
    });
    isLater = true;
  }

  /** @param {Query} query @param {Error} error @param {import('../base').Outcome} [told] */
  #fail(query, error, told = 'not-run') {
    this.#connection.forget(query);
    outcome.restrict(error, told);
    query.reject(error);
  }

  /**
   * Sends a query again that failed only because of its prepared statement, or may have failed
   * because of it. Nothing of it may have run, and the order that the caller can rely on must be
   * kept. What the error says about the schema is recorded in any case.
   * @param {Query} query
   * @param {readonly Query[]} all every query that was undone, this one included
   * @param {number} transactionStatus
   * @returns {boolean} whether they are sent again
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
      // Unprepared, so that the answer does not depend on another query's Parse again.
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
    // Not during a cancel: nothing may be sent then, and the caller may no longer want the query.
    if (query.retried || this.#connection.canceller.current !== undefined) return false;
    if (all.some(({ info }) => info.mayCommitInside)) return false;
    const isAlone =
      transactionStatus === TRANSACTION_IDLE && this.#connection.inFlight === all.length;
    return this.#connection.isShared || isAlone;
  }

  /**
   * Closes the connection, and rejects everything on it. Either a statement opened a transaction on
   * a shared connection although its text was checked: what was sent behind it is part of that
   * transaction, and rolled back. Or the answers to a group do not match its queries. Or the driver
   * failed to process an answer.
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

  /**
   * The driver failed to process an event, and what it said is lost.
   * @param {unknown} cause
   * @param {readonly any[]} entries that the event was for
   */
  onFault(cause, entries) {
    const error = () => faultError(cause);
    this.distrust(error);
    const queries = entries.flatMap((entry) => entry.members ?? entry);
    for (const query of queries) callApart(() => query.reject?.(error()));
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
