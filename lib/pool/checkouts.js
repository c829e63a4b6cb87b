'use strict';

// Checkouts of a pool's connections: what connect() and transaction() do between their call and the release. Gives
// leases where it can, else clients with a connection of their own, and watches for what is not given back.
// Owned by pool.js.

const { transactionsOf } = require('../client');
const { readTransaction } = require('../transaction');
const { watchLoan } = require('./leak-warning');
const { lend } = require('./loan');

/**
 * @typedef {import('../client').Client} Client
 * @typedef {import('./loan').LentClient} LentClient
 *
 * @typedef {object} CheckoutEvents
 * @property {(client: Client) => void} onAcquired
 * @property {(client: Client, error: unknown) => void} onReleased before somebody else may get it
 */

class Checkouts {
  #leakWarningMillis;
  #dispatcher;
  #leases;
  #events;

  /**
   * @param {import('../options').Settings} settings
   * @param {import('./dispatcher').Dispatcher} dispatcher
   * @param {import('./leases').Leases} leases
   * @param {CheckoutEvents} events
   */
  constructor(settings, dispatcher, leases, events) {
    this.#leakWarningMillis = settings.leakWarningMillis;
    this.#dispatcher = dispatcher;
    this.#leases = leases;
    this.#events = events;
  }

  /** @returns {Promise<LentClient>} */
  connect() {
    // It notes who has called, which an async function could not tell.
    return this.#connect(this.#watch());
  }

  /** @param {ReturnType<typeof watchLoan> | undefined} watch */
  async #connect(watch) {
    if (this.#leases.isPossible) {
      return this.#lend(this.#leases.open(), watch);
    }
    const member = await this.#dispatcher.borrow();
    return this.#lend(member.client, watch, member);
  }

  /**
   * @template T
   * @param {import('../transaction').Body<T>} fn
   * @param {Record<string, any>} [options]
   * @returns {Promise<T>}
   */
  async transaction(fn, options) {
    readTransaction(fn, options);
    const watch = this.#watch();
    const member = await this.#dispatcher.borrow();
    watch?.start();
    transactionsOf(member.client).open();
    try {
      return await member.client.transaction(fn, options);
    } finally {
      watch?.stop();
      this.#dispatcher.lender.takeBack(member);
    }
  }

  #watch() {
    return this.#leakWarningMillis > 0 ? watchLoan(this.#leakWarningMillis) : undefined;
  }

  /**
   * @param {Client} client
   * @param {ReturnType<typeof watchLoan> | undefined} watch
   * @param {import('./member').Member} [member] undefined: it is a lease
   */
  #lend(client, watch, member) {
    watch?.start();
    transactionsOf(client).open();
    const lent = lend(client, (error) => {
      watch?.stop();
      this.#events.onReleased(client, error);
      if (member === undefined) this.#leases.release(client, Boolean(error));
      else this.#dispatcher.lender.takeBack(member, Boolean(error));
    });
    this.#events.onAcquired(client);
    return lent;
  }
}

module.exports = { Checkouts };
