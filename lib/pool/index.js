'use strict';

// The face of a pool, and what stands behind it: which connection a query gets and who waits for one
// (dispatcher.js), how connections come and go (connections.js), LISTEN (listener.js), reads from replicas
// (read-pool.js), what warns of connections that are not given back, and clients without a pool that share
// connections (shared-clients.js).

const { shareClients } = require('../client');
const { Pool } = require('./pool');
const { findPlace } = require('./shared-clients');

shareClients(findPlace);

module.exports = { Pool };
