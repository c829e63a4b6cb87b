'use strict';

// Statements of the driver's own that nobody waits for in its place in line: an empty query that takes a late cancel
// signal, savepoints, the question for the transaction status. They are sent at once, whatever is held back. Owned by
// outbox.js.

const { ticks, takeSlot } = require('../native');
const { Housekeeping } = require('./housekeeping');

class Asides {
  #connection;
  #syncs;
  /** In flight, and no cancel signal may hit them. */
  #guarded = 0;
  /** Sends a cancel signal. @type {(() => void) | undefined} */
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
    if (isGuarded) ++this.#guarded;
    const answered = () => {
      if (isGuarded) --this.#guarded;
      onAnswered?.();
      const signal = this.#whenNoneGuarded;
      if (this.#guarded > 0 || signal === undefined) return;
      this.#whenNoneGuarded = undefined;
      signal();
    };
    const slot = takeSlot(new Housekeeping(this.#connection, text, answered, onRow));
    ticks.writeQuery(this.#connection.id, slot, 0, text, []);
    this.#syncs.endAlone(slot);
  }

  /**
   * A cancel signal would hit a statement of ours that stands before the one it is meant for: a savepoint that
   * fails takes its transaction along.
   * @param {() => void} signal sends it
   */
  signalBehind(signal) {
    if (this.#guarded === 0) signal();
    else this.#whenNoneGuarded = signal;
  }

  /** @returns {boolean} whether a cancel signal was still to be sent, and now is not any more */
  withdrawSignal() {
    const isWaiting = this.#whenNoneGuarded !== undefined;
    this.#whenNoneGuarded = undefined;
    return isWaiting;
  }

  /**
   * Asks for the transaction status, which each Sync tells, by a statement that does nothing.
   * @param {() => void} onLearned
   * @returns {Promise<void>} it is answered, or never will be
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

  /** Nothing is answered any more. */
  end() {
    this.#onLearned();
  }
}

module.exports = { Asides };
