'use strict';

// Sends the driver's own statements that bypass the queue: the empty query that absorbs a late
// cancel signal, savepoints, settings of the session, the query for the transaction status. They
// are sent at once, whatever is held back, and no caller waits for them. Owned by outbox.js.

const { ticks, takeSlot } = require('../native');
const { Housekeeping } = require('./housekeeping');

class Asides {
  #connection;
  #syncs;
  /** Statements in flight that no cancel signal may hit. */
  #guarded = 0;
  /** Sends the cancel signal that waits for them. @type {(() => void) | undefined} */
  #whenNoneGuarded = undefined;
  /** @type {Promise<void> | undefined} */
  #learning = undefined;
  #onLearned = () => {};

  /**
   * @param {import('./connection').Connection} connection
   * @param {import('./sync-groups').SyncWriter} syncs
   */
  constructor(connection, syncs) {
    this.#connection = connection;
    this.#syncs = syncs;
  }

  /**
   * @param {string} text
   * @param {() => void} [onAnswered]
   * @param {(row: any[]) => void} [onRow]
   * @param {boolean} [isGuarded] no cancel signal is sent before it is answered
   */
  send(text, onAnswered, onRow, isGuarded = true) {
    const release = isGuarded ? this.guard() : undefined;
    const answered = () => {
      onAnswered?.();
      release?.();
    };
    this.sendEntry(new Housekeeping(this.#connection, text, answered, onRow), text);
  }

  /** @returns {() => void} to be called when the guarded statement is answered */
  guard() {
    ++this.#guarded;
    return () => {
      const signal = this.#whenNoneGuarded;
      if (--this.#guarded > 0 || signal === undefined) return;
      this.#whenNoneGuarded = undefined;
      signal();
    };
  }

  /** @param {Housekeeping} entry @param {string} text */
  sendEntry(entry, text) {
    const slot = takeSlot(entry);
    ticks.writeQuery(this.#connection.id, slot, 0, text, []);
    this.#syncs.endAlone(slot);
  }

  /**
   * Sends a cancel signal as soon as no guarded statement is in flight. Sent earlier it would hit
   * that statement instead of its target, and a savepoint that fails aborts its transaction.
   * @param {() => void} signal sends it
   */
  signalBehind(signal) {
    if (this.#guarded === 0) signal();
    else this.#whenNoneGuarded = signal;
  }

  /** @returns {boolean} whether a cancel signal was waiting; it is not sent any more */
  withdrawSignal() {
    const isWaiting = this.#whenNoneGuarded !== undefined;
    this.#whenNoneGuarded = undefined;
    return isWaiting;
  }

  /**
   * Learns the transaction status, which each Sync reports, by a statement that does nothing.
   * @param {() => void} onLearned
   * @returns {Promise<void>} resolves when it is answered, or never will be
   */
  learnTransactionStatus(onLearned) {
    this.#learning ??= new Promise((resolve) => {
      this.#onLearned = () => {
        this.#learning = undefined;
        onLearned();
        resolve();
      };
      this.send('', this.#onLearned);
    });
    return this.#learning;
  }

  /** The connection is closed: nothing is answered any more. */
  end() {
    this.#onLearned();
  }
}

module.exports = { Asides };
