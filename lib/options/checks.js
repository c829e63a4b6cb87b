'use strict';

// What the value of an option must be, each as a function that gives the value or throws. A leaf,
// used by options.js and settings.js.

const { OptionError } = require('../base');

/** @typedef {(value: any, name: string) => any} Check */

/**
 * Texts are not shown: a mistyped connection string puts passwords anywhere.
 * @param {string} name
 * @param {string} wanted
 * @param {unknown} value
 * @returns {never}
 */
function refuse(name, wanted, value) {
  const isShown = ['number', 'boolean', 'bigint'].includes(typeof value);
  const shown = isShown ? String(value) : SHOWN_AS[typeof value];
  throw new OptionError(`option "${name}" must be ${wanted}, not ${shown}`);
}

/** @type {Record<string, string>} */
const SHOWN_AS = {
  string: 'this string',
  object: 'this object',
  function: 'a function',
  symbol: 'a symbol',
};

/** @param {number} minimum @param {number} [maximum] @returns {Check} */
function integer(minimum, maximum = 2 ** 31 - 1) {
  return (value, name) => {
    const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : value;
    if (!Number.isInteger(number) || number < minimum || number > maximum) {
      refuse(name, `a whole number from ${minimum} to ${maximum}`, value);
    }
    return number;
  };
}

/** @type {Check} */
function limit(value, name) {
  return value === Infinity ? Infinity : integer(0)(value, name);
}

/** @type {Check} with a fraction */
function millis(value, name) {
  const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : value;
  if (typeof number !== 'number' || !(number >= 0)) refuse(name, 'a number from 0', value);
  return number;
}

/** @type {Check} */
function boolean(value, name) {
  if (typeof value !== 'boolean') refuse(name, 'true or false', value);
  return value;
}

/** @type {Check} */
function string(value, name) {
  if (typeof value !== 'string') refuse(name, 'a string', value);
  if (value.includes('\0')) refuse(name, 'a string without NUL characters', value);
  return value;
}

/** @param {string[]} choices @returns {Check} */
function oneOf(...choices) {
  return (value, name) => {
    if (!choices.includes(value)) {
      refuse(name, choices.map((choice) => `'${choice}'`).join(' or '), value);
    }
    return value;
  };
}

/** @type {Check} */
function callable(value, name) {
  if (typeof value !== 'function') refuse(name, 'a function', value);
  return value;
}

/** @type {Check} */
function typeSource(value, name) {
  if (typeof value?.getTypeParser !== 'function') {
    refuse(name, 'an object with getTypeParser(oid, format)', value);
  }
  return value;
}

module.exports = {
  boolean,
  callable,
  integer,
  limit,
  millis,
  oneOf,
  refuse,
  string,
  typeSource,
};
