'use strict';

// Cancels what runs on a connection, one cancel (cancellation.js) at a time. Each Connection has a
// Canceller.

const { afterDelivery } = require('../base');
const { ticks } = require('../native');
const { Cancellation } = require('./cancellation');

class Canceller {
  #connection;
  #native;
  #outbox;
  /** @type {Cancellation | undefined} */
  #current = undefined;
  #mayBeSignalled = false;

  /**
   * @param {import('./connection').Connection} connection
   * @param {import('../native').NativeConnection} native
   * @param {import('./outbox').Outbox} outbox
   */
  constructor(connection, native, outbox) {
    this.#connection = connection;
    this.#native = native;
    this.#outbox = outbox;
  }

  /** The cancel that is under way. */
  get current() {
    return this.#current;
  }

  /** Whether a request did not get through in time, and may still arrive. */
  get mayBeSignalled() {
    return this.#mayBeSignalled;
  }

  /**
   * Cancels what runs now, if anything does.
   * @param {import('../query').Query | import('../query').Batch} [target] the only one in flight
   * @param {import('../base').QueryAbortedError} [reason]
   * @returns {Promise<void>} resolves when others may use the connection
   */
  cancel(target, reason) {
    if (this.#current !== undefined) {
      if (target !== undefined && reason !== undefined) this.#current.adopt(target, reason);
      return this.#current.asked;
    }
    const { state, load } = this.#connection;
    if (state === 'closed') return Promise.resolve();
    if (load.sent === 0) return this.#cancelHeld(target, reason);
    const cancellation = new Cancellation(this.#connection, this.#outbox, target, reason);
    this.#current = cancellation;
    // What is in the tick buffer must reach the server before the signal does.
    ticks.submit();
    this.ask();
    cancellation.done.then(() => {
      this.#current = undefined;
    });
    return cancellation.asked;
  }

  /**
   * What waits for an answer to the driver's own questions is sent first: to its caller it runs already.
   * @param {import('../query').Query | import('../query').Batch} [target]
   * @param {import('../base').QueryAbortedError} [reason]
   */
  async #cancelHeld(target, reason) {
    if (!this.#outbox.isHolding || this.#connection.state !== 'ready') return;
    await this.#connection.load.whenUnheld();
    await this.cancel(target, reason);
  }

  /** Sends a cancel request; onCancelled() follows. */
  ask() {
    this.#outbox.asides.signalBehind(() => {
      if (this.#connection.state !== 'closed') this.#native.cancel();
    });
  }

  /** The request was sent, and not answered in time. */
  expectLateSignal() {
    this.#mayBeSignalled = true;
  }

  /** The request has reached the server, or could not be sent. @param {boolean} ok */
  onCancelled(ok) {
    this.#mayBeSignalled = false;
    this.#current?.onCancelled(ok);
  }

  /** Something in flight is settled. */
  advance() {
    if (this.#current !== undefined) afterDelivery(() => this.#current?.advance());
  }

  /** The connection is closed. */
  end() {
    this.#current?.end();
  }
}

module.exports = { Canceller };
