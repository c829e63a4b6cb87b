'use strict';

// Behind paths/connection-parameters.js: what tools read of a connection string.

const { parseOptions } = require('../options');
const { toParameters } = require('../pg-parameters');

class ConnectionParameters {
  /** @param {string | Record<string, any>} [config] */
  constructor(config) {
    Object.defineProperties(
      this,
      Object.getOwnPropertyDescriptors(toParameters(parseOptions(config))),
    );
  }
}

module.exports = ConnectionParameters;
