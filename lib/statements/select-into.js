'use strict';

// Tells the INTO of a SELECT INTO, which makes a table, from those of INSERT and MERGE. It is given
// the tokens of a statement that begins with SELECT or WITH, by session-state.js and
// schema-change.js.

class IntoFinder {
  #depth = 0;
  /**
   * Whether it is behind the WITH list, where no INSERT can follow and an alias may be called
   * `insert`.
   */
  #hasSelect;
  #previous = '';
  #beforePrevious = '';

  /**
   * @param {string} keyword that the statement begins with; whether its own token follows does not
   *   matter
   */
  constructor(keyword) {
    this.#hasSelect = keyword === 'SELECT';
  }

  /**
   * @param {string} token the next one; a quoted name is `"`
   * @returns {boolean} whether it is the INTO of a SELECT INTO
   */
  add(token) {
    const isFound = token === 'INTO' && !this.#isOfChange;
    if (token === '(') ++this.#depth;
    else if (token === ')') --this.#depth;
    else if (token === 'SELECT' && this.#depth <= 0) this.#hasSelect = true;
    this.#beforePrevious = this.#previous;
    this.#previous = token;
    return isFound;
  }

  /** An INSERT or MERGE is the first in its parentheses, or follows those of a WITH list. */
  get #isOfChange() {
    if (this.#previous !== 'INSERT' && this.#previous !== 'MERGE') return false;
    if (this.#depth > 0) return this.#beforePrevious === '(';
    return !this.#hasSelect && this.#beforePrevious === ')';
  }
}

module.exports = { IntoFinder };
