'use strict';

// `pg/lib/index` where this package replaces `pg`.

module.exports = require('../index');
