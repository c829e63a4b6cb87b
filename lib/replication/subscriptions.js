'use strict';

// What subscribe() gives, and all subscriptions of a pool. Owned by pool.js.

const { CallSite, PoolError } = require('../base');
const { Run } = require('./subscription');

/**
 * @typedef {import('./options').SubscribeOptions} SubscribeOptions
 * @typedef {import('./subscription').Owner} Owner
 */

/** What subscribe() gives. */
class ChangeSubscription {
  #run;
  /** @type {Promise<void> | undefined} */
  #closed = undefined;
  #isDropped = false;

  /** @param {Run} run that is open @param {SubscribeOptions} options @param {() => void} onEnded */
  constructor(run, { slot, isTemporary }, onEnded) {
    this.#run = run;
    this.slot = slot;
    this.isTemporary = isTemporary;
    /** Resolves when it was closed, and rejects when it cannot go on. */
    this.ended = run.read().finally(onEnded);
  }

  /** Everything in front of it has been told, and its handler has resolved. */
  get position() {
    return this.#run.position;
  }

  /**
   * Ends it behind the transaction that is being told, or with `now` behind the change.
   * @param {{ now?: boolean, dropSlot?: boolean }} [options]
   * @returns {Promise<void>} when nothing of it is left; what had gone wrong, `ended` tells
   */
  close({ now = false, dropSlot = false } = {}) {
    this.#run.close(now);
    this.#closed ??= this.ended.catch(() => {});
    if (!dropSlot || this.isTemporary || this.#isDropped) return this.#closed;
    this.#isDropped = true;
    this.#closed = this.#closed.then(() => this.#run.dropSlot());
    return this.#closed;
  }

  async [Symbol.asyncDispose]() {
    await this.close();
  }
}

class Subscriptions {
  #owner;
  #isEnded = false;
  /** @type {Set<ChangeSubscription>} */
  #open = new Set();
  /** Those that have no connection yet. @type {Set<Run>} */
  #opening = new Set();

  /** @param {Owner} owner */
  constructor(owner) {
    this.#owner = owner;
  }

  get count() {
    return this.#open.size + this.#opening.size;
  }

  /**
   * @param {SubscribeOptions} options
   * @returns {Promise<ChangeSubscription>}
   */
  async open(options) {
    const site = new CallSite();
    const run = new Run(this.#owner, options);
    this.#opening.add(run);
    try {
      await run.open();
    } catch (error) {
      site.nameIn(error);
      throw this.#isEnded ? endedError() : error;
    } finally {
      this.#opening.delete(run);
    }
    const subscription = new ChangeSubscription(run, options, () => {
      this.#open.delete(subscription);
    });
    this.#open.add(subscription);
    if (this.#isEnded) await subscription.close();
    return subscription;
  }

  /** Closes all of them. */
  async end() {
    this.#isEnded = true;
    for (const run of this.#opening) run.abort();
    await Promise.all([...this.#open].map((subscription) => subscription.close()));
  }
}

function endedError() {
  return new PoolError(
    'the pool was ended before the subscription began',
    'ERR_PG_CONDUIT_POOL_ENDED',
  );
}

module.exports = { Subscriptions };
