'use strict';

// :name in place of $1, by the option namedParameters: makes the text and the values that the
// server takes. Called by query-arguments.js.

const { ParameterError } = require('../base');
const { isWordPart, isWordStart, Scanner } = require('../statements');

/**
 * @typedef {object} NamedText
 * @property {string} text with $1, $2, … in place of the names
 * @property {readonly string[]} names in the order of the numbers
 * @property {boolean} hasNumbers whether the text has numbers, too
 */

/**
 * Texts that are remembered. Beyond that the oldest is forgotten, and read again at its next use.
 */
const REMEMBERED = 512;
const LONGEST_REMEMBERED = 16 * 1024;

/** @type {Map<string, NamedText>} */
const remembered = new Map();

const COLON = 58;
const EQUALS = 61;
const DOLLAR = 36;

/** Behind one of these a colon does not begin a name, but is in the middle of a slice: a[1:n]. */
const ENDS_OF_VALUES = /[\w$)\]"'\u0080-\uffff]/;

/**
 * @param {string} text
 * @returns {NamedText}
 */
function readNames(text) {
  const scanner = new Scanner(text);
  /** @type {Map<string, number>} */
  const numbers = new Map();
  let hasNumbers = false;
  let result = '';
  let copied = 0;
  for (let token = scanner.next(); token !== ''; token = scanner.next()) {
    const at = scanner.position - 1;
    if (token === "'" && text.charCodeAt(at) === DOLLAR && /\d/.test(text.charAt(at + 1))) {
      hasNumbers = true;
    }
    if (token !== ':') continue;
    const next = scanner.peek();
    if (next === COLON || next === EQUALS) {
      scanner.position += 1;
      continue;
    }
    if (!isWordStart(next) || ENDS_OF_VALUES.test(text.charAt(at - 1))) continue;
    while (isWordPart(scanner.peek())) scanner.position += 1;
    const name = text.slice(at + 1, scanner.position);
    if (!numbers.has(name)) numbers.set(name, numbers.size + 1);
    result += `${text.slice(copied, at)}$${numbers.get(name)}`;
    copied = scanner.position;
  }
  return { text: result + text.slice(copied), names: [...numbers.keys()], hasNumbers };
}

/** @param {string} text */
function findNames(text) {
  const known = remembered.get(text);
  if (known !== undefined) return known;
  const read = readNames(text);
  if (text.length <= LONGEST_REMEMBERED) {
    if (remembered.size >= REMEMBERED) remembered.delete([...remembered.keys()][0]);
    remembered.set(text, read);
  }
  return read;
}

/**
 * @param {Readonly<Record<string, unknown>>} values
 * @param {string} name
 */
function hasValue(values, name) {
  // Getters of classes count, what every object inherits does not.
  return Object.hasOwn(values, name) || (name in values && !(name in Object.prototype));
}

/**
 * @param {string} text
 * @param {Readonly<Record<string, unknown>>} values by name; those that the text does not name are
 *   ignored
 * @returns {[text: string, values: unknown[]]}
 * @throws {ParameterError}
 */
function bindNames(text, values) {
  const { text: numbered, names, hasNumbers } = findNames(text);
  if (hasNumbers) {
    throw new ParameterError('A query takes either $1 or :name, not both', {
      hint: 'give an array of values for $1, $2, …, or an object and names only',
    });
  }
  const missing = names.find((name) => !hasValue(values, name));
  if (missing !== undefined) {
    throw new ParameterError(`There is no value for :${missing}`, {
      hint: `give one in the object of values, null for NULL; it has ${Object.keys(values).join(', ') || 'none'}`,
    });
  }
  return [numbered, names.map((name) => values[name])];
}

/** @param {unknown} values @returns {values is Record<string, unknown>} */
function isNamed(values) {
  return typeof values === 'object' && values !== null && !Array.isArray(values);
}

module.exports = { bindNames, isNamed };
