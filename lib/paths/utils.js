'use strict';

// `pg/lib/utils`.

module.exports = require('../pg/utils');
