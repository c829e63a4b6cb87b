'use strict';

// Whether queries of one connection are worth putting aside by their texts (gathering.js). Those of one text come one
// after the other as they are; those of many texts hardly ever find company. Owned by gathering.js.

/** Queries that are judged together. */
const WINDOW = 64;
/** With fewer changes of text in a window, what comes is one text. */
const MIN_CHANGES = WINDOW / 8;
/** Windows for which nothing is gathered after it was of no use. */
const REST = 16;

/** @typedef {import('../statements').StatementInfo} StatementInfo */

class TextMix {
  /** Whether texts alternate, and few enough of them to find company. */
  isWorthIt = true;
  /** @type {StatementInfo | undefined} */
  #last = undefined;
  #seen = 0;
  #changes = 0;
  #gathered = 0;
  #lots = 0;
  #rest = 0;

  /** @param {StatementInfo} info of a query that may share its Sync */
  see(info) {
    if (info !== this.#last) {
      this.#last = info;
      ++this.#changes;
    }
    if (++this.#seen === WINDOW) this.#judge();
  }

  /** @param {boolean} isFirst of its text */
  gathered(isFirst) {
    ++this.#gathered;
    if (isFirst) ++this.#lots;
  }

  #judge() {
    const wasInVain = this.#gathered > 0 && this.#gathered < 2 * this.#lots;
    if (wasInVain) this.#rest = REST;
    else if (this.#rest > 0) --this.#rest;
    this.isWorthIt = this.#rest === 0 && this.#changes >= MIN_CHANGES;
    this.#seen = 0;
    this.#changes = 0;
    this.#gathered = 0;
    this.#lots = 0;
  }
}

module.exports = { TextMix };
