'use strict';

// Behind paths/connection-parameters.js: what tools read from a connection string.

const { parseOptions, toParameters } = require('../options');

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
