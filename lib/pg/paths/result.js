'use strict';

// `pg/lib/result`.

module.exports = require('../../result').Result;
