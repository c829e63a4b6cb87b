'use strict';

// Cuts a text into its statements, to tell what each of them may run on; the
// server itself gets the text as a whole. Called by statement-registry.js.

const { Scanner } = require('./sql-scanner');

/**
 * @param {string} text
 * @returns {string[]} the statements that are not empty
 */
function splitStatements(text) {
  // Without a semicolon, or with one at its end only, it is one statement.
  const first = text.indexOf(';');
  if (first === -1 || !/[^\s;]/.test(text.slice(first))) return [text];
  const scanner = new Scanner(text);
  /** @type {string[]} */
  const statements = [];
  let start = 0;
  let isEmpty = true;
  let previous = '';
  // Semicolons inside of BEGIN ATOMIC … END, the body of a function, end no statement of the text.
  let depth = 0;
  for (let token = scanner.next(); token !== ''; previous = token, token = scanner.next()) {
    if (token === 'ATOMIC' && previous === 'BEGIN') depth = 1;
    else if (depth > 0 && token === 'CASE') depth += 1;
    else if (depth > 0 && token === 'END') depth -= 1;
    if (token !== ';' || depth > 0) {
      isEmpty = false;
      continue;
    }
    if (!isEmpty) statements.push(text.slice(start, scanner.position - 1));
    start = scanner.position;
    isEmpty = true;
  }
  if (!isEmpty) statements.push(text.slice(start));
  return statements;
}

module.exports = { splitStatements };
