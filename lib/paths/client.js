'use strict';

// `pg/lib/client` where this package replaces `pg`.

module.exports = require('../client').Client;
