'use strict';

// Which batches need BEGIN and COMMIT to be one transaction: all that are not in one, on a database that is not known to
// take everything before one Sync for one (locality.js). Finds out what that takes. Owned by outbox.js.

const { afterDelivery } = require('../base');
const { Batch } = require('../query');

/** @typedef {import('../query').Query} Query */

/** PQTRANS_IDLE, and -1: not known */
const IDLE = 0;
const NOT_KNOWN = -1;

class Fences {
  #connection;
  #asides;
  #locality;
  #turns;
  #resume;
  #willAsk = false;

  /**
   * @param {import('./connection').Connection} connection
   * @param {import('./asides').Asides} asides
   * @param {import('./locality').Locality} locality
   * @param {import('./turns').Turns} turns
   * @param {() => void} resume sends what has waited
   */
  constructor(connection, asides, locality, turns, resume) {
    this.#connection = connection;
    this.#asides = asides;
    this.#locality = locality;
    this.#turns = turns;
    this.#resume = resume;
  }

  /** Whether a statement of the driver's own would be outside of any transaction. */
  get isSurelyIdle() {
    const { isShared, session } = this.#connection;
    if (isShared || session.transactionStatus === IDLE) return true;
    return session.transactionStatus === NOT_KNOWN && !session.hasTouchedTransaction;
  }

  /** Whether it is not known if a transaction is open. */
  get #isInDoubt() {
    const { isShared, session } = this.#connection;
    if (isShared || session.transactionStatus !== NOT_KNOWN) return false;
    return session.hasTouchedTransaction;
  }

  /** @param {Query | Batch} work that is about to be sent */
  mustWait(work) {
    if (!isForFence(work) || this.#locality.keepsPipelines === true) return false;
    if (this.#isInDoubt) return true;
    return this.#locality.keepsPipelines === undefined && this.isSurelyIdle;
  }

  /** Finds out what the batch that is next has to wait for. */
  prepare() {
    const { load } = this.#connection;
    if (this.#isInDoubt) {
      if (load.sent === 0) this.#asides.learnTransactionStatus(this.#resume);
    } else {
      this.#ask();
    }
  }

  /** The query that made this necessary is just being sent. */
  askSoon() {
    if (this.#willAsk || this.#locality.isAskedAnywhere) return;
    this.#willAsk = true;
    afterDelivery(() => {
      this.#willAsk = false;
      this.#turns.wait(() => {
        if (this.#connection.state === 'ready' && this.isSurelyIdle) this.#ask();
      });
    });
  }

  #ask() {
    if (this.#locality.isAskedOn(this.#connection)) return;
    this.#locality.ask(this.#connection, this.#asides, this.#resume);
  }

  /** @param {Batch} batch that is sent now */
  isNeededFor(batch) {
    if (!isForFence(batch)) return false;
    if (this.#locality.keepsPipelines !== true) return this.isSurelyIdle;
    if (!this.#locality.isFresh) this.askSoon();
    return false;
  }
}

/** @param {Query | Batch} work of one statement nothing can be kept in part */
function isForFence(work) {
  return work instanceof Batch && work.members.length > 1 && !work.isInTransaction;
}

module.exports = { Fences };
