'use strict';

// Tracks what one connection has sent that changes the meaning of prepared statements, until it can
// no longer be rolled back. Owned by prepared-statements.js, which drops what was prepared under
// another `epoch`. Other connections learn of changes through the registry.

/** @typedef {import('../query').Query} Query */

/** PQTRANS_IDLE */
const IDLE = 0;

class SchemaWatch {
  /** Incremented by what changes the meaning of statements on this connection. */
  epoch = 0;
  /** Whether a transaction may be open for what is sent now, or about to be. */
  mayBeInTransaction = false;
  /** Whether answered() must be called for each query. */
  isAwake = false;
  #registry;
  #changesInFlight = 0;
  #controlsInFlight = 0;
  /** A change was sent, and the end of its transaction has not been seen. */
  #isOpen = false;
  /** A change of the schema in that transaction has succeeded. */
  #hasChanged = false;

  /** @param {import('../statements').StatementRegistry} registry */
  constructor(registry) {
    this.#registry = registry;
  }

  /**
   * Queries sent behind this one must not execute what was prepared before it. Other connections
   * also prepare anew from now on: their Parse waits for the locks of the change.
   * @param {Query} query
   */
  sent({ info }) {
    if (info.touchesTransaction) {
      ++this.#controlsInFlight;
      this.mayBeInTransaction = true;
      // It may be a ROLLBACK.
      if (this.#isOpen) ++this.epoch;
    }
    if (info.schemaChange !== 'none') {
      ++this.#changesInFlight;
      this.#isOpen = true;
      ++this.epoch;
      if (info.schemaChange === 'schema') this.#registry.renewAll(info.text);
    }
    this.isAwake = true;
  }

  /** @param {Query} query that sent() was called for, and that could not be written */
  notSent({ info }) {
    if (info.touchesTransaction) --this.#controlsInFlight;
    if (info.schemaChange !== 'none') --this.#changesInFlight;
  }

  /** @param {Query} query whose Sync has come @param {number} transactionStatus as of that Sync */
  answered({ info, hasFailed }, transactionStatus) {
    if (info.touchesTransaction) --this.#controlsInFlight;
    if (info.schemaChange !== 'none') {
      --this.#changesInFlight;
      ++this.epoch;
      const lasts = !hasFailed || info.isSeveral || info.mayCommitInside;
      if (info.schemaChange === 'schema' && lasts) this.#hasChanged = true;
    }
    if (transactionStatus !== IDLE) return;
    if (this.#isOpen) {
      // Now others see it; or it was rolled back, and what was prepared meanwhile is wrong.
      ++this.epoch;
      if (this.#hasChanged) this.#registry.renewAll();
      this.#hasChanged = false;
      this.#isOpen = this.#changesInFlight > 0;
    }
    this.mayBeInTransaction = this.#controlsInFlight > 0;
    this.isAwake = this.#isOpen || this.mayBeInTransaction;
  }

  /** The connection is closed. A COMMIT may have succeeded without its answer having arrived. */
  lost() {
    if (this.#isOpen) this.#registry.renewAll();
  }
}

module.exports = { SchemaWatch };
