'use strict';

// What one connection has sent that changes the meaning of prepared statements, until nothing can take it
// back any more. Owned by prepared-statements.js, which gives up what was prepared under another `epoch`;
// the other connections learn of it by the registry.

/** @typedef {import('../query').Query} Query */

/** PQTRANS_IDLE */
const IDLE = 0;

class SchemaWatch {
  /** Counts what changes the meaning of statements on this connection. */
  epoch = 0;
  /** A transaction may be open, or about to be, for what is sent now. */
  mayBeInTransaction = false;
  /** answered() must be told of each query. */
  isAwake = false;
  #registry;
  #changesInFlight = 0;
  #controlsInFlight = 0;
  /** A change was sent, and the end of its transaction was not seen. */
  #isOpen = false;
  /** One of the schema among them has succeeded. */
  #hasChanged = false;

  /** @param {import('../statements').StatementRegistry} registry */
  constructor(registry) {
    this.#registry = registry;
  }

  /**
   * What is sent behind it must not execute what was prepared before it. Other connections prepare anew from
   * now on, too: their Parse waits for its locks.
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
      if (info.schemaChange === 'schema') this.#registry.renewAll();
    }
    this.isAwake = true;
  }

  /** @param {Query} query that was told to sent() and could not be written */
  notSent({ info }) {
    if (info.touchesTransaction) --this.#controlsInFlight;
    if (info.schemaChange !== 'none') --this.#changesInFlight;
  }

  /** @param {Query} query whose Sync has come @param {number} transactionStatus as of that */
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
      // Now others see it; or it was taken back, and what was prepared meanwhile is wrong.
      ++this.epoch;
      if (this.#hasChanged) this.#registry.renewAll();
      this.#hasChanged = false;
      this.#isOpen = this.#changesInFlight > 0;
    }
    this.mayBeInTransaction = this.#controlsInFlight > 0;
    this.isAwake = this.#isOpen || this.mayBeInTransaction;
  }

  /** The connection is closed, and perhaps a COMMIT has come through that nobody was told of. */
  lost() {
    if (this.#isOpen) this.#registry.renewAll();
  }
}

module.exports = { SchemaWatch };
