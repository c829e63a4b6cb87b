'use strict';

// Cuts a text into its statements, to find where each of them may run; the server gets the text as
// a whole. Called by registry.js and submittable.js.

const { Scanner } = require('./scanner');

/**
 * @typedef {object} Statements
 * @property {string[]} texts of the statements that are not empty
 * @property {boolean} isSure whether the server certainly finds the same ones
 */

/**
 * @param {string} text
 * @returns {Statements}
 */
function readStatements(text) {
  // Without a semicolon, or with one at its end only, it is one statement.
  const first = text.indexOf(';');
  if (first === -1 || !/[^\s;]/.test(text.slice(first))) return { texts: [text], isSure: true };
  const scanner = new Scanner(text);
  /** @type {string[]} */
  const texts = [];
  let start = 0;
  let isEmpty = true;
  let previous = '';
  // Semicolons inside of BEGIN ATOMIC … END, the body of a function, end no statement of the text.
  let depth = 0;
  let hasBody = false;
  for (let token = scanner.next(); token !== ''; previous = token, token = scanner.next()) {
    if (token === 'ATOMIC' && previous === 'BEGIN') {
      depth = 1;
      hasBody = true;
    } else if (depth > 0 && token === 'CASE') depth += 1;
    else if (depth > 0 && token === 'END') depth -= 1;
    if (token !== ';' || depth > 0) {
      isEmpty = false;
      continue;
    }
    if (!isEmpty) texts.push(text.slice(start, scanner.position - 1));
    start = scanner.position;
    isEmpty = true;
  }
  if (!isEmpty) texts.push(text.slice(start));
  // CASE and END may be names of columns, behind AS.
  return { texts, isSure: !hasBody && !scanner.isDoubtful };
}

/** @param {string} text */
function splitStatements(text) {
  return readStatements(text).texts;
}

module.exports = { readStatements, splitStatements };
