'use strict';

// `pg/lib/utils` where this package replaces `pg`.

module.exports = require('../pg/utils');
