'use strict';

// The messages of a replication connection (PostgreSQL documentation, "Streaming Replication Protocol"): those of the
// server are passed on one by one, in their order, once the delivery that brings them is over. Each Connection with
// the option `replication` has one; query.js reports what comes for START_REPLICATION.

const { afterDelivery, callApart } = require('../base');

/**
 * Who reads the messages: pg/replication.js for users of `client.connection`, or a subscription.
 * @typedef {object} ReplicationReader
 * @property {() => void} onStart
 * @property {(message: Buffer) => void} onMessage
 */

class Replication {
  /** @type {ReplicationReader | undefined} */
  reader = undefined;
  /** That which runs START_REPLICATION. @type {object | undefined} */
  #query = undefined;
  /** @type {Buffer[]} */
  #messages = [];

  /** Whether START_REPLICATION runs, which ends only with an error or with the connection. */
  get isOn() {
    return this.#query !== undefined;
  }

  /** @param {object} query */
  begin(query) {
    this.#query = query;
    afterDelivery(() => callApart(() => this.reader?.onStart()));
  }

  /** @param {Buffer} message */
  take(message) {
    if (this.#messages.length === 0) afterDelivery(() => this.#passOn());
    this.#messages.push(message);
  }

  #passOn() {
    const messages = this.#messages;
    this.#messages = [];
    for (const message of messages) callApart(() => this.reader?.onMessage(message));
  }

  /** @param {object} query that is settled: it, or one that waits behind it */
  end(query) {
    if (query === this.#query) this.#query = undefined;
  }
}

module.exports = { Replication };
