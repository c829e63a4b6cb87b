'use strict';

// Writes queries as commands into the tick buffer: chooses between Parse, Execute and an unprepared
// query, the format of the rows, and the Sync that ends the query. Owned by outbox.js, which
// decides when.

const { BytesGoneError, flag, int8Mode, ParameterError } = require('../base');
const { freeSlot, takeSlot, ticks } = require('../native');
const { tooLargeError } = require('../query');
const { int8OfColumns } = require('../rows');
const { preparedFlags, unpreparedFlags } = require('./decode-flags');
const { BEGIN, COMMIT, FencedGroup } = require('./fence');
const { SyncGroup } = require('./sync-groups');

/**
 * @typedef {import('./connection').Connection} Connection
 * @typedef {import('../query').Batch} Batch
 * @typedef {import('../query').Query} Query
 */

/**
 * The rows of a statement that returned more than this, or was never seen, are decoded as they
 * come, also by an installed libpq, which keeps those of others until the end.
 */
const MANY_ROWS = 1000;

/**
 * After so many queries in one tick what was written is sent: the server begins with them while the others of a burst
 * are written, which takes both sides about as long. Fewer would make more and smaller writes, and split Sync groups.
 */
const PART = 64;
/** A new text counts for more: the server has to analyse it. */
const NEW_TEXT = 2;

class CommandWriter {
  #tick = 0;
  /** Queries in that tick since it has begun. */
  #written = 0;
  #connection;
  #statements;
  #formats;
  #syncs;
  #simple;
  #int8Flags;

  /**
   * @param {Connection} connection
   * @param {{ statements: import('./prepared-statements').PreparedStatements,
   *   formats: import('./session-formats').SessionFormats, syncs: import('./sync-groups').SyncWriter,
   *   simple: import('./simple-protocol').SimpleProtocol }} parts
   * @param {import('../options').Settings} settings
   */
  constructor(connection, { statements, formats, syncs, simple }, settings) {
    this.#connection = connection;
    this.#statements = statements;
    this.#formats = formats;
    this.#syncs = syncs;
    this.#simple = simple;
    this.#int8Flags = int8Mode[settings.int8] << flag.int8Shift;
  }

  /** @param {Query} query */
  #rowFlagsOf({ rowMode, int8 }) {
    if (rowMode !== 'columns') return this.#int8Flags;
    return flag.whole | (int8Mode[int8OfColumns(int8)] << flag.int8Shift);
  }

  /** @param {Query} query */
  send(query) {
    if (query.results !== undefined) {
      this.#sendSimple(query);
      return;
    }
    const isInTransaction = this.#connection.session.isInTransaction;
    this.#begin(query);
    ticks.begin(query.size);
    query.isSimple = this.#simple.maySend(query, isInTransaction);
    query.commitsAlone = query.isSimple && !isInTransaction;
    try {
      this.#write(query);
    } catch (error) {
      this.#undo([query], error);
      return;
    }
    if (query.sharesSync && !query.isSimple) this.#syncs.endShared(query);
    else this.#syncs.endAlone(query.slot);
    this.#sendBehind(query);
    this.#sendPart(query);
  }

  /** @param {Query} query that was written */
  #sendPart({ info }) {
    const tick = ticks.current();
    if (tick !== this.#tick) {
      this.#tick = tick;
      this.#written = 0;
    }
    this.#written += info.uses === 1 ? NEW_TEXT : 1;
    if (this.#written >= PART) ticks.submit(true);
  }

  /** @param {Batch} batch @param {boolean} isFenced whether it needs BEGIN and COMMIT to be one transaction */
  sendBatch(batch, isFenced) {
    const { members } = batch;
    batch.trace?.sent(this.#connection);
    for (const query of members) this.#begin(query);
    ticks.begin(batch.size);
    const group = isFenced ? new FencedGroup(members) : new SyncGroup(members);
    let culprit = members[0];
    try {
      this.#writeBegin(group);
      for (const query of members) {
        culprit = query;
        query.isSimple = false;
        query.commitsAlone = false;
        this.#write(query);
      }
    } catch (error) {
      freeGroup(group);
      // The batch is rejected with the index of the first one.
      this.#undo([culprit, ...members.filter((query) => query !== culprit)], error);
      return;
    }
    this.#syncs.endAlone(group.slot);
    this.#writeCommit(group);
    for (const query of members) this.#sendBehind(query);
  }

  /** @param {SyncGroup} group */
  #writeBegin(group) {
    const { id } = this.#connection;
    if (group instanceof FencedGroup) ticks.writeQuery(id, group.begin.slot, 0, BEGIN, []);
  }

  /** @param {SyncGroup} group */
  #writeCommit(group) {
    if (!(group instanceof FencedGroup)) return;
    ticks.writeQuery(this.#connection.id, group.commit.slot, 0, COMMIT, []);
    this.#syncs.endAlone(group.commit.slot);
  }

  /** @param {Query} query a text of several statements */
  #sendSimple(query) {
    let flags = this.#rowFlagsOf(query);
    try {
      flags |= unpreparedFlags(query.types);
    } catch (error) {
      this.#connection.onUnwritten([query], unwrittenError(error));
      return;
    }
    this.#connection.session.querySent();
    this.#statements.sent(query);
    query.slot = takeSlot(query);
    query.trace?.sent(this.#connection);
    if (query.info.changesFormats) this.#formats.onSend(query);
    // What was written so far must be sent first.
    ticks.submit();
    this.#connection.runSimple(query.slot, flags, query.text);
  }

  /** @param {Query} query that was written */
  #sendBehind(query) {
    if (query.info.resetsFormats) this.#formats.onSent(query);
    if (this.#formats.isWanted) this.#formats.ask();
  }

  /** @param {Query} query */
  #begin(query) {
    // By the transaction status as it is known now.
    query.statement = this.#statements.choose(query);
    this.#connection.session.querySent();
    if (query.info.changesFormats) this.#formats.onSend(query);
    this.#statements.sent(query);
    query.slot = takeSlot(query);
    query.trace?.sent(this.#connection);
  }

  /**
   * @param {readonly Query[]} queries written since ticks.begin()
   * @param {unknown} cause
   */
  #undo(queries, cause) {
    ticks.rollback();
    for (const query of queries) {
      freeSlot(query.slot);
      this.#statements.notSent(query);
      if (query.info.changesFormats) this.#formats.onAnswered(query);
    }
    this.#connection.onUnwritten(queries, unwrittenError(cause));
  }

  /** @param {Query} query */
  #write(query) {
    const { id } = this.#connection;
    const { statement, slot, info, types, parameters } = query;
    const mayBeMany = info.rows > MANY_ROWS || info.effect === 'unknown';
    let flags = this.#rowFlagsOf(query);
    if (query.isStreamed) flags |= flag.streamed;
    else if (mayBeMany) flags |= flag.chunked;
    if (query.isDescription) {
      ticks.writeQuery(id, slot, flag.describe, query.text, []);
      return;
    }
    if (statement === undefined) {
      if (query.isSimple) flags |= flag.simple;
      flags |= unpreparedFlags(types);
      ticks.writeQuery(id, slot, flags, query.text, parameters);
      return;
    }
    if (query.leads) ticks.writeParse(id, slot, statement.id, statement.text);
    flags |= info.keepsColumns
      ? preparedFlags(statement, types, this.#formats)
      : unpreparedFlags(types);
    const columns = this.#statements.columnsOf(statement, query);
    ticks.writeExecute(id, slot, flags, statement.id, columns, parameters);
  }
}

/** @param {SyncGroup} group that was not written; its members are freed one by one */
function freeGroup(group) {
  freeSlot(group.slot);
  if (!(group instanceof FencedGroup)) return;
  freeSlot(group.begin.slot);
  freeSlot(group.commit.slot);
}

/**
 * A string or an array became longer than V8 allows, a buffer was detached, or the caller's `types`
 * threw.
 * @param {unknown} cause
 */
function unwrittenError(cause) {
  if (cause instanceof BytesGoneError) {
    return new ParameterError(`a parameter cannot be sent: ${cause.message}`, { cause });
  }
  return cause instanceof ParameterError ? cause : tooLargeError({ cause });
}

module.exports = { CommandWriter };
