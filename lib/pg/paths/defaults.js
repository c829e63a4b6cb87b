'use strict';

// `pg/lib/defaults`.

module.exports = require('../defaults').defaults;
