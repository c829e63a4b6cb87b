'use strict';

// Which prepared statement a query executes on its connection, when a text is
// prepared, and when a statement is closed. statement-cache.js keeps the books;
// the commands are written here. Used by connection.js.

const delivery = require('./delivery');
const { DatabaseError } = require('./errors');
const { LostStatements } = require('./lost-statements');
const { Housekeeping } = require('./query');
const { StatementCache } = require('./statement-cache');
const { epochChange } = require('./statement-class');
const ticks = require('./tick-buffer');

/**
 * @typedef {import('./connection').Connection} Connection
 * @typedef {import('./query').Query} Query
 * @typedef {import('./statement-cache').Statement} Statement
 */

/** What the server says of an OID that it does not know any more. */
const INTERNAL_ERROR = 'XX000';
/** Routines that know nothing of a type; by the routine, since the message is translated. */
const TYPE_LOOKUPS = new Set(['getTypeInputInfo', 'getTypeBinaryInputInfo']);
/** "unnamed portal parameter $1", in any language; before PostgreSQL 13 there is none. */
const OF_PARAMETER = /^[^\n"]* \$\d+$/;

/** What fails for the sake of a prepared statement of the user's. */
const NAMES_ANOTHER = new Set(['EXECUTE', 'DEALLOCATE']);

class PreparedStatements {
  #connection;
  #syncs;
  #settings;
  #isStaleUntilEnd = false;
  #lost;

  /**
   * @param {Connection} connection
   * @param {import('./sync-groups').SyncWriter} syncs
   * @param {import('./options').Settings} settings
   */
  constructor(connection, syncs, settings) {
    this.#connection = connection;
    this.#syncs = syncs;
    this.#settings = settings;
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
    const { prepare, prepareThreshold } = this.#settings;
    if (!(query.prepare ?? prepare) || query.info.isNeverPrepared) return undefined;
    if (!this.#lost.mayPrepare) return undefined;
    const known = this.cache.find(query.text);
    if (known !== undefined) {
      // Whoever follows a Parse that fails must be able to go again, which only
      // a shared connection allows: elsewhere the order of statements counts.
      const failsWithLeader = query.batch !== undefined && query.batch === known.batch;
      return known.isReady || failsWithLeader || this.#connection.isShared ? known : undefined;
    }
    if (query.name === undefined && query.info.uses < prepareThreshold) return undefined;
    for (const evicted of this.cache.evictFor(query.text)) this.#close(evicted);
    if (!this.cache.hasRoomFor(query.text)) return undefined;
    query.leads = true;
    const added = this.cache.add(query.text);
    added.batch = query.batch;
    return added;
  }

  /** @param {Query} query could not be written */
  notSent({ statement, leads }) {
    if (statement === undefined) return;
    --statement.users;
    if (leads) this.cache.remove(statement);
  }

  /** @param {Query} query has been written, with what choose() returned for it */
  sent(query) {
    // What is sent behind it must not count on what it takes away.
    if (query.info.dropsStatements) this.cache.clear();
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
    // Of several statements only the last tag is known here.
    if (query.results !== undefined) this.#applyTag('SET');
    else if (query.tag !== '') this.#applyTag(query.tag);
    this.#lost.synced();
  }

  /** @param {string} tag of a command that is done */
  #applyTag(tag) {
    const isEnd = tag === 'COMMIT' || tag === 'ROLLBACK';
    // What made statements stale inside a transaction is undone by its ROLLBACK.
    const change = isEnd && this.#isStaleUntilEnd ? 'stale' : epochChange(tag);
    if (change === 'none') return;
    const all = this.cache.clear();
    if (change === 'stale') for (const stale of all) this.#closeSoon(stale);
    this.#isStaleUntilEnd = change === 'stale' && !isEnd;
  }

  /**
   * Whether an error proves that the query did not run, only because its
   * prepared statement was gone or out of date.
   * @param {Query} query
   * @param {Error} error
   */
  isToBlame(query, error) {
    const { statement, info } = query;
    if (statement === undefined || !(error instanceof DatabaseError)) return false;
    if (isOfDroppedType(error)) return true;
    // The same errors may come from inside the statement, after it has done (and, in a procedure,
    // committed) something; they have a context then.
    if (error.where !== undefined || info.mayCommitInside) return false;
    if (error.code === '26000') {
      const isOfOurs = !NAMES_ANOTHER.has(info.class.keyword);
      if (isOfOurs && statement.isReady && !statement.isRetired) this.#lost.found();
      return !query.parseFailed;
    }
    // By the routine: the message is translated.
    const isStale = error.code === '0A000' && error.routine === 'RevalidateCachedQuery';
    // Just parsed, it is out of date: a pooler has another one that it takes for the same.
    if (isStale && query.leads) info.isNeverPrepared = true;
    return isStale;
  }

  /**
   * Whether the query's prepared statement may be out of date, though it may have run: a type of its
   * result was dropped, which the server finds out when it writes the first row; or the server is one
   * that does not say which routine of PostgreSQL an error is from.
   * @param {Query} query
   * @param {Error} error
   */
  isSuspect(query, error) {
    if (query.statement === undefined || !(error instanceof DatabaseError)) return false;
    if (error.code === INTERNAL_ERROR) return true;
    return error.code === '0A000' && error.routine === undefined;
  }

  /** @param {Statement} statement that is gone or out of date */
  giveUp(statement) {
    this.cache.remove(statement);
    this.#closeSoon(statement);
  }

  /** @param {Statement} statement */
  #closeSoon(statement) {
    delivery.afterDelivery(() => this.#connection.whenPipelining(() => this.#close(statement)));
  }

  /** @param {Statement} statement that the cache has given up; its last user will do it otherwise */
  #close(statement) {
    const { id, state } = this.#connection;
    if (statement.users > 0 || statement.isClosed || state !== 'ready') return;
    statement.isClosed = true;
    // Nobody waits for it, but its Sync must find its slot.
    const slot = delivery.takeSlot(new Housekeeping(this.#connection, 'DEALLOCATE'));
    ticks.writeClose(id, slot, statement.id);
    this.#syncs.endAlone(slot);
  }
}

/**
 * The type of a parameter was dropped, perhaps to be made anew under its name: a prepared statement
 * knows it by its OID. Bind finds that out, so that nothing ran; its context is the parameter alone.
 * @param {DatabaseError} error
 */
function isOfDroppedType({ code, routine, where }) {
  return (
    code === INTERNAL_ERROR &&
    TYPE_LOOKUPS.has(String(routine)) &&
    (where === undefined || OF_PARAMETER.test(where))
  );
}

module.exports = { PreparedStatements };
