'use strict';

// Sync groups: queries of one text and several callers that are sent on one connection in one tick,
// behind a single Sync. The group is one implicit transaction (PostgreSQL documentation,
// "Pipelining" in "Message Flow"). No member is answered before the Sync. When one fails the server
// has undone them all, and each is run again under a Sync of its own. A batch is sent as a group,
// too. Used by outbox.js and command-writer.js.

const { DatabaseError, isFatal } = require('../base');
const { freeSlot, SlotEntry, takeSlot, ticks } = require('../native');
const { outcome } = require('../query');

/**
 * @typedef {import('./connection').Connection} Connection
 * @typedef {import('../query').Query} Query
 */

/** The most members of a group: the first one waits for all of them. */
const MAX_MEMBERS = 32;
/**
 * A group holds at most this part of what is in flight. Were it all in one group, client and server would take turns;
 * so they work at the same time, each on one half.
 */
const MAX_PART = 1 / 2;
/** What a group may be expected to cost the server, in ms: its locks are held for that long. */
const MAX_MILLIS = 2;
const MAX_BYTES = 256 << 10;
/** A query that costs more is sent alone. */
const MAX_MEMBER_MILLIS = MAX_MILLIS / 2;
const MAX_MEMBER_BYTES = MAX_BYTES / 2;

/** The entry in the slot of the Sync. */
class SyncGroup extends SlotEntry {
  /** Why the commit failed. @type {DatabaseError | undefined} */
  error = undefined;
  /** The error is the last message of a server or a pooler, and proves nothing. */
  wasFatal = false;
  /** Whether its members are between BEGIN and COMMIT. */
  isFenced = false;
  /** The error, of a group that is fenced, is that of its COMMIT. */
  hasFailedAtCommit = false;
  /** A part of its COMMIT may have left. */
  isDoubtful = false;
  expectedMillis = 0;
  size = 0;
  /** @type {Query[]} */
  members = [];

  /** @param {readonly Query[]} queries that were written one after the other */
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
      this.members.length < mostMembers(this.connection) &&
      this.expectedMillis + query.expectedMillis <= MAX_MILLIS &&
      this.size + query.size <= MAX_BYTES
    );
  }

  /**
   * Whether the server has undone what all members did: an error ends the transaction that they
   * share.
   */
  get isUndone() {
    if (this.error !== undefined) return !this.wasFatal;
    return this.members.some((query) => query.hasFailed && !query.wasSkipped && !query.wasFatal);
  }

  /** @override @param {number} phase @param {Readonly<Record<string, string>>} diagnostics */
  failed(phase, diagnostics) {
    if (diagnostics.C === undefined) {
      // libpq's own error: the server knows of none, and may have committed.
      for (const query of this.members) query.failed(phase, diagnostics);
      return;
    }
    this.error ??= new DatabaseError(diagnostics);
    if (isFatal(diagnostics)) {
      this.wasFatal = true;
      this.connection.events.onNotice(diagnostics);
    }
  }

  /** @override @param {number} transactionStatus @param {number} costMillis @param {number} now */
  synced(transactionStatus, costMillis, now) {
    this.freeMembers();
    this.connection.answers.onGroupSync(this, transactionStatus, costMillis, now);
  }

  /** Its Sync could not be written. @override */
  dropped() {
    this.freeMembers();
    const told = this.isDoubtful ? 'unknown' : outcome.ofUnsent(this.members);
    for (const query of this.members) this.connection.onNotSent(query, told);
  }

  /** @override @param {Query[]} queries receives those that are lost with the connection */
  lost(queries) {
    this.freeMembers();
    queries.push(...this.members);
  }

  /** No event comes for them any more. */
  freeMembers() {
    for (const { slot } of this.members) freeSlot(slot);
  }
}

/** @param {Connection} connection @returns {number} members of a group that is sent now, at most */
function mostMembers({ load }) {
  return Math.min(MAX_MEMBERS, Math.floor(load.crowd * MAX_PART));
}

/** @param {Query} last the end of what was written @param {Query} query of the same text */
function hasRoomBehind({ group, connection }, query) {
  if (group !== undefined) return group.hasRoomFor(query);
  return mostMembers(/** @type {Connection} */ (connection)) > 1;
}

/** Writes the Syncs of one connection's queries, and knows which Sync others may still join. */
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

  /**
   * Ends what was written for a slot with a Sync that no other query joins.
   * @param {number} slot
   */
  endAlone(slot) {
    this.#last = undefined;
    ticks.writeSync(this.#id, slot);
  }

  /** @param {Query} query that is settled: no reference to it is kept */
  forget(query) {
    if (query === this.#last) this.#last = undefined;
  }

  /**
   * Ends a query, in a group with those of its text before it if they have room.
   * @param {Query} query
   */
  endShared(query) {
    const isOpen = this.#tick === ticks.current() && this.#last?.info === query.info;
    const last = isOpen ? this.#last : undefined;
    this.#last = query;
    this.#tick = ticks.current();
    if (last !== undefined && hasRoomBehind(last, query)) {
      const group = last.group ?? new SyncGroup([last]);
      group.add(query);
      this.#syncAt = ticks.moveSync(this.#syncAt, this.#id, group.slot);
    } else {
      this.#syncAt = ticks.writeSync(this.#id, query.slot);
    }
  }
}

module.exports = { SyncGroup, SyncWriter, MAX_MEMBERS, MAX_MEMBER_MILLIS, MAX_MEMBER_BYTES };
