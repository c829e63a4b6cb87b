'use strict';

// `pg/lib/type-overrides`.

module.exports = require('../../types/type-overrides').TypeOverrides;
