'use strict';

// `pg/lib/connection`.

module.exports = require('../pg').PgConnection;
