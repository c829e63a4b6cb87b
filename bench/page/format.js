'use strict';

// Numbers and units as the report page writes them: three figures or more, and a unit in which they are
// not long. Called by overview.js and sections.js.

/** @typedef {import('../report').Spread} Spread */

/** @param {number} value */
function formatNumber(value) {
  const size = Math.abs(value);
  const digits = size >= 100 || size === 0 ? 0 : size >= 10 ? 1 : size >= 1 ? 2 : 3;
  const options = { minimumFractionDigits: digits, maximumFractionDigits: digits };
  return value.toLocaleString('en', options);
}

/** @param {number} value */
function formatRatio(value) {
  const digits = value >= 100 ? 0 : value >= 10 ? 1 : 2;
  return `${value.toFixed(digits)}×`;
}

/** @param {number} value of a whole */
function formatPart(value) {
  return `${Math.round(100 * value)} %`;
}

/** @param {number} least @param {number} most */
function formatRange(least, most) {
  const texts = [formatNumber(least), formatNumber(most)];
  return texts[0] === texts[1] ? texts[0] : texts.join('–');
}

/** @param {string} unit */
function plural(unit) {
  return unit.endsWith('query') ? unit.replace(/y$/, 'ies') : `${unit}s`;
}

/**
 * @param {Spread} spread
 * @param {number} divisor
 * @returns {Spread}
 */
function divide({ median, min, max }, divisor) {
  return { median: median / divisor, min: min / divisor, max: max / divisor };
}

module.exports = { divide, formatNumber, formatPart, formatRange, formatRatio, plural };
