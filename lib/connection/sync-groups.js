'use strict';

// Sync groups: queries of one text and several callers that one tick sends on one
// connection behind a single Sync. The group is one implicit transaction (PostgreSQL
// documentation, "Pipelining" in "Message Flow"): nobody in it is answered
// before the Sync, and when one fails the server has undone them all, so that
// each is run again under a Sync of its own. Used by connection.js.

const { DatabaseError, isFatal } = require('../base');
const { freeSlot, SlotEntry, takeSlot, ticks } = require('../native');
const { outcome } = require('../query');

/**
 * @typedef {import('./connection').Connection} Connection
 * @typedef {import('../query').Query} Query
 */

/** The first one waits for so many. */
const MAX_MEMBERS = 32;
/** What a group is expected to cost the server at most, in ms: its locks are held for so long. */
const MAX_MILLIS = 2;
const MAX_BYTES = 256 << 10;
/** What costs more goes alone. Two always have room together. */
const MAX_MEMBER_MILLIS = MAX_MILLIS / 2;
const MAX_MEMBER_BYTES = MAX_BYTES / 2;

/** Stands in the slot of the Sync. */
class SyncGroup extends SlotEntry {
  /** Why the commit failed. @type {DatabaseError | undefined} */
  error = undefined;
  /** The last words of a server or a pooler, which prove nothing. */
  wasFatal = false;
  expectedMillis = 0;
  size = 0;
  /** @type {Query[]} */
  members = [];

  /** @param {readonly Query[]} queries that have been written, one after the other */
  constructor(queries) {
    super();
    this.connection = queries[0].connection;
    this.slot = takeSlot(this);
    for (const query of queries) this.add(query);
  }

  /** @param {Query} query */
  add(query) {
    this.members.push(query);
    this.expectedMillis += query.expectedMillis;
    this.size += query.size;
    query.group = this;
  }

  /** @param {Query} query */
  hasRoomFor(query) {
    return (
      this.members.length < MAX_MEMBERS &&
      this.expectedMillis + query.expectedMillis <= MAX_MILLIS &&
      this.size + query.size <= MAX_BYTES
    );
  }

  /** The server has undone what all of them did: an error ends the transaction that they share. */
  get isUndone() {
    if (this.error !== undefined) return !this.wasFatal;
    return this.members.some((query) => query.hasFailed && !query.wasSkipped && !query.wasFatal);
  }

  /** @override @param {number} phase @param {Readonly<Record<string, string>>} diagnostics */
  failed(phase, diagnostics) {
    if (diagnostics.C === undefined) {
      // libpq's own words: the server knows of no error, and may have committed.
      for (const query of this.members) query.failed(phase, diagnostics);
      return;
    }
    this.error ??= new DatabaseError(diagnostics);
    if (isFatal(diagnostics)) {
      this.wasFatal = true;
      this.connection.onNotice(diagnostics);
    }
  }

  /** @override @param {number} transactionStatus @param {number} costMillis @param {number} now */
  synced(transactionStatus, costMillis, now) {
    this.#freeMembers();
    this.connection.answers.onGroupSync(this, transactionStatus, costMillis, now);
  }

  /** Its Sync could not be written. @override */
  dropped() {
    this.#freeMembers();
    const told = outcome.ofUnsent(this.members);
    for (const query of this.members) this.connection.onNotSent(query, told);
  }

  /** @override @param {Query[]} queries gets those that the connection takes with it */
  lost(queries) {
    this.#freeMembers();
    queries.push(...this.members);
  }

  #freeMembers() {
    for (const { slot } of this.members) freeSlot(slot);
  }
}

/** Writes the Syncs of one connection's queries, and knows which of them others may still join. */
class SyncWriter {
  #id;
  /** The last query whose Sync others may join, in the tick `#tick`. @type {Query | undefined} */
  #last = undefined;
  #tick = 0;
  #syncAt = 0;

  /** @param {number} id of the connection */
  constructor(id) {
    this.#id = id;
  }

  /** Ends what was written for a slot, which nobody joins. @param {number} slot */
  endAlone(slot) {
    this.#last = undefined;
    ticks.writeSync(this.#id, slot);
  }

  /** @param {Query} query that is settled: it is not to be kept */
  forget(query) {
    if (query === this.#last) this.#last = undefined;
  }

  /** Ends a query, together with those of its text before it if they have room. @param {Query} query */
  endShared(query) {
    const isOpen = this.#tick === ticks.current() && this.#last?.info === query.info;
    const last = isOpen ? this.#last : undefined;
    this.#last = query;
    this.#tick = ticks.current();
    if (last !== undefined && (last.group === undefined || last.group.hasRoomFor(query))) {
      const group = last.group ?? new SyncGroup([last]);
      group.add(query);
      this.#syncAt = ticks.moveSync(this.#syncAt, this.#id, group.slot);
    } else {
      this.#syncAt = ticks.writeSync(this.#id, query.slot);
    }
  }
}

module.exports = { SyncGroup, SyncWriter, MAX_MEMBERS, MAX_MEMBER_MILLIS, MAX_MEMBER_BYTES };
