'use strict';

// `pg/lib/query` where this package replaces `pg`.

module.exports = require('../pg').PgQuery;
