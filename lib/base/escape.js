'use strict';

// Quotes names and strings for SQL text, with the same results as `pg`. Exported to users and
// called by Client. Values belong in parameters; this is for the places that take none.

/**
 * @param {string} name
 * @returns {string} the name in double quotes
 */
function escapeIdentifier(name) {
  return `"${name.replace(/"/g, '""')}"`;
}

/**
 * A literal with a backslash becomes an E'' string, which means the same whether the server's
 * standard_conforming_strings is on or off; its leading space keeps it apart from a preceding word.
 * @param {unknown} value anything but a string becomes the empty literal, as in `pg`
 * @returns {string}
 */
function escapeLiteral(value) {
  if (typeof value !== 'string') return "''";
  const doubled = value.replace(/['\\]/g, '$&$&');
  return value.includes('\\') ? ` E'${doubled}'` : `'${doubled}'`;
}

module.exports = { escapeIdentifier, escapeLiteral };
