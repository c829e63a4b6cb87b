'use strict';

// What users pass to Client and Pool, checked, and turned into keywords of libpq and settings of our own.

const { defaults } = require('./defaults');
const { DISCARD_ALL, libpqKeywords, parseOptions } = require('./options');
const { toParameters } = require('./pg-parameters');

/**
 * @typedef {import('./options').AskPassword} AskPassword
 * @typedef {import('./options').Settings} Settings
 */

module.exports = { defaults, DISCARD_ALL, libpqKeywords, parseOptions, toParameters };
