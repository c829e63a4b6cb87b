'use strict';

// One connection as users see it, in the shape of `pg`: the forms of query() and batch(), checked
// and made into queries; submittables such as pg-cursor; the way of a pool's query through a client
// that a tracing tool has wrapped; the setup of a new connection.

const {
  Client,
  POOL,
  connectionOf,
  plainQuery,
  readOptions,
  settingsOf,
  transactionsOf,
} = require('./client');
const { handOver } = require('./handed-query');
const {
  answer,
  callBack,
  callBackEnd,
  callbackError,
  checkLimits,
  isLimits,
  readQuery,
  readStreamed,
} = require('./query-arguments');
const { readBatch } = require('./read-batch');
const { setUpSession } = require('./session-setup');

/**
 * @typedef {import('./client').PoolSide} PoolSide
 * @typedef {import('./query-arguments').Callback} Callback
 */

module.exports = {
  answer,
  callBack,
  callBackEnd,
  callbackError,
  checkLimits,
  Client,
  connectionOf,
  handOver,
  isLimits,
  plainQuery,
  POOL,
  readBatch,
  readOptions,
  readQuery,
  readStreamed,
  settingsOf,
  setUpSession,
  transactionsOf,
};
