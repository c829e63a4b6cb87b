'use strict';

// What the addon reports of one connection, passed on to the object that it concerns. Called by
// native/delivery.js in the middle of a delivery; owned by connection.js.

const { DatabaseError, isFatal } = require('../base');

/**
 * @typedef {import('../native').ConnectionEvents} ConnectionEvents
 * @typedef {import('../query').Query} Query
 * @typedef {import('../query').Batch} Batch
 *
 * What a connection reports to the object that made it.
 * @typedef {object} Owner
 * @property {(error: Error) => void} onLost the connection was lost unexpectedly; its queries have
 *   been rejected
 * @property {() => void} onClosed after onLost, or after end()
 * @property {(fields: Readonly<Record<string, string>>) => void} onNotice
 * @property {(message: { processId: number, channel: string, payload: string }) => void}
 *   onNotification
 * @property {(work: Query | Batch) => boolean} [onUnsent] takes over work that another connection
 *   may send
 * @property {() => void} onSettled a query has been settled; runs in the middle of a delivery
 * @property {() => void} [onReadOnly] the server refused a write; runs in the middle of a delivery
 */

/** @implements {ConnectionEvents} */
class NativeEvents {
  #connection;
  #lifecycle;
  #owner;

  /**
   * @param {import('./connection').Connection} connection
   * @param {import('./lifecycle').Lifecycle} lifecycle
   * @param {Owner} owner
   */
  constructor(connection, lifecycle, owner) {
    this.id = connection.id;
    this.#connection = connection;
    this.#lifecycle = lifecycle;
    this.#owner = owner;
  }

  /** @param {number} processID @param {number} serverVersion */
  onConnected(processID, serverVersion) {
    const connection = this.#connection;
    connection.processID = processID;
    connection.serverVersion = serverVersion;
    connection.load.headSince = performance.now();
    this.#lifecycle.onConnected();
  }

  /** @param {string} message */
  onConnectFailed(message) {
    this.#lifecycle.onConnectFailed(message);
  }

  /** @param {number} millis */
  onRoundTrip(millis) {
    this.#connection.onRoundTrip(millis);
  }

  /** @param {boolean} isTaken */
  onCancelled(isTaken) {
    this.#connection.canceller.onCancelled(isTaken);
  }

  /**
   * @param {Readonly<Record<string, string>>} fields
   * @param {import('../native').SlotEntry} [entry] that the server was answering
   */
  onNotice(fields, entry) {
    this.#connection.answers.unreplicated.note(fields);
    if (isFatal(fields)) this.#lifecycle.endReason.lastFatal = new DatabaseError(fields);
    else if (entry?.noticed(fields) !== true) this.#owner.onNotice(fields);
  }

  /** @param {number} processId @param {string} channel @param {string} payload */
  onNotification(processId, channel, payload) {
    this.#owner.onNotification({ processId, channel, payload });
  }

  /**
   * @param {string} message
   * @param {import('../query').Query[]} queries that were in flight
   */
  onLost(message, queries) {
    this.#lifecycle.onLost(message, queries);
  }

  /**
   * An event of this connection could not be processed, and what it said is lost.
   * @param {unknown} cause
   * @param {readonly any[]} entries that the event was for
   */
  onFault(cause, entries) {
    this.#connection.answers.onFault(cause, entries);
  }
}

module.exports = { NativeEvents };
