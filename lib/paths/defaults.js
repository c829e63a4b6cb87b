'use strict';

// `pg/lib/defaults`.

module.exports = require('../options').defaults;
