'use strict';

// One connection to the server: accepts queries, decides what is sent and when (outbox.js,
// sync-groups.js), which prepared statement a query executes (prepared-statements.js), what becomes
// of queries that are answered (answers.js), and how the connection is made and closed (lifecycle.js)
// and what it runs is cancelled (canceller.js).

const { Catalog } = require('./catalog');
const { Connection } = require('./connection');
const { isWorthWaiting, waitedError } = require('./errors');
const { ownMillis, ownQuery } = require('./own-statements');
const { countShown } = require('./stand-in');

/**
 * @typedef {import('./replication').ReplicationReader} ReplicationReader
 */

module.exports = {
  Catalog,
  Connection,
  countShown,
  isWorthWaiting,
  ownMillis,
  ownQuery,
  waitedError,
};
