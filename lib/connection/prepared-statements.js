'use strict';

// Which prepared statement a query executes on its connection, when a text is
// prepared, and when a statement is closed. statements/cache.js keeps the books;
// the commands are written here. Used by connection.js.

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
const { LostStatements } = require('./lost-statements');
const { SchemaWatch } = require('./schema-watch');

/**
 * @typedef {import('./connection').Connection} Connection
 * @typedef {import('../query').Query} Query
 * @typedef {import('../statements').Statement} Statement
 *
 * What an error has to do with the prepared statement that was executed:
 * - none: nothing
 * - suspect: it may be out of date, and the query may have run
 * - doubtful: it may be out of date, and nothing ran
 * - stale: it is out of date, and nothing ran
 * - lost: it is gone, and nothing ran
 * @typedef {'none' | 'suspect' | 'doubtful' | 'stale' | 'lost'} Blame
 */

/** What fails for the sake of a prepared statement of the user's. */
const NAMES_ANOTHER = new Set(['EXECUTE', 'DEALLOCATE']);

/** Lifetimes end between this part of the limit and all of it, so that not all are renewed at once. */
const AGE_JITTER = 0.2;

/**
 * In a transaction nothing can be sent again: what was not used for so long is prepared anew there. A use proves
 * that it was not out of date then, so that what is in use all the time costs nothing more.
 */
const MAX_IDLE_MILLIS_IN_TRANSACTION = 1000;

const TAG_OF_DROP = /^(?:DISCARD ALL|DEALLOCATE ALL)$/;

class PreparedStatements {
  #connection;
  #syncs;
  #settings;
  #registry;
  #lost;
  #watch;
  #load;

  /**
   * @param {Connection} connection
   * @param {import('./sync-groups').SyncWriter} syncs
   * @param {import('../options').Settings} settings
   * @param {import('../statements').StatementRegistry} registry
   */
  constructor(connection, syncs, settings, registry) {
    this.#connection = connection;
    this.#syncs = syncs;
    this.#settings = settings;
    this.#registry = registry;
    this.#watch = new SchemaWatch(registry);
    this.#load = connection.load;
    this.#lost = new LostStatements(connection, settings);
    this.cache = new StatementCache(settings.statementCacheSize, settings.statementCacheBytes);
  }

  /**
   * @param {Query} query
   * @returns {Statement | undefined} what it executes, and is a user of until
   *   answered() or notSent(); it leads when it must send the Parse first
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
    if (!this.#lost.mayPrepare || this.#isTooRisky(query)) return undefined;
    const known = this.cache.find(query.text);
    if (known !== undefined && !this.#isCurrent(known, query)) {
      this.giveUp(known);
    } else if (known !== undefined) {
      // Whoever follows a Parse that fails must be able to go again, which only
      // a shared connection allows: elsewhere the order of statements counts.
      const failsWithLeader = query.batch !== undefined && query.batch === known.batch;
      return known.isReady || failsWithLeader || this.#connection.isShared ? known : undefined;
    }
    if (query.name === undefined) {
      // A utility statement has no plan to save, and what it returns may be something else each time. What
      // changes the schema would be prepared anew for each use.
      if (!info.keepsColumns || info.schemaChange !== 'none') return undefined;
      if (info.uses < prepareThreshold) return undefined;
    }
    for (const evicted of this.cache.evictFor(query.text)) this.#close(evicted);
    if (!this.cache.hasRoomFor(query.text)) return undefined;
    query.leads = true;
    const added = this.cache.add(query.text);
    added.batch = query.batch;
    this.#stamp(added, query);
    return added;
  }

  /**
   * Whether an ADD COLUMN of somebody else's would make it fail where it cannot be sent again. Who gives a
   * name has asked for a prepared statement, as with `pg`.
   * @param {Query} query
   */
  #isTooRisky({ name, info }) {
    return this.#watch.mayBeInTransaction && name === undefined && info.hasOpenColumns;
  }

  /** @param {Statement} statement @param {Query} query that executes it then */
  #isCurrent(statement, { name, info }) {
    if (statement.schemaEpoch !== this.#registry.schemaEpoch) return false;
    if (statement.epoch !== info.epoch || statement.sessionEpoch !== this.#watch.epoch) {
      return false;
    }
    // As of when the query at the head was sent; no clock is asked for each query.
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
   * What is sent behind it must not count on what it takes away.
   * @param {Query} query for which choose() has chosen
   */
  sent(query) {
    const { info } = query;
    if (!info.isWatched) return;
    if (info.dropsStatements) this.cache.clear();
    this.#watch.sent(query);
  }

  /** @param {Query} query that was told to sent(), and could not be written */
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
      if (statement.isRetired) this.#closeSoon(statement);
    }
    if (query.doubt !== undefined) this.#resolve(query, query.doubt);
    if (this.#watch.isAwake) this.#watch.answered(query, this.#connection.transactionStatus);
    if (query.tag !== '') this.#applyTag(query);
    this.#lost.synced();
  }

  /** The connection is closed. */
  lost() {
    this.#watch.lost();
  }

  /** What the text did not tell. @param {Query} query */
  #applyTag({ tag, info }) {
    if (info.schemaChange === 'none' && isTagOfDdl(tag)) this.#registry.renewAll();
    if (!info.dropsStatements && TAG_OF_DROP.test(tag)) this.cache.clear();
  }

  // --- Errors -------------------------------------------------------------------

  /** @param {Query} query that has failed @returns {Blame} */
  blame({ error, statement, info, leads, parseFailed }) {
    if (statement === undefined || !(error instanceof DatabaseError)) return 'none';
    if (isOfDroppedType(error)) return 'stale';
    if (error.code === '26000') {
      // The same error may come from inside the statement, after it has done (and, in a procedure,
      // committed) something; it has a context then.
      return error.where === undefined && !info.mayCommitInside && !parseFailed ? 'lost' : 'none';
    }
    if (isOfChangedResult(error) && !info.mayCommitInside) return 'stale';
    if (parseFailed) return 'none';
    if (isOfAnalysis(error, info)) return 'stale';
    if (isOfParameter(error)) return 'doubtful';
    return leads || isOfExecution(error) ? 'none' : 'suspect';
  }

  /**
   * What is known after an error: to all connections, before they execute anything next.
   * @param {Query} query
   * @param {Blame} blame
   * @param {boolean} isRepeated it is about to be sent again, unprepared
   */
  learn(query, blame, isRepeated) {
    const { info, leads } = query;
    const statement = /** @type {Statement} */ (query.statement);
    const error = /** @type {DatabaseError} */ (query.error);
    switch (blame) {
      case 'lost':
        if (!NAMES_ANOTHER.has(info.class.keyword) && statement.isReady && !statement.isRetired) {
          this.#lost.found();
        }
        this.giveUp(statement);
        break;
      case 'stale':
        // Just parsed, it is out of date: a pooler has another one that it takes for the same.
        if (leads) info.isNeverPrepared = true;
        this.#renewAll(statement);
        this.giveUp(statement);
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
   * A query that was sent again, unprepared, has been answered.
   * @param {Query} query
   * @param {NonNullable<Query['doubt']>} doubt
   */
  #resolve(query, { statement, leads, error }) {
    query.doubt = undefined;
    const { info } = query;
    if (!query.hasFailed) {
      if (leads) info.isNeverPrepared = true;
      else this.#renewAll(statement);
    } else if (!query.wasSkipped && !isAlike(error, query.error)) {
      this.#renew(statement, info);
    }
    // Failed alike, it was the caller's own error: bad input makes nobody prepare anew.
  }

  /** @param {Statement} statement the schema is not that any more that it was prepared against */
  #renewAll(statement) {
    // Others may have found it out before.
    if (statement.schemaEpoch === this.#registry.schemaEpoch) this.#registry.renewAll();
  }

  /** @param {Statement} statement @param {Query['info']} info */
  #renew(statement, info) {
    if (statement.epoch === info.epoch) this.#registry.renew(info);
  }

  /** @param {Statement} statement that is gone or out of date */
  giveUp(statement) {
    this.cache.remove(statement);
    this.#closeSoon(statement);
  }

  /** @param {Statement} statement */
  #closeSoon(statement) {
    afterDelivery(() => this.#connection.whenPipelining(() => this.#close(statement)));
  }

  /** @param {Statement} statement that the cache has given up; its last user will do it otherwise */
  #close(statement) {
    const { id, state } = this.#connection;
    if (statement.users > 0 || statement.isClosed || state !== 'ready') return;
    statement.isClosed = true;
    // Nobody waits for it, but its Sync must find its slot.
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
