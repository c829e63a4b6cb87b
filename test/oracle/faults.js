'use strict';
module.exports = { FAULTS: {} };
