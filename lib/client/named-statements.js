'use strict';

// The texts of statements that callers have named. A name belongs to one text, and may later be
// used without it. Owned by client.js.

const { ParameterError } = require('../base');

class NamedStatements {
  /** @type {Map<string, string>} */
  #texts = new Map();

  /**
   * @param {any} config as query() takes it; it may have a name and no text
   * @returns {any} with the text
   */
  fillIn(config) {
    if (typeof config !== 'object' || config === null || config.text !== undefined) return config;
    const text = this.#texts.get(config.name);
    return text === undefined ? config : { ...config, text };
  }

  /**
   * @param {import('../query').Query} query that is about to be sent
   * @returns {ParameterError | undefined} if its name belongs to another text
   */
  claim(query) {
    const { name, text } = query;
    if (name === undefined) return undefined;
    const known = this.#texts.get(name);
    if (known === text) return undefined;
    if (known !== undefined) {
      return new ParameterError(
        `Prepared statements must be unique - '${name}' was used for a different statement`,
      );
    }
    this.#texts.set(name, text);
    // If the Parse fails, the name is free again. Of a text that is never prepared nobody knows
    // whether its Parse has failed.
    query.onceSettled(() => {
      const { parseFailed, hasFailed, info } = query;
      if (parseFailed || (hasFailed && info.isNeverPrepared)) this.#texts.delete(name);
    });
    return undefined;
  }
}

module.exports = { NamedStatements };
