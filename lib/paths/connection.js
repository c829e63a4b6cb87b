'use strict';

// `pg/lib/connection` where this package replaces `pg`.

module.exports = require('../pg').PgConnection;
