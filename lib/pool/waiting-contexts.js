'use strict';

// The async contexts of queries that wait for a connection: who has wrapped the client's query() sees them in the context of
// their callers, and not of whoever frees a connection. Owned by dispatcher.js.

const { AsyncResource } = require('node:async_hooks');
const { Client, plainQuery } = require('../client');

/**
 * @typedef {import('../query').Batch} Batch
 * @typedef {import('../query').Query} Query
 */

class WaitingContexts {
  /** @type {WeakMap<Query | Batch, AsyncResource>} */
  #contexts = new WeakMap();

  /**
   * @param {Query | Batch} work that begins to wait, called by its caller
   * @param {boolean} mayBeWrapped whether somebody may see it by the query() of one client
   */
  keep(work, mayBeWrapped) {
    const isWatched = mayBeWrapped || Client.prototype.query !== plainQuery;
    if (isWatched) this.#contexts.set(work, new AsyncResource('PgConduitQuery'));
  }

  /** @param {Query | Batch} work that has waited @param {import('./member').Member} member that it is sent on */
  send(work, member) {
    const context = member.isWrapped ? this.#contexts.get(work) : undefined;
    if (context === undefined) member.submit(work);
    else context.runInAsyncScope(() => member.submit(work));
  }
}

module.exports = { WaitingContexts };
