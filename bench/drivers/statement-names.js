'use strict';

// A name for each statement text, for drivers that prepare only what is named. Used by the drivers
// around `pg` and `pg-native`.

class StatementNames {
  /** @type {Map<string, string>} */
  #names = new Map();
  #isGiven;

  /** @param {boolean} [isGiven] without names nothing is prepared */
  constructor(isGiven = true) {
    this.#isGiven = isGiven;
  }

  /** @param {string} text */
  get(text) {
    if (!this.#isGiven) return undefined;
    let name = this.#names.get(text);
    if (name === undefined) {
      name = `s${this.#names.size + 1}`;
      this.#names.set(text, name);
    }
    return name;
  }
}

module.exports = { StatementNames };
