'use strict';

// Tells the handler of a subscription what the messages of one connection say: changes one at a time, and where it
// wants them, the boundaries of transactions. What was told is noted in `progress`, which outlives the connection. Made
// by subscription.js.

const { ConnectionError } = require('../base');
const { gapError, StreamEnd } = require('./errors');
const { formatLsn } = require('./lsn');
const {
  describeTransaction,
  isTransactional,
  PgOutput,
  readBegin,
  readCommit,
} = require('./pgoutput');
const { StreamedTransactions } = require('./streamed-transactions');

/**
 * @typedef {import('./options').Gap} Gap
 * @typedef {import('./pgoutput').Begin} Begin
 * @typedef {import('./pgoutput').Change} Change
 * @typedef {import('./pgoutput').Commit} Commit
 * @typedef {import('./pgoutput').Transaction} Transaction
 */

const LSN_AT = 1;
const MESSAGE_AT = 25;

class Teller {
  #options;
  #progress;
  #output;
  #streamed = new StreamedTransactions();
  /** @type {Transaction | undefined} */
  #transaction = undefined;
  #isStopped = false;

  /**
   * @param {import('../options').Settings} settings
   * @param {import('./options').SubscribeOptions} options
   * @param {import('./progress').Progress} progress
   */
  constructor(settings, options, progress) {
    this.#options = options;
    this.#progress = progress;
    this.#output = new PgOutput(settings);
  }

  /** Even in the middle of a transaction. */
  stop() {
    this.#isStopped = true;
  }

  /** @param {Buffer} data XLogData @returns {PromiseLike<void> | undefined} */
  receive(data) {
    const lsn = data.readBigUInt64BE(LSN_AT);
    const kind = String.fromCharCode(data[MESSAGE_AT]);
    const at = MESSAGE_AT + 1;
    if (this.#streamed.isInBlock && kind !== 'E') {
      this.#keep(data, lsn);
      return undefined;
    }
    switch (kind) {
      case 'B':
        return this.#begin(readBegin(data, at));
      case 'C':
        return this.#commit(readCommit(data, at));
      case 'S':
        this.#streamed.begin(data.readUInt32BE(at));
        return undefined;
      case 'E':
        this.#streamed.stop();
        return undefined;
      case 'A':
        this.#streamed.abort(data.readUInt32BE(at), data.readUInt32BE(at + 4));
        return undefined;
      case 'c':
        return this.#replay(data.readUInt32BE(at), readCommit(data, at + 4));
      default:
        if (kind === 'M' && !isTransactional(data[at])) return this.#tellMessage(data, lsn);
        return this.#tellChanges(data, lsn, false);
    }
  }

  /** @param {Buffer} data @param {bigint} lsn */
  #keep(data, lsn) {
    this.#streamed.keep(data, lsn);
    if (this.#streamed.bytes <= this.#options.maxStreamedBytes) return;
    throw new StreamEnd(
      new ConnectionError('too much of a transaction waits for its commit'),
      true,
    );
  }

  /** @param {Begin} begin @returns {PromiseLike<void> | undefined} */
  #begin(begin) {
    const { position } = this.#progress;
    const isWhole = this.#progress.begin(begin.lsn);
    const transaction = describeTransaction(begin);
    this.#transaction = transaction;
    if (!isWhole) return this.#tellMissing(position, begin);
    return this.#tellBoundary('begin', begin.lsn);
  }

  /** @param {bigint} position @param {Begin} begin of the transaction behind it */
  async #tellMissing(position, { lsn }) {
    const { slot, onGap } = this.#options;
    const [from, to] = [formatLsn(position), formatLsn(lsn)];
    /** @type {Gap} */
    const gap = { reason: 'transaction-missing', slot, from, to, snapshot: null };
    if (onGap === undefined) throw gapError(gap);
    await onGap(gap);
    await this.#tellBoundary('begin', lsn);
  }

  /** @param {Commit} commit @returns {PromiseLike<void> | undefined} */
  #commit({ lsn, end }) {
    const pending = this.#tellBoundary('commit', lsn);
    if (pending === undefined) this.#progress.commit(end);
    return pending?.then(() => this.#progress.commit(end));
  }

  /** @param {'begin' | 'commit'} kind @param {bigint} lsn @returns {PromiseLike<void> | undefined} */
  #tellBoundary(kind, lsn) {
    if (!this.#options.boundaries) return undefined;
    return this.#call({ kind, transaction: this.#transaction, lsn: formatLsn(lsn) }, lsn);
  }

  /** A transaction that came before its commit. @param {number} xid @param {Commit} commit */
  async #replay(xid, commit) {
    const kept = this.#streamed.take(xid);
    await this.#begin({ xid, lsn: commit.lsn, time: commit.time });
    for (const { data, lsn } of kept) {
      if (this.#isStopped) return;
      const pending = this.#tellChanges(data, lsn, true);
      if (pending !== undefined) await pending;
    }
    await this.#commit(commit);
  }

  /**
   * One that is not part of a transaction. Its position is where it ends in the log, and there the commit of the next
   * transaction may begin: that one is not passed with it.
   * @param {Buffer} data
   * @param {bigint} lsn
   */
  #tellMessage(data, lsn) {
    if (lsn <= this.#progress.position) return undefined;
    const changes = this.#output.read(data, MESSAGE_AT, false, formatLsn(lsn), undefined) ?? [];
    const answer = /** @type {any} */ (this.#options.onChange(changes[0]));
    const passed = () => this.#progress.passed(lsn);
    if (typeof answer?.then === 'function') return Promise.resolve(answer).then(passed);
    passed();
    return undefined;
  }

  /**
   * @param {Buffer} data
   * @param {bigint} lsn
   * @param {boolean} isStreamed
   * @returns {PromiseLike<void> | undefined}
   */
  #tellChanges(data, lsn, isStreamed) {
    const text = formatLsn(lsn);
    const changes = this.#output.read(data, MESSAGE_AT, isStreamed, text, this.#transaction);
    if (changes === undefined) return undefined;
    return changes.length === 1 ? this.#call(changes[0], lsn) : this.#callAll(changes, lsn);
  }

  /** @param {Change[]} changes @param {bigint} lsn */
  async #callAll(changes, lsn) {
    for (const change of changes) await this.#call(change, lsn);
  }

  /** @param {Change} change @param {bigint} lsn @returns {PromiseLike<void> | undefined} */
  #call(change, lsn) {
    const progress = this.#progress;
    if (progress.isTold(lsn)) return undefined;
    const answer = /** @type {any} */ (this.#options.onChange(change));
    // The then() of a thenable that is not a promise need not return one.
    if (typeof answer?.then === 'function') {
      return Promise.resolve(answer).then(() => progress.told(lsn));
    }
    progress.told(lsn);
    return undefined;
  }
}

module.exports = { Teller };
