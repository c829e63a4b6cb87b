'use strict';

// One attempt at a transaction: runs its function and ends with COMMIT, right behind its last statement, or with
// ROLLBACK; and what is known of the fate of the whole. Made by gate.js.

const { afterDelivery, DatabaseError } = require('../base');
const { outcome } = require('../query');
const { COMMIT, ROLLBACK } = require('./control');
const { abortedError, endedError, incompleteError, looseError } = require('./errors');
const { Scope } = require('./scope');

/**
 * @typedef {import('../query').Role} Role
 * @typedef {import('./transaction').Body} Body
 */

function ignore() {}

class Attempt extends Scope {
  /** The last stream, cursor or COPY; only one is open at a time. @type {Role | undefined} */
  open = undefined;
  isCommitSent = false;
  /** The client was released: nothing may be sent any more. */
  isAbandoned = false;
  /**
   * Why no connection has got its BEGIN. Nothing may be sent any more: it would run by itself, and last.
   * @type {Error | undefined}
   */
  refusal = undefined;
  /** BEGIN has failed: what was sent behind it ran without a transaction. */
  isLoose = false;
  /** A text in it may have ended it, or has done what no rollback undoes. */
  isDoubtful = false;
  /** BEGIN was sent, and the server has not said yet that nothing of it is left. */
  mayLast = false;
  #savepoints = 0;

  nameSavepoint() {
    return `pg_conduit_${++this.#savepoints}`;
  }

  /** @override */
  begin() {
    this.mayLast = true;
    super.begin();
  }

  /** @override @param {Error} error */
  onBeginFailed(error) {
    this.note(error);
    if (this.isUnsent) {
      this.refusal = error;
      this.mayLast = false;
    }
    if (!(error instanceof DatabaseError) || this.isUnsent) return;
    this.isLoose = true;
    afterDelivery(() => this.gate.connection.destroy());
  }

  /** @override @param {Error} error */
  note(error) {
    const isFailure = super.note(error);
    if (isFailure && this.isCommitSent) this.withdraw(() => abortedError(this.failure));
    return isFailure;
  }

  /** @param {Body} body */
  async run(body) {
    let value;
    try {
      value = await body(this.transaction);
    } catch (error) {
      this.end();
      await this.#rollBack();
      throw this.isLoose ? looseError(this.failure) : error;
    }
    this.end();
    await this.#commit();
    return value;
  }

  async #commit() {
    if (this.interruption !== undefined || this.failure !== undefined) {
      await this.#rollBack();
      if (this.isLoose) throw looseError(this.failure);
      throw outcome.tellOfRollback(this.interruption ?? abortedError(this.failure), this);
    }
    if (!this.hasBegun) return;
    this.isCommitSent = true;
    const { connection } = this.gate;
    const query = this.send(COMMIT, ignore);
    let command;
    try {
      ({ command } = await query.promise);
    } catch (error) {
      if (error instanceof DatabaseError && connection.session.transactionStatus !== 0) {
        await this.#rollBack();
      } else if (error instanceof DatabaseError && !query.wasFatal) {
        this.mayLast = false;
      }
      if (this.isLoose) throw looseError(this.failure);
      outcome.tellOfCommit(/** @type {Error} */ (error), this);
      // Other servers may have committed, whatever the ROLLBACK behind it has said.
      if (/** @type {any} */ (error).outcome === 'unknown') this.mayLast = true;
      throw error;
    }
    if (this.isLoose) throw looseError(this.failure);
    if (command === ROLLBACK) this.mayLast = false;
    if (command !== COMMIT) throw outcome.tellOfRollback(abortedError(this.failure), this);
    if (this.failure !== undefined) throw incompleteError(this.failure);
  }

  async #rollBack() {
    // After release() the pool rolls it back.
    if (!this.hasBegun || this.isAbandoned) return;
    const { failure } = this;
    this.withdraw(() => (failure === undefined ? endedError() : abortedError(failure)));
    const { connection } = this.gate;
    try {
      const { command } = await this.send(ROLLBACK, ignore).promise;
      if (command === ROLLBACK) this.mayLast = false;
    } catch {
      // Its state is unknown, unless the connection is lost already, or there was none.
      if (!this.isUnsent) connection.destroy();
    }
  }
}

module.exports = { Attempt };
