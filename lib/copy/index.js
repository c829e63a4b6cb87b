'use strict';

// COPY: as a query (role.js), with a stream of bytes in each direction (from.js, to.js); and rows of values into a
// table (rows.js), in the binary format where the types allow it.

const { CopyFrom } = require('./from');
const { readCopy } = require('./role');
const { copyRows } = require('./rows');
const { CopyTo } = require('./to');

/**
 * @typedef {import('./role').CopyRole} CopyRole
 */

module.exports = { CopyFrom, copyRows, CopyTo, readCopy };
