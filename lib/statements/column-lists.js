'use strict';

// Tells the parentheses in a write that hold a list of columns, as in `INSERT INTO t (a, b)` and `AS v (a, b)`, from
// those of a call. It is given the tokens of the statement by known-functions.js.

/**
 * In front of parentheses whose content an alias may follow without AS, as in FROM (…) v (a, b). Behind others a name
 * with parentheses may be a call: DISTINCT ON (a) f(b), (a) OPERATOR(+) f(b).
 */
const BEFORE_ALIASED = new Set([
  ...['FROM', 'JOIN', 'LATERAL', 'USING', ','],
  ...['UNNEST', 'GENERATE_SERIES'],
]);

class ColumnLists {
  /** Tokens before the parentheses that are open. @type {string[]} */
  #openers = [];
  /** The token before the parenthesis that was closed last. */
  #closed = '';
  #previous = '';
  #beforePrevious = '';
  /** Whether the latest tokens are INTO, the name of a table and perhaps its alias, and what may come next. */
  #target = /** @type {'' | 'name' | 'end' | 'alias'} */ ('');

  /**
   * @param {string} token the next one; a quoted name is `"`
   * @returns {boolean} whether it is the parenthesis that opens a list of columns
   */
  add(token) {
    const isList = token === '(' && this.#isBeforeList;
    if (token === '(') {
      this.#openers.push(this.#previous);
    } else if (token === ')') {
      this.#closed = this.#openers.pop() ?? '';
    }
    this.#follow(token);
    this.#beforePrevious = this.#previous;
    this.#previous = token;
    return isList;
  }

  get #isBeforeList() {
    if (this.#target === 'end') return true;
    // Also the modifiers of a type, as in CAST(x AS numeric(10, 2)), or the query of a WITH list.
    if (this.#beforePrevious === 'AS') return true;
    if (this.#beforePrevious === 'WITH' || this.#beforePrevious === 'RECURSIVE') return true;
    return this.#beforePrevious === ')' && BEFORE_ALIASED.has(this.#closed);
  }

  /** @param {string} token */
  #follow(token) {
    if (token === 'INTO' || (token === '.' && this.#target === 'end')) this.#target = 'name';
    else if (token === 'AS' && this.#target === 'end') this.#target = 'alias';
    else if (this.#target === 'name' || this.#target === 'alias') this.#target = 'end';
    else this.#target = '';
  }
}

module.exports = { ColumnLists };
