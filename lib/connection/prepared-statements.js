'use strict';

// Decides which prepared statement a query executes on its connection, when a text is prepared, and
// when a statement is closed. statements/cache.js keeps the list; command-writer.js writes Parse
// and Execute. Owned by outbox.js.

const { afterDelivery, DatabaseError } = require('../base');
const { takeSlot, ticks } = require('../native');
const {
  isOfAnalysis,
  isOfChangedResult,
  isOfDroppedType,
  isOfExecution,
  isOfParameter,
  isTagOfDdl,
  StatementCache,
} = require('../statements');
const { Housekeeping } = require('./housekeeping');
const { KnownColumns } = require('./known-columns');
const { LostStatements } = require('./lost-statements');
const { SchemaWatch } = require('./schema-watch');
const { StatementKeeping } = require('./statement-keeping');

/**
 * @typedef {import('./connection').Connection} Connection
 * @typedef {import('../query').Query} Query
 * @typedef {import('../statements').Statement} Statement
 *
 * How an error is related to the prepared statement that was executed:
 * - none: not at all
 * - suspect: it may be out of date, and the query may have run
 * - doubtful: it may be out of date, and nothing ran
 * - stale: it is out of date, and nothing ran
 * - lost: it is gone, and nothing ran
 * @typedef {'none' | 'suspect' | 'doubtful' | 'stale' | 'lost'} Blame
 */

/** Statements that fail because of a prepared statement of the user's own. */
const NAMES_ANOTHER = new Set(['EXECUTE', 'DEALLOCATE']);

/** Lifetimes are shortened by up to this part of the limit, so that not all are renewed at once. */
const AGE_JITTER = 0.2;

/**
 * In a transaction nothing can be sent again, so a statement that was not used for this long is
 * prepared anew there. A use proves that the statement was not out of date at that time, so
 * statements in constant use cost nothing more.
 */
const MAX_IDLE_MILLIS_IN_TRANSACTION = 1000;

const TAG_OF_DROP = /^(?:DISCARD ALL|DEALLOCATE ALL)$/;

class PreparedStatements {
  #connection;
  #syncs;
  #turns;
  #settings;
  #registry;
  #lost;
  #keeping;
  #columns;
  #watch;
  #load;

  /**
   * @param {Connection} connection
   * @param {import('./sync-groups').SyncWriter} syncs
   * @param {import('./turns').Turns} turns
   * @param {import('../options').Settings} settings
   * @param {import('../statements').StatementRegistry} registry
   * @param {() => void} resume sends what has waited while isAsking
   */
  constructor(connection, syncs, turns, settings, registry, resume) {
    this.#connection = connection;
    this.#syncs = syncs;
    this.#turns = turns;
    this.#settings = settings;
    this.#registry = registry;
    this.#watch = new SchemaWatch(registry);
    this.#load = connection.load;
    this.#lost = new LostStatements(connection, settings);
    this.cache = new StatementCache(settings.statementCacheSize, settings.statementCacheBytes);
    const takeId = () => this.cache.takeId();
    this.#keeping = new StatementKeeping(connection, syncs, settings, takeId, resume);
    this.#columns = new KnownColumns(this.#keeping);
  }

  /** A question of the driver's own is on its way, to which a pooler may answer nothing if there is another. */
  get isAsking() {
    return this.#keeping.isInFlight;
  }

  /**
   * @param {Query} query
   * @returns {Statement | undefined} the statement that it executes. The query is a user of it
   *   until answered() or notSent(), and `leads` if it must send the Parse
   */
  choose(query) {
    const statement = this.#find(query);
    if (statement !== undefined) ++statement.users;
    return statement;
  }

  /** @param {Query} query */
  #find(query) {
    const { info } = query;
    const { prepare, prepareThreshold } = this.#settings;
    if (!(query.prepare ?? prepare) || info.isNeverPrepared) return undefined;
    if (query.name === undefined && info.uses < prepareThreshold) {
      ++this.cache.misses;
      return undefined;
    }
    // A caller who gives a name has asked for it, as with `pg`.
    if (info.namesMoment && query.name === undefined) return undefined;
    if (!this.#lost.mayPrepare || this.#isTooRisky(query)) return undefined;
    // Its Parse is refused with 25P02, as with `pg`. A Bind alone may be refused for its values: they are checked first.
    if (query.name === undefined && this.#connection.session.hasFailedTransaction) return undefined;
    if (!this.#keeping.mayPrepare(query)) return undefined;
    const key = this.#connection.profile.keyOf(query.text);
    const known = this.cache.find(key);
    if (known !== undefined && !this.#isCurrent(known, query)) {
      this.abort(known);
    } else if (known !== undefined) {
      const isBatch = query.batch !== undefined && query.batch === known.batch;
      if (!isBatch && !this.#keeping.mayExecute(known, query)) return undefined;
      // A query behind a Parse that fails must be sent again, which is possible only on a shared
      // connection: elsewhere the order of statements counts.
      return known.isReady || isBatch || this.#connection.isShared ? known : undefined;
    }
    if (query.name === undefined) {
      // A utility statement has no plan to save, and may return something else each time. A
      // statement that changes the schema would have to be prepared anew for each use.
      if (!info.keepsColumns || info.schemaChange !== 'none') return undefined;
      // Whoever wants each text prepared at its first use gets that.
      if (prepareThreshold > 1 && !this.cache.admits(key, info.number)) return undefined;
    }
    for (const evicted of this.cache.evictFor(key)) this.#close(evicted);
    if (!this.cache.hasRoomFor(key)) return undefined;
    query.leads = true;
    const added = this.cache.add(key, query.text);
    added.batch = query.batch;
    this.#stamp(added, query);
    this.#keeping.onPrepare(added);
    return added;
  }

  /**
   * Whether an ADD COLUMN of another session would make it fail where it cannot be sent again. A
   * caller who gives a name has asked for a prepared statement, as with `pg`.
   * @param {Query} query
   */
  #isTooRisky({ name, info }) {
    return this.#watch.mayBeInTransaction && name === undefined && info.hasOpenColumns;
  }

  /**
   * @param {Statement} statement
   * @param {Query} query that is about to execute it
   * @returns {number} what is known of its columns, as ticks.writeExecute() takes it
   */
  columnsOf(statement, query) {
    return this.#columns.of(statement, query);
  }

  /** @param {Statement} statement @param {Query} query that would execute it */
  #isCurrent(statement, { name, info }) {
    if (statement.schemaEpoch !== this.#registry.schemaEpoch) return false;
    if (statement.epoch !== info.epoch || statement.sessionEpoch !== this.#watch.epoch) {
      return false;
    }
    // The time when the query at the head became the head: the clock is not read for each query.
    const now = this.#load.headSince;
    if (now >= statement.renewAt) return false;
    if (this.#watch.mayBeInTransaction && name === undefined) {
      if (now - statement.usedAt > MAX_IDLE_MILLIS_IN_TRANSACTION) return false;
    }
    statement.usedAt = now;
    return true;
  }

  /** @param {Statement} statement @param {Query} query that sends its Parse */
  #stamp(statement, { info }) {
    statement.schemaEpoch = this.#registry.schemaEpoch;
    statement.epoch = info.epoch;
    statement.sessionEpoch = this.#watch.epoch;
    statement.usedAt = this.#load.headSince;
    const millis = this.#settings.statementMaxAgeSeconds * 1000;
    statement.renewAt = statement.usedAt + millis * (1 - AGE_JITTER * Math.random());
  }

  /**
   * Queries sent behind this one must not rely on statements that it drops.
   * @param {Query} query for which choose() has chosen
   */
  sent(query) {
    const { info } = query;
    if (!info.isWatched) return;
    if (info.dropsStatements) this.cache.clear();
    this.#watch.sent(query);
  }

  /** @param {Query} query that sent() was called for, and that could not be written */
  notSent(query) {
    const { info, statement, leads } = query;
    if (info.isWatched) this.#watch.notSent(query);
    if (statement === undefined) return;
    --statement.users;
    if (leads) this.cache.remove(statement);
  }

  /** @param {Query} query whose Sync has come */
  answered(query) {
    const { statement } = query;
    if (statement !== undefined) {
      --statement.users;
      if (query.leads) {
        statement.batch = undefined;
        statement.isReady = !query.parseFailed;
        statement.isClosed = query.parseFailed;
        if (query.parseFailed) this.cache.remove(statement);
      }
      statement.shape ??= query.shape;
      this.#columns.learn(statement, query);
      if (statement.isRetired) this.#closeSoon(statement);
    }
    if (query.doubt !== undefined) this.#resolve(query, query.doubt);
    if (this.#watch.isAwake) {
      this.#watch.answered(query, this.#connection.session.transactionStatus);
    }
    if (query.tag !== '') this.#applyTag(query);
    this.#lost.synced();
    this.#keeping.synced();
  }

  /** The connection is closed. */
  lost() {
    this.#watch.lost();
  }

  /** Effects that the command tag shows and the text did not. @param {Query} query */
  #applyTag({ tag, info }) {
    if (info.schemaChange === 'none' && isTagOfDdl(tag)) this.#registry.renewAll();
    if (!info.dropsStatements && TAG_OF_DROP.test(tag)) this.cache.clear();
  }

  // --- Errors -------------------------------------------------------------------

  /** @param {Query} query that has failed @returns {Blame} */
  blame({ error, statement, info, leads, parseFailed }) {
    if (statement === undefined || !(error instanceof DatabaseError)) return 'none';
    if (isOfDroppedType(error)) return 'stale';
    // Its name is used by nobody else.
    if (error.code === '42P05' && leads && parseFailed) return 'lost';
    if (error.code === '26000') {
      // The same error may come from inside the statement, after that has changed something and, in
      // a procedure, committed it. It has a context then.
      return error.where === undefined && !info.mayCommitInside && !parseFailed ? 'lost' : 'none';
    }
    if (isOfChangedResult(error) && !info.mayCommitInside) return 'stale';
    if (parseFailed) return 'none';
    if (isOfAnalysis(error, info)) return 'stale';
    if (isOfParameter(error)) return 'doubtful';
    return leads || isOfExecution(error) ? 'none' : 'suspect';
  }

  /**
   * Applies what an error tells, for all connections, before they execute anything else.
   * @param {Query} query
   * @param {Blame} blame
   * @param {boolean} isRepeated whether it is about to be sent again, unprepared
   */
  learn(query, blame, isRepeated) {
    const { info, leads } = query;
    const statement = /** @type {Statement} */ (query.statement);
    const error = /** @type {DatabaseError} */ (query.error);
    switch (blame) {
      case 'lost':
        if (!NAMES_ANOTHER.has(info.class.keyword)) {
          if (leads) this.#lost.prove();
          else if (statement.isReady && !statement.isRetired) this.#lost.found();
        }
        this.abort(statement);
        break;
      case 'stale':
        // Out of date right after its Parse: a pooler takes another statement for this one.
        if (leads) this.#registry.neverPrepare(info);
        this.#renewAll(statement);
        this.abort(statement);
        break;
      case 'doubtful':
        if (isRepeated) query.doubt = { statement, leads, error };
        else if (!leads) this.#renew(statement, info);
        break;
      case 'suspect':
        this.#renew(statement, info);
        break;
      case 'none':
    }
  }

  /**
   * A query that was sent again unprepared has been answered.
   * @param {Query} query
   * @param {NonNullable<Query['doubt']>} doubt
   */
  #resolve(query, { statement, leads, error }) {
    query.doubt = undefined;
    const { info } = query;
    if (!query.hasFailed) {
      if (leads) this.#registry.neverPrepare(info);
      else this.#renewAll(statement);
    } else if (!query.wasSkipped && !isAlike(error, query.error)) {
      this.#renew(statement, info);
    }
    // With the same error twice, the caller's input was wrong: nothing is prepared anew for that.
  }

  /** @param {Statement} statement that was prepared against an older schema */
  #renewAll(statement) {
    // Another query may have detected it before.
    if (statement.schemaEpoch === this.#registry.schemaEpoch) this.#registry.renewAll();
  }

  /** @param {Statement} statement @param {Query['info']} info */
  #renew(statement, info) {
    if (statement.epoch === info.epoch) this.#registry.renew(info);
  }

  /** @param {Statement} statement that is gone or out of date */
  abort(statement) {
    this.cache.remove(statement);
    this.#closeSoon(statement);
  }

  /** @param {Statement} statement */
  #closeSoon(statement) {
    afterDelivery(() => this.#connection.whenPipelining(() => this.#close(statement)));
  }

  /**
   * @param {Statement} statement that has left the cache; while it has users, the last of them
   *   closes it
   */
  #close(statement) {
    this.#turns.wait(() => this.#writeClose(statement));
  }

  /** @param {Statement} statement */
  #writeClose(statement) {
    const { id, state } = this.#connection;
    if (statement.users > 0 || statement.isClosed || state !== 'ready') return;
    statement.isClosed = true;
    // No promise waits for it, but its Sync needs a slot.
    const slot = takeSlot(new Housekeeping(this.#connection, 'DEALLOCATE'));
    ticks.writeClose(id, slot, statement.id);
    this.#syncs.endAlone(slot);
  }
}

/** @param {DatabaseError} first @param {Error | undefined} second */
function isAlike({ code, message }, second) {
  return second instanceof DatabaseError && second.code === code && second.message === message;
}

module.exports = { PreparedStatements };
