'use strict';

// `pg/lib/type-overrides` where this package replaces `pg`.

module.exports = require('../rows').TypeOverrides;
