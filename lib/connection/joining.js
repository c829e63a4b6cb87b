'use strict';

// What a connection that is never made has in the place of a handshake: its client is to share the connections of
// others, and waits until these have shown that the server is there and the login good. Used by lifecycle.js.

const { CallSite, Deferred, TimeLimit } = require('../base');
const { expiredError } = require('./errors');

/**
 * Gets what a connection that is never made was given, and whether that would have kept the process alive.
 * @typedef {(works: (import('../query').Query | import('../query').Batch)[], isLoopRef: boolean) => void} MoveOut
 */

class Joining {
  /** @type {Deferred<boolean>} */
  #outcome = new Deferred(new CallSite());
  /** @type {TimeLimit | undefined} */
  #limit = undefined;

  /**
   * @param {Promise<boolean>} proof whether it may share; rejects with what connecting has failed with
   * @param {number} millis connectionTimeoutMillis
   */
  constructor(proof, millis) {
    if (millis > 0) {
      const onOver = () => this.fail(expiredError(millis, 'connectionTimeoutMillis'));
      this.#limit = new TimeLimit(millis, onOver);
    }
    proof.then(
      (mayShare) => {
        this.#limit?.cancel();
        this.#outcome.resolve(mayShare);
      },
      (error) => this.fail(error),
    );
  }

  /** @returns {Promise<boolean>} */
  get done() {
    return this.#outcome.promise;
  }

  succeed() {}

  /** @param {string | Error} reason never a text: these are libpq's */
  fail(reason) {
    this.#limit?.cancel();
    this.#outcome.reject(/** @type {Error} */ (reason));
  }
}

module.exports = { Joining };
