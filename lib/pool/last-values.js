'use strict';

// Where the server remembers what nextval() has given to a lease, for lastval() and currval(): in one session, which
// the lease may have given back since. Owned by lease-connection.js.

const { StatementRefusedError } = require('../base');
const { membersOf } = require('../query');

/**
 * @typedef {import('../query').Query} Query
 * @typedef {import('../query').Batch} Batch
 * @typedef {import('./member').Member} Member
 * @typedef {import('./pin').Pin} Pin
 */

class LastValues {
  #isSomewhere = false;
  /** @type {Member | undefined} */
  #member = undefined;
  #settled = 0;

  /** @param {Member} [member] where the lease has called nextval(), and that it gives back; undefined: not known */
  leaveAt(member) {
    this.#isSomewhere = true;
    this.#member = member;
    this.#settled = member?.connection.settled ?? 0;
  }

  /** The connection that still has them, since nobody else has used it. @returns {Member | undefined} */
  get member() {
    return this.#member?.connection.settled === this.#settled ? this.#member : undefined;
  }

  /**
   * @param {Query | Batch} work
   * @param {import('../statements').StatementRegistry} registry
   * @param {Pin} [pin] where it is to run; undefined: that may still be chosen
   * @returns {StatementRefusedError | undefined} if it may ask for values that another session has
   */
  refuse(work, registry, pin) {
    if (!this.#isSomewhere) return undefined;
    const areThere = pin === undefined ? this.member : pin.hasLastValues || pin.mayHaveAdvanced;
    if (areThere) return undefined;
    if (!membersOf(work).some((query) => query.identify(registry).asksSequences)) return undefined;
    return new StatementRefusedError(
      'lastval() and currval() ask for what a statement before has left in a session that others have used since. ' +
        "Use RETURNING, or run both in one transaction, or set the option multiplex to 'off'.",
    );
  }
}

module.exports = { LastValues };
