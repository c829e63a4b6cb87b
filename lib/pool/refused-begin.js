'use strict';

// What a lease remembers when it has got no connection for a BEGIN: what follows would run by itself, and last, where
// its caller had sent it before it could know. So it is refused, until the transaction ends, as the server refuses what
// follows an error. transaction() looks after itself. Owned by lease-connection.js.

const { copyError } = require('../base');
const { membersOf } = require('../query');
const { endsTransaction } = require('../statements');
const { answerTags } = require('./known-settings');

/**
 * @typedef {import('../query').Query} Query
 * @typedef {import('../query').Batch} Batch
 * @typedef {import('../statements').StatementRegistry} StatementRegistry
 */

const BEGINNING = new Set(['BEGIN', 'START']);
const KEEPS_OPEN = /\bto\b|\band\s+chain\b/i;

class RefusedBegin {
  #registry;
  /** Why it was refused. @type {Error | undefined} */
  #error = undefined;

  /** @param {StatementRegistry} registry */
  constructor(registry) {
    this.#registry = registry;
  }

  /** @param {readonly (Query | Batch)[]} works in their order, which have all been refused @param {Error} error why */
  note(works, error) {
    let isOpen = false;
    for (const query of works.flatMap(membersOf)) {
      if (query.isOwn) continue;
      if (this.#begins(query)) isOpen = true;
      else if (this.#ends(query)) isOpen = false;
    }
    if (isOpen) this.#error = error;
  }

  /**
   * @param {Query | Batch} work that comes next
   * @returns {boolean} whether it is settled by this
   */
  settle(work) {
    const error = this.#error;
    if (error === undefined) return false;
    const [query] = membersOf(work);
    if (query === work && this.#begins(query)) {
      this.#error = undefined;
      return false;
    }
    if (query === work && this.#ends(query)) {
      this.#error = undefined;
      if (query.info?.class.keyword === 'ROLLBACK' || query.info?.class.keyword === 'ABORT') {
        answerTags(query, ['ROLLBACK']);
        return true;
      }
    }
    work.reject(
      Object.assign(copyError(error), {
        detail:
          'its BEGIN was refused for that reason: end the transaction with ROLLBACK, and begin again',
        outcome: 'not-run',
      }),
    );
    return true;
  }

  /** @param {Query} query */
  #begins(query) {
    return BEGINNING.has(query.identify(this.#registry).class.keyword);
  }

  /** @param {Query} query */
  #ends(query) {
    return endsTransaction(query.identify(this.#registry)) && !KEEPS_OPEN.test(query.text);
  }
}

module.exports = { RefusedBegin };
