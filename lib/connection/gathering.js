'use strict';

// Queries of one connection that may share a Sync, put aside by text until the tick ends, so that
// those of one text are written one after the other. Owned by outbox.js, which sends them.

const { MAX_MEMBERS } = require('./sync-groups');
const { TextMix } = require('./text-mix');

/**
 * @typedef {import('../query').Query} Query
 * @typedef {import('../statements').StatementInfo} StatementInfo
 */

class Gathering {
  size = 0;
  /** By text, in the order of the first query of each. @type {Map<StatementInfo, Query[]>} */
  #lots = new Map();
  #mix = new TextMix();

  /** @param {Query} query that may share its Sync, whether it is put aside or not */
  see(query) {
    this.#mix.see(query.info);
  }

  /** Whether queries find others of their text here that they would not find in front of them. */
  get isWorthIt() {
    return this.#mix.isWorthIt;
  }

  /** @param {Query} query @returns {boolean} whether its text now fills a Sync group */
  add(query) {
    ++this.size;
    const lot = this.#lots.get(query.info);
    this.#mix.gathered(lot === undefined);
    if (lot === undefined) {
      this.#lots.set(query.info, [query]);
      return false;
    }
    lot.push(query);
    return lot.length === MAX_MEMBERS;
  }

  /** @param {StatementInfo} info @returns {Query[]} the queries of that text, which are removed */
  take(info) {
    const lot = this.#lots.get(info) ?? [];
    this.#lots.delete(info);
    this.size -= lot.length;
    return lot;
  }

  /** All of them, text by text. */
  get queries() {
    /** @type {Query[]} */
    const all = [];
    for (const lot of this.#lots.values()) for (const query of lot) all.push(query);
    return all;
  }

  /** @returns {Query[]} `queries`, which are removed */
  takeAll() {
    const all = this.queries;
    this.#lots.clear();
    this.size = 0;
    return all;
  }

  /**
   * @param {import('../query').Query | import('../query').Batch} work
   * @returns {boolean} whether it was here
   */
  remove(work) {
    if (!('info' in work)) return false;
    const lot = this.#lots.get(work.info);
    const index = lot?.indexOf(work) ?? -1;
    if (lot === undefined || index === -1) return false;
    lot.splice(index, 1);
    if (lot.length === 0) this.#lots.delete(work.info);
    --this.size;
    return true;
  }
}

module.exports = { Gathering };
