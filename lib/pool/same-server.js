'use strict';

// Whether a read of a borrower may go to any connection of a pool: all of them lead to one server that can write, so
// that a read never sees less than the one before it, and their sessions are as the server makes them. Owned by
// dispatcher.js.

/** What tells a connection from others. */
const NOT_ALIKE = '';

class SameServer {
  /** The kind of each connection that is open. @type {Map<import('./member').Member, string>} */
  #kinds = new Map();
  /** How many there are of each kind. @type {Map<string, number>} */
  #counts = new Map();

  get isCertain() {
    return this.#counts.size === 1 && !this.#counts.has(NOT_ALIKE);
  }

  /**
   * @param {import('./member').Member} member that was opened
   * @param {boolean} hasSetUp its session did not begin as the server makes it, or others will not
   */
  add(member, hasSetUp) {
    const { connection } = member;
    // Servers before 14, and others than PostgreSQL, do not say whether they are a standby.
    const isPrimary = connection.parameterStatus('in_hot_standby') === 'off';
    const kind = isPrimary && !hasSetUp ? connection.serverAddress : NOT_ALIKE;
    this.#kinds.set(member, kind);
    this.#counts.set(kind, (this.#counts.get(kind) ?? 0) + 1);
  }

  /** @param {import('./member').Member} member that is closed */
  remove(member) {
    const kind = this.#kinds.get(member);
    if (kind === undefined) return;
    this.#kinds.delete(member);
    const count = /** @type {number} */ (this.#counts.get(kind)) - 1;
    if (count === 0) this.#counts.delete(kind);
    else this.#counts.set(kind, count);
  }
}

module.exports = { SameServer };
