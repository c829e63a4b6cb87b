'use strict';

// `pg/lib/connection-parameters` where this package replaces `pg`.

module.exports = require('../pg').ConnectionParameters;
