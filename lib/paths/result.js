'use strict';

// `pg/lib/result` where this package replaces `pg`.

module.exports = require('../rows').Result;
