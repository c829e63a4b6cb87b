'use strict';

// `pg/lib/type-overrides`.

module.exports = require('../rows').TypeOverrides;
