'use strict';

// `pg/lib/defaults` where this package replaces `pg`.

module.exports = require('../options').defaults;
