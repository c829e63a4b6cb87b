'use strict';

// What `pg` exposes and is not part of the driver's own API: properties of its clients, `Query`,
// `Connection`, `utils`. Other packages read them. lib/paths/ puts them where `pg` has them.

const { changesOf, defineClientProperties } = require('./client-properties');
const PgConnection = require('./connection');
const ConnectionParameters = require('./connection-parameters');
const PgQuery = require('./query');
const { showQuery } = require('./query-queue');
const { showReplication } = require('./replication');
const utils = require('./utils');

module.exports = {
  changesOf,
  ConnectionParameters,
  defineClientProperties,
  PgConnection,
  PgQuery,
  showQuery,
  showReplication,
  utils,
};
