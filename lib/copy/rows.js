'use strict';

// Rows of JavaScript values into a table, by COPY … FROM STDIN: in the binary format
// as far as the columns' types and the values allow, and in the text format from
// there on. Called by client/streamable.js.

const { finished } = require('node:stream/promises');
const { escapeIdentifier, ParameterError } = require('../base');
const { feed, RowWriter } = require('./row-writer');
const { CopyRowsRole } = require('./rows-role');

/**
 * @typedef {import('./from').CopyFrom} CopyFrom
 *
 * Who has the connection.
 * @typedef {object} Face
 * @property {(role: CopyRowsRole) => CopyFrom} open
 * @property {boolean} isOrdered it has one connection, for what comes in this order
 */

/** What PgBouncer ends a connection with, in its statement mode. */
const REFUSES_BLOCKS = /transaction blocks not allowed/;

/** @param {unknown} name */
function isName(name) {
  return typeof name === 'string' && name !== '' && !name.includes('\0');
}

/**
 * @param {unknown} table
 * @param {unknown} columns
 * @param {any} rows
 * @returns {string} the table's name
 * @throws {ParameterError}
 */
function checkTarget(table, columns, rows) {
  const path = typeof table === 'string' ? table.split('.') : table;
  if (!Array.isArray(path) || path.length < 1 || path.length > 2 || !path.every(isName)) {
    throw new ParameterError(
      "copyRows() needs the name of a table, 'schema.name', or both in an array: ['schema', 'name']; " +
        "where a dot is part of a name, ['the.name']",
    );
  }
  if (!Array.isArray(columns) || columns.length === 0 || !columns.every(isName)) {
    throw new ParameterError('copyRows() needs the names of the columns, one or more, as an array');
  }
  const isIterable =
    typeof rows === 'object' &&
    rows !== null &&
    (typeof rows[Symbol.asyncIterator] === 'function' ||
      typeof rows[Symbol.iterator] === 'function');
  if (!isIterable) {
    throw new ParameterError('copyRows() needs an iterable of rows, each an array of values');
  }
  return path.map(escapeIdentifier).join('.');
}

/** @param {any} error */
function refusesBlocks(error) {
  return REFUSES_BLOCKS.test([error.message, error.detail, error.cause?.message].join('\n'));
}

/**
 * @param {Face} face
 * @param {CopyRowsRole} role
 * @param {any} rows
 * @returns {Promise<{ rowCount: number }>}
 */
async function send(face, role, rows) {
  const stream = face.open(role);
  const done = finished(stream);
  done.catch(() => {});
  try {
    const format = await role.whenReady.promise;
    if (format.bytes !== undefined) stream.write(format.bytes);
    else await feed(new RowWriter(stream, role, format), stream, rows);
  } catch (error) {
    // The server is told to fail, and has done so when the stream is closed.
    stream.destroy(error instanceof Error ? error : new Error('the rows have failed'));
    await done.catch(() => {});
    throw error;
  }
  if (!stream.destroyed) stream.end();
  await done;
  return { rowCount: /** @type {number} */ (stream.rowCount) };
}

/**
 * @param {Face} face
 * @param {unknown} table
 * @param {unknown} columns
 * @param {any} rows arrays of values, in the order of the columns
 * @param {unknown[]} more nothing: a signal that was not heeded would let the rows be stored
 * @returns {Promise<{ rowCount: number }>}
 */
async function copyRows(face, table, columns, rows, ...more) {
  if (more.some((option) => option !== undefined)) {
    throw new ParameterError('copyRows() takes a table, columns and rows, and no options');
  }
  const target = checkTarget(table, columns, rows);
  const names = /** @type {string[]} */ (columns);
  const role = new CopyRowsRole(target, names, rows);
  try {
    return await send(face, role, rows);
  } catch (error) {
    // Nothing of the rows was asked for yet.
    if (face.isOrdered || role.hasAsked || !refusesBlocks(error)) throw error;
    role.query.info.copied = { refusesBlocks: true };
    return send(face, new CopyRowsRole(target, names, rows), rows);
  }
}

module.exports = { copyRows };
