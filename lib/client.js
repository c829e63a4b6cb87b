'use strict';

// One connection as users see it, in the shape of `pg`: the forms of query() and batch(), checked
// and made into queries; submittables such as pg-cursor; the way of a pool's query through a client
// that a tracing tool has wrapped; the setup of a new connection; what a pool's face has in common
// with a client's (streamable.js).
//
// The door of lib/client is not its index.js, because tracing tools find the class of `pg` by the path of this
// file (`pg/lib/client.js`), and wrap the methods of the `prototype` that it exports.

const {
  Client,
  POOL,
  connectionOf,
  eventsOf,
  plainQuery,
  settingsOf,
  transactionsOf,
  typesOf,
} = require('./client/client');
const { handOver, markHanded } = require('./client/handed-query');
const { shareClients } = require('./client/joining-clients');
const { NamedStatements } = require('./client/named-statements');
const {
  answer,
  callBack,
  callBackEnd,
  callbackError,
  checkLimits,
  isLimits,
  readQuery,
} = require('./client/query-arguments');
const { readBatch } = require('./client/read-batch');
const { setUpSession } = require('./client/session-setup');
const { SENDER, Streamable } = require('./client/streamable');
const { isSubmittable, watchSubmittable } = require('./client/submittable');

/**
 * @typedef {import('./client/events').PoolSide} PoolSide
 * @typedef {import('./client/events').ClientEvents} ClientEvents
 * @typedef {import('./client/query-arguments').Callback} Callback
 */

module.exports = {
  answer,
  callBack,
  callBackEnd,
  callbackError,
  checkLimits,
  Client,
  connectionOf,
  eventsOf,
  handOver,
  isLimits,
  isSubmittable,
  markHanded,
  NamedStatements,
  plainQuery,
  POOL,
  readBatch,
  readQuery,
  SENDER,
  settingsOf,
  setUpSession,
  shareClients,
  Streamable,
  transactionsOf,
  typesOf,
  watchSubmittable,
};

// Apart, because TypeScript takes what has a member of that name for a class.
Object.assign(module.exports, { prototype: Client.prototype });
