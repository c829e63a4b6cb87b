'use strict';

// What a lease remembers when it has got no connection for a BEGIN whose caller did not wait for it: what that caller
// has sent, or sends, behind it would run by itself, and last. So it is refused until the transaction ends, as the
// server refuses what follows an error. transaction() looks after itself. Owned by lease-connection.js.

const { copyError } = require('../base');
const { transactionChanges } = require('../statements');
const { answerTags } = require('./known-settings');

/**
 * @typedef {import('../query').Query} Query
 * @typedef {import('../query').Batch} Batch
 */

class RefusedBegin {
  /** Why it was refused. @type {Error | undefined} */
  #error = undefined;

  /** @param {readonly (Query | Batch)[]} works in their order, which have all been refused @param {Error} error why */
  note(works, error) {
    // Under overload most have sent one statement, and wait for it.
    if (works.length < 2) return;
    let isOpen = false;
    // Who sends BEGIN alone waits for it, and knows.
    let isFollowed = false;
    for (const work of works) {
      isFollowed ||= isOpen;
      for (const change of changesOf(work)) {
        if (change === 'none' || change === 'chains') continue;
        isOpen = change === 'begins';
        isFollowed = false;
      }
    }
    if (isOpen && isFollowed) this.#error = error;
  }

  /**
   * One has given up, and was not sent. What was sent behind a BEGIN does not wait any more.
   * @param {Query | Batch} work
   * @param {Error} error
   * @param {(Query | Batch)[]} waiting
   * @param {number} index of what waits behind it
   */
  giveUp(work, error, waiting, index) {
    // Thousands may give up at once, each with the others behind it.
    if (index === waiting.length || changesOf(work).at(-1) !== 'begins') return;
    this.#error = error;
    for (const each of waiting.splice(index)) if (!this.settle(each)) waiting.push(each);
  }

  /**
   * @param {Query | Batch} work that comes next
   * @returns {boolean} whether it is settled by this
   */
  settle(work) {
    const error = this.#error;
    if (error === undefined || work.isInTransaction || isOwn(work)) return false;
    const [change, ...more] = changesOf(work);
    if (change === 'begins' || change === 'commits' || change === 'rolls back') {
      this.#error = undefined;
    }
    if (change === 'begins') return false;
    if (change === 'rolls back') {
      // What follows it stands for itself.
      if (more.length > 0) return false;
      answerTags(work, ['ROLLBACK']);
      return true;
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
}

/** @param {Query | Batch} work */
function isOwn(work) {
  return !('members' in work) && work.isOwn;
}

/** Not of a batch, which is a transaction, nor of the driver's own. @param {Query | Batch} work */
function changesOf(work) {
  return 'members' in work || work.isOwn ? [] : transactionChanges(work.text);
}

module.exports = { isOwn, RefusedBegin };
