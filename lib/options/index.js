'use strict';

// What users pass to Client and Pool, checked, and turned into keywords of libpq and the driver's own settings.

const { changeConnection, changeOption } = require('./changes');
const { defaults } = require('./defaults');
const { libpqKeywords, parseOptions, readOptions } = require('./options');
const { toParameters } = require('./pg-parameters');
const { DISCARD_ALL } = require('./settings');
const { readShared } = require('./shared');
const { refuseOneStream } = require('./wire');

/**
 * @typedef {import('./settings').AskPassword} AskPassword
 * @typedef {import('./settings').Settings} Settings
 */

module.exports = {
  changeConnection,
  changeOption,
  defaults,
  DISCARD_ALL,
  libpqKeywords,
  parseOptions,
  readOptions,
  readShared,
  refuseOneStream,
  toParameters,
};
