'use strict';

// The option `rowKeys`: under which keys the columns of a result are. Names are changed once for each shape of a
// result (shape.js). Used by settings.js and query.js.

/** @typedef {(name: string) => string} RowKeys */

/**
 * `user_id` to `userId`; underscores at the beginning and the end stay.
 * @type {RowKeys}
 */
function toCamelCase(name) {
  return name.replace(/(?<=[^_])_+([^_])/g, (_, letter) => letter.toUpperCase());
}

/** @param {unknown} value @returns {boolean} */
function isRowKeys(value) {
  return value === 'camel' || typeof value === 'function' || value === false || value === null;
}

/** @param {any} value that isRowKeys() @returns {RowKeys | undefined} nothing: the names of the columns */
function toRowKeys(value) {
  if (value === 'camel') return toCamelCase;
  return value || undefined;
}

module.exports = { isRowKeys, toRowKeys };
