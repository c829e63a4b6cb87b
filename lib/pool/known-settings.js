'use strict';

// Texts that have made settings which a lease takes along (statements/profile.js). What has succeeded once need not be
// executed again: whichever connection the lease uses next gets them. Owned by leases.js.

const { newResult } = require('../rows');
const { readResetAll } = require('../statements');

/**
 * @typedef {import('../query').Query} Query
 * @typedef {import('../query').Batch} Batch
 * @typedef {import('../statements').Setting} Setting
 */

const MAX_TEXTS = 1000;

class KnownSettings {
  /** @type {Map<string, Setting[]>} */
  #byText = new Map();

  /** @param {Query | Batch} work @returns {Setting[] | undefined} what it makes, if that is known */
  find(work) {
    if ('members' in work || work.parameters.length > 0) return undefined;
    if (work.isStreamed || work.isCopy || work.isOwn) return undefined;
    if (work.isDescription) return undefined;
    // There is nothing else in the session of a lease without a connection.
    return this.#byText.get(work.text) ?? readResetAll(work.text);
  }

  /**
   * @param {string} text that has succeeded
   * @param {Setting[]} settings that it has made
   * @returns {boolean} whether this is new
   */
  learn(text, settings) {
    if (this.#byText.size === MAX_TEXTS || this.#byText.has(text)) return false;
    this.#byText.set(text, settings);
    return true;
  }
}

/** Answers it as the server would. @param {Query | Batch} work @param {string[]} tags of its statements */
function answerTags(work, tags) {
  const results = tags.map((tag) => {
    const result = newResult(/** @type {Query} */ (work).rowMode);
    result.addCommandComplete({ text: tag });
    return result;
  });
  work.resolve(results.length === 1 ? results[0] : results);
}

module.exports = { answerTags, KnownSettings };
