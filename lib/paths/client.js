'use strict';

// `pg/lib/client`.

module.exports = require('../client').Client;
