'use strict';

// COPY: its two directions as streams of bytes (copy.js), and rows of values into a table (rows.js), in the
// binary format where the types allow it.

const { CopyFrom, CopyTo, readCopy } = require('./copy');
const { copyRows } = require('./rows');

/**
 * @typedef {import('./copy').CopyQuery} CopyQuery
 */

module.exports = { CopyFrom, copyRows, CopyTo, readCopy };
