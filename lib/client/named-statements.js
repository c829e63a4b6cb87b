'use strict';

// The texts of statements that callers have named. A name belongs to one text, and may later be
// used without it. Owned by client.js; pool.js has one for all of its connections.

const { ParameterError } = require('../base');

class NamedStatements {
  /** Most clients have none. @type {Map<string, string> | undefined} */
  #texts = undefined;

  /**
   * @param {any} config as query() takes it; it may have a name and no text
   * @returns {any} with the text. Of a name that nobody has given a text `pg` says that it is an empty one
   */
  fillIn(config) {
    if (typeof config !== 'object' || config === null || config.text) return config;
    const { name, text } = config;
    if (typeof name !== 'string' || name === '') return config;
    const known = this.#texts?.get(name);
    if (known === undefined && typeof text === 'string') return config;
    return { ...config, text: known ?? '' };
  }

  /** @param {any} config that has a name of its own on each connection */
  note(config) {
    if (typeof config?.name !== 'string' || !config.text || typeof config.text !== 'string') return;
    this.#set(config.name, config.text);
  }

  /**
   * @param {import('../query').Query} query that is about to be sent
   * @returns {ParameterError | undefined} if its name belongs to another text
   */
  claim(query) {
    const { name, text } = query;
    // Whoever gives the name a text later is to get that one.
    if (name === undefined || text === '') return undefined;
    const known = this.#texts?.get(name);
    if (known === text) return undefined;
    if (known !== undefined) {
      return new ParameterError(
        `Prepared statements must be unique - '${name}' was used for a different statement`,
      );
    }
    this.#set(name, text);
    // If the Parse fails, the name is free again. Of a text that is never prepared nobody knows
    // whether its Parse has failed.
    query.onceSettled(() => {
      const { parseFailed, hasFailed, info } = query;
      if (parseFailed || (hasFailed && info.isNeverPrepared)) this.#texts?.delete(name);
    });
    return undefined;
  }

  /** @param {string} name @param {string} text */
  #set(name, text) {
    this.#texts ??= new Map();
    this.#texts.set(name, text);
  }
}

module.exports = { NamedStatements };
