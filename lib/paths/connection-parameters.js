'use strict';

// `pg/lib/connection-parameters`.

module.exports = require('../pg').ConnectionParameters;
