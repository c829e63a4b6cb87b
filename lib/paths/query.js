'use strict';

// `pg/lib/query`.

module.exports = require('../pg').PgQuery;
