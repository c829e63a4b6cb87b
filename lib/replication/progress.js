'use strict';

// What was told, and the position that may be confirmed: everything in front of it has been told, and its handler has
// resolved. A transaction that was cut off by the loss of the connection comes again as a whole: what was told of it is
// not told twice. Owned by subscription.js.

const { ReplicationError } = require('../base');
const { formatLsn } = require('./lsn');

/**
 * @typedef {{ lsn: bigint, told: number, lastLsn: bigint }} Partial a transaction, by its commit, of which some
 *   changes were told, the last of them that at `lastLsn`
 */

class Progress {
  /** What may be confirmed. */
  position = 0n;
  /** The transaction that is being told; and, on another connection, the one that was. @type {Partial | undefined} */
  #partial = undefined;
  /** Changes of it that come again. */
  #repeated = 0;
  #isInTransaction = false;
  /** Whether the transaction that comes was told as a whole. */
  #isOld = false;

  get isInTransaction() {
    return this.#isInTransaction;
  }

  /** Whether some changes of a transaction were told and others not. */
  get isPartial() {
    return this.#partial !== undefined && this.#partial.told > 0;
  }

  /** There is another connection. */
  restart() {
    this.#isInTransaction = false;
    if (!this.isPartial) this.#partial = undefined;
  }

  /** What follows begins somewhere else, and it was told that there is a gap. @param {bigint} position */
  moveTo(position) {
    this.restart();
    this.#partial = undefined;
    this.position = position;
  }

  /**
   * @param {bigint} lsn of its commit
   * @returns {boolean} false: the rest of the transaction before does not come any more
   */
  begin(lsn) {
    const partial = this.#partial;
    this.#isInTransaction = true;
    this.#isOld = lsn < this.position;
    if (this.#isOld) return true;
    const isAgain = partial?.lsn === lsn;
    this.#repeated = isAgain ? /** @type {Partial} */ (partial).told : 0;
    if (!isAgain) this.#partial = { lsn, told: 0, lastLsn: 0n };
    return isAgain || partial === undefined || partial.told === 0;
  }

  /**
   * @param {bigint} lsn of a change that comes now
   * @returns {boolean} whether it was told already
   */
  isTold(lsn) {
    if (this.#isOld) return true;
    if (this.#repeated === 0) return false;
    --this.#repeated;
    const { lastLsn, lsn: commit } = /** @type {Partial} */ (this.#partial);
    if (this.#repeated === 0 && lsn !== lastLsn) {
      throw new ReplicationError(
        `the server has sent the transaction at ${formatLsn(commit)} a second time with other changes`,
      );
    }
    return true;
  }

  /** Its handler has resolved. @param {bigint} lsn of the change */
  told(lsn) {
    if (this.#partial === undefined) return;
    ++this.#partial.told;
    this.#partial.lastLsn = lsn;
  }

  /** @param {bigint} end of the transaction */
  commit(end) {
    this.#isInTransaction = false;
    if (this.#isOld) {
      this.#isOld = false;
      return;
    }
    this.#partial = undefined;
    if (end > this.position) this.position = end;
  }

  /**
   * Nothing is to come from before this position.
   * @param {bigint} lsn
   */
  passed(lsn) {
    if (!this.#isInTransaction && this.#partial === undefined && lsn > this.position) {
      this.position = lsn;
    }
  }
}

module.exports = { Progress };
