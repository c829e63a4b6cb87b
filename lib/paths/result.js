'use strict';

// `pg/lib/result`.

module.exports = require('../rows').Result;
