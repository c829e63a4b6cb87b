'use strict';

// The face of a pool, and what stands behind it: which connection a query gets and who waits for one
// (dispatcher.js), how connections come and go (connections.js), LISTEN (listener.js), reads from replicas
// (read-pool.js), and what warns of connections that are not given back.

const { Pool } = require('./pool');

module.exports = { Pool };
