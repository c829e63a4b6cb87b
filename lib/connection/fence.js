'use strict';

// A batch between BEGIN and COMMIT, for a database that is not known to take everything before one Sync for one
// transaction (locality.js). COMMIT has a Sync of its own, in the same flush: behind a statement that has failed it rolls
// back, without a warning, and what others send behind it is never in this transaction. Made by command-writer.js.

const { DatabaseError } = require('../base');
const { freeSlot, SlotEntry, takeSlot } = require('../native');
const { SyncGroup } = require('./sync-groups');

/**
 * @typedef {import('../query').Query} Query
 */

const BEGIN = 'BEGIN';
const COMMIT = 'COMMIT';
const ROLLBACK = 'ROLLBACK';

/** If it fails, the server skips the members. */
class Begin extends SlotEntry {
  /** @param {FencedGroup} group that it ends with, as the members do */
  constructor(group) {
    super();
    this.group = group;
    this.connection = group.connection;
    this.slot = takeSlot(this);
  }

  get members() {
    return this.group.members;
  }

  /** @override @param {number} phase @param {Readonly<Record<string, string>>} diagnostics */
  failed(phase, diagnostics) {
    this.group.failed(phase, diagnostics);
  }

  /** @override */
  notSent() {
    return false;
  }
}

class Commit extends SlotEntry {
  /** @param {FencedGroup} group */
  constructor(group) {
    super();
    this.of = group;
    this.connection = group.connection;
    this.slot = takeSlot(this);
  }

  get members() {
    return this.of.members;
  }

  /** @override @param {string} tag */
  completeOther(tag) {
    if (tag !== ROLLBACK || this.of.isUndone) return;
    this.of.error = new DatabaseError({
      S: 'ERROR',
      V: 'ERROR',
      C: '40000',
      M: 'the transaction of the batch was rolled back, and no statement of it has failed',
    });
  }

  /** @override @param {number} phase @param {Readonly<Record<string, string>>} diagnostics */
  failed(phase, diagnostics) {
    // Behind a statement that has failed there is nothing that could be committed.
    if (!this.of.isUndone) this.of.hasFailedAtCommit = true;
    this.of.failed(phase, diagnostics);
  }

  /** @override @param {number} _reason @param {number} detail 0: nothing of it has left */
  notSent(_reason, detail) {
    if (detail !== 0) this.of.isDoubtful = true;
    return true;
  }

  /** @override @param {number} transactionStatus @param {number} costMillis @param {number} now */
  synced(transactionStatus, costMillis, now) {
    this.of.committed(transactionStatus, costMillis, now);
  }

  /** @override */
  dropped() {
    // Else the members are lost, or dropped, with their Sync.
    if (this.of.isHalfDone) this.of.dropped();
  }

  /** @override @param {Query[]} queries */
  lost(queries) {
    this.of.lost(queries);
  }
}

/** Its slot is that of the Sync behind the members. */
class FencedGroup extends SyncGroup {
  /** @override */
  isFenced = true;
  begin = new Begin(this);
  commit = new Commit(this);
  /** The members are answered, and COMMIT is not. */
  isHalfDone = false;
  #isOver = false;
  #costMillis = 0;

  /** @override @param {number} _transactionStatus @param {number} costMillis */
  synced(_transactionStatus, costMillis) {
    this.isHalfDone = true;
    this.#costMillis = costMillis;
  }

  /** @param {number} transactionStatus @param {number} costMillis @param {number} now */
  committed(transactionStatus, costMillis, now) {
    if (this.#isOver) return;
    this.#isOver = true;
    super.synced(transactionStatus, this.#costMillis + costMillis, now);
  }

  /** @override */
  dropped() {
    if (this.#isOver) return;
    this.#isOver = true;
    super.dropped();
  }

  /** @override @param {Query[]} queries */
  lost(queries) {
    if (this.#isOver) return;
    this.#isOver = true;
    super.lost(queries);
  }

  /** @override */
  freeMembers() {
    freeSlot(this.begin.slot);
    super.freeMembers();
  }
}

module.exports = { BEGIN, COMMIT, FencedGroup };
