'use strict';

// `client.queryQueue` of `pg`, as far as tracing tools use it: right after a query() that they have
// wrapped, its last element is that query, which reports what becomes of it. Used by client.js and
// client-properties.js.

const { errorMonitor } = require('node:events');
const { afterDelivery } = require('../base');

/**
 * @typedef {import('../query').Query} Query
 */

/**
 * Takes the place of a query's trace, and informs the trace that was there. Unlike a handler of the
 * query's promise it does not hide a rejection that nobody else handles.
 */
class QueuedQuery {
  /** @type {import('../query').QueryObserver | undefined} set while the channel has subscribers */
  next;
  /** @type {Map<string | symbol, (value: any) => void>} */
  #listeners = new Map();
  /** @type {{ event: string | symbol, value: any } | undefined} */
  #outcome = undefined;

  /** @param {Query} query */
  constructor(query) {
    this.next = /** @type {any} */ (query.trace);
    query.trace = this;
  }

  /** @param {string | symbol} event 'end' or errorMonitor @param {(value: any) => void} listener */
  once(event, listener) {
    this.#listeners.set(event, listener);
    this.#tell();
    return this;
  }

  /** @param {import('../query').Carrier} connection */
  sent(connection) {
    this.next?.sent(connection);
  }

  /** @param {any} result @param {Error} [error] */
  settled(result, error) {
    this.next?.settled(result, error);
    this.#outcome =
      error === undefined ? { event: 'end', value: result } : { event: errorMonitor, value: error };
    this.#tell();
  }

  #tell() {
    if (this.#outcome === undefined) return;
    const { event, value } = this.#outcome;
    const listener = this.#listeners.get(event);
    this.#listeners.delete(event);
    // The listener may send a query, which must not happen in the middle of a delivery.
    if (listener !== undefined) afterDelivery(() => listener(value));
  }
}

/** The last query of each client that was wrapped. @type {WeakMap<object, any[]>} */
const queues = new WeakMap();

/** @param {object} client @returns {any[]} */
function queueOf(client) {
  return queues.get(client) ?? [];
}

/**
 * Shows a query, or a submittable, to its wrapper, which reads the queue before it returns.
 * @param {object} client
 * @param {any} query
 */
function showQuery(client, query) {
  const entry = 'trace' in query ? new QueuedQuery(query) : query;
  queues.set(client, [entry]);
  queueMicrotask(() => {
    if (queues.get(client)?.[0] === entry) queues.delete(client);
  });
}

module.exports = { QueuedQuery, queueOf, showQuery };
