'use strict';

// Texts that are assembled with their values in them differ in nothing but literals. What their words tell is the same,
// so that it is found out once for all of them (traits.js). Called by registry.js for each text that was not seen before.

/** To look at a longer one costs more than it saves. */
const MAX_LENGTH = 2048;

/** What begins a statement in which no literal is code, or names what the statement does. */
const FIRST_WORD = /^\s*(?:select|insert|update|delete|with|values)\b/i;

/** A name in quotes, a string, or digits that are no part of a name or a parameter. */
const LITERALS = /"[^"]*"?|'(?:[^']|'')*'|(?<![\w$])\d+(?!\w)/g;

/**
 * What is left, and could make the cut of above wrong: comments, dollar quotes, strings with a prefix (E'…', U&"…"),
 * letters beyond ASCII before a digit, several statements. And functions whose literal says what they do.
 */
const NOT_PLAIN =
  /[^\t\n\r -~]|--|\/\*|\$(?!\d)|[a-z&]["']|;|nextval|currval|setval|current_setting|set_config/i;

/** @param {string} literal */
function emptied(literal) {
  const first = literal.charCodeAt(0);
  if (first === 34) return literal;
  return first === 39 ? "''" : '0';
}

/**
 * @param {string} text
 * @returns {string | undefined} the same for each text that differs from it in the contents of literals only, and tells
 *   the same; undefined if that is not sure
 */
function withoutLiterals(text) {
  if (text.length > MAX_LENGTH || !FIRST_WORD.test(text) || text.includes('\\')) return undefined;
  const rest = text.replace(LITERALS, emptied);
  return NOT_PLAIN.test(rest) ? undefined : rest;
}

module.exports = { withoutLiterals };
