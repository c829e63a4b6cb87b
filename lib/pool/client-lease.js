'use strict';

// What a client without a pool has in the place of a connection, if it shares connections with others: a lease that
// lasts until the client ends. Made by shared-clients.js when the client connects.

const { closedError, LeaseConnection } = require('./lease-connection');

/**
 * @typedef {import('../client').ClientEvents} ClientEvents
 * @typedef {import('../query').Batch} Batch
 * @typedef {import('../query').Query} Query
 */

class ClientLease extends LeaseConnection {
  /** Whether its client wants to keep the process alive. */
  isRef = true;
  isEnding = false;
  #group;
  #registry;
  #events;
  /** It has ended with no connection, so that nobody has told its client yet. */
  #isUntold = false;
  /** @type {Promise<void> | undefined} */
  #left = undefined;

  /**
   * @param {import('./shared-clients').SharedClients} group
   * @param {import('./leases').Leases} leases
   * @param {ClientEvents} events of its client
   */
  constructor(group, leases, events) {
    const own = {
      get face() {
        return events.face;
      },
      onSettled: () => events.onSettled(),
      // For the last client the other connections are closed first.
      onClosed: () => {
        this.#isUntold = true;
      },
    };
    super(leases, /** @type {ClientEvents} */ (/** @type {unknown} */ (own)));
    this.#group = group;
    this.#registry = leases.registry;
    this.#events = events;
  }

  get registry() {
    return this.#registry;
  }

  /** @returns {Promise<boolean>} whether its client may share; rejects with what connecting has failed with */
  async prove() {
    const mayShare = await this.#group.prove();
    if (!mayShare) await this.leave();
    return mayShare;
  }

  /** @override @param {boolean} ref */
  setLoopRef(ref) {
    this.isRef = ref;
    this.#group.updateLoopRef();
  }

  /** @param {boolean} ref whether a client of the group wants to keep the process alive */
  showLoopRef(ref) {
    super.setLoopRef(ref);
  }

  /** @override @param {Query} query */
  submit(query) {
    if (this.isEnding) query.reject(closedError());
    else super.submit(query);
  }

  /** @override @param {Batch} batch */
  submitBatch(batch) {
    if (this.isEnding) batch.reject(closedError());
    else super.submitBatch(batch);
  }

  /** @override */
  async end() {
    this.isEnding = true;
    // Its connection may be the only one.
    if (this.member !== undefined) await this.#group.openAnother();
    await super.end();
    await this.leave();
    this.#tellClosed();
  }

  /** @override Finishes what is in flight, which may be among that of others. */
  terminate() {
    return this.end();
  }

  /** @override */
  destroy() {
    super.destroy();
    this.leave();
    this.#tellClosed();
  }

  #tellClosed() {
    if (!this.#isUntold) return;
    this.#isUntold = false;
    this.#events.onClosed();
  }

  /** Its client needs no connection any more. @returns {Promise<void>} when those are closed that nobody needs */
  leave() {
    this.#left ??= this.#group.leave(this);
    return this.#left;
  }
}

module.exports = { ClientLease };
