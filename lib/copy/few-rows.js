'use strict';

// Rows that are few and there at once: all of their bytes are made before anything is sent, so that one COPY will do, as
// it is known which format takes them. Used by rows-role.js.

const { BinaryRows, TRAILER } = require('./binary');
const { TextRows } = require('./text');

/** So many rows, or bytes, are a few. */
const MOST_ROWS = 1000;
const MOST_BYTES = 1 << 18;

/**
 * @param {readonly any[]} rows
 * @param {BinaryRows | TextRows} out
 * @param {number} length of a row
 * @returns {Buffer | undefined} undefined: it does not take all of them
 */
function encodeAll(rows, out, length) {
  for (const row of rows) {
    if (!Array.isArray(row) || row.length !== length) return undefined;
    if (out.size > MOST_BYTES || !out.add(row)) return undefined;
  }
  return out.take();
}

/**
 * @param {any} rows an iterable; others than arrays run code of the user's, which is not for the middle of a protocol
 * @param {import('./columns').Columns} columns
 * @returns {{ isBinary: boolean, bytes: Buffer } | undefined} undefined: they are too many, or no format takes all
 */
function encodeFew(rows, { types, encoders }) {
  if (!Array.isArray(rows) || rows.length > MOST_ROWS) return undefined;
  try {
    const binary = encoders && encodeAll(rows, new BinaryRows(encoders), types.length);
    if (binary !== undefined) return { isBinary: true, bytes: Buffer.concat([binary, TRAILER]) };
    const bytes = encodeAll(rows, new TextRows(types), types.length);
    return bytes && { isBinary: false, bytes };
  } catch {
    // Written row by row, the error names the row.
    return undefined;
  }
}

module.exports = { encodeFew };
