'use strict';

// The transactions of a client: which one is open, and so which statements may pass. Runs them, and
// retries them. Each client has one; called by client.js, and by the pool when a client is
// released.

const { AsyncLocalStorage, AsyncResource } = require('node:async_hooks');
const { setTimeout: delay } = require('node:timers/promises');
const { DatabaseError } = require('../base');
const { Attempt } = require('./attempt');
const { clientError, notIdleError, notLentError, releasedError } = require('./errors');
const { readTransaction } = require('./options');

/**
 * @typedef {import('../query').Batch} Batch
 * @typedef {import('./transaction').Speaker} Speaker
 * @typedef {import('../connection').Connection} Connection
 * @typedef {import('../query').Query} Query
 * @typedef {import('../statements').StatementRegistry} StatementRegistry
 * @typedef {import('./scope').Scope} Scope
 * @typedef {import('./transaction').Body} Body
 */

/** Serialization failure and deadlock: the same transaction may succeed the next time. */
const CONFLICTS = new Set(['40001', '40P01']);
const FIRST_BACKOFF_MILLIS = 10;
const MAX_BACKOFF_MILLIS = 200;
const MAX_CAUSES = 10;

/**
 * The scope whose statement is with a tool that has wrapped client.query(): the tool may await
 * something before it passes the statement on. Created for the first such tool, as it makes every
 * promise of the process slower.
 * @type {AsyncLocalStorage<Scope> | undefined}
 */
let handed;

class TransactionGate {
  #client;
  #isWrapped;
  /** The attempt at the transaction that is under way. @type {Attempt | undefined} */
  #scope = undefined;
  /** The scope whose statement the client is being given. @type {Scope | undefined} */
  #speaker = undefined;
  /** Whether the client is checked out; false between two borrowers. */
  #isLent = true;

  /**
   * @param {Speaker} client
   * @param {Connection} connection
   * @param {StatementRegistry} registry
   * @param {(client: any) => boolean} isWrapped whether query() of the client was wrapped
   */
  constructor(client, connection, registry, isWrapped) {
    this.#client = client;
    this.#isWrapped = isWrapped;
    this.connection = connection;
    this.registry = registry;
  }

  /**
   * @param {Query | Batch} work that the client is about to send
   * @returns {Error | undefined} why it must not
   */
  admit(work) {
    const speaker = this.#speaker ?? this.#handedBy;
    if (speaker === undefined) return this.#scope === undefined ? undefined : clientError();
    // The batch that the query belongs to was checked.
    return 'batch' in work && work.batch !== undefined ? undefined : speaker.admit(work);
  }

  /** The scope whose statement comes through a wrapper. */
  get #handedBy() {
    const scope = handed?.getStore();
    return scope?.gate === this ? scope : undefined;
  }

  /**
   * What a callback requests is not part of the statement that the callback belongs to.
   * @template {readonly unknown[]} T
   * @param {T} given arguments of a statement
   * @returns {T} the arguments to pass to speak()
   */
  freeCallbacks(given) {
    if (!this.#isWrapped(this.#client)) return given;
    const free = (/** @type {unknown} */ argument) =>
      typeof argument === 'function' ? AsyncResource.bind(/** @type {any} */ (argument)) : argument;
    return /** @type {any} */ (given.map(free));
  }

  /**
   * @template T
   * @param {Scope} scope
   * @param {(client: Speaker) => T} statement
   */
  speak(scope, statement) {
    if (this.#isWrapped(this.#client)) {
      handed ??= new AsyncLocalStorage();
      return handed.run(scope, () => statement(this.#client));
    }
    this.#speaker = scope;
    try {
      return statement(this.#client);
    } finally {
      this.#speaker = undefined;
    }
  }

  /**
   * @param {Body} body
   * @param {any} options
   */
  async run(body, options) {
    const { begin, retries } = readTransaction(body, options);
    if (this.#scope !== undefined) throw clientError();
    if (!this.#isLent) throw notLentError();
    for (let attempt = 1; ; ++attempt) {
      const scope = new Attempt(this, begin);
      // Nothing else passes from here on.
      this.#scope = scope;
      // A client that connects may get another one.
      const { session } = this.connection;
      try {
        if (session.mayBeInTransaction) await session.whenStatusKnown();
        if (session.transactionStatus > 0) throw notIdleError();
        return await scope.run(body);
      } catch (error) {
        if (attempt > retries || !isConflict(error)) throw error;
        // What may last is not run again.
        if (scope.isLoose || scope.isDoubtful || scope.mayLast) throw error;
        const limit = Math.min(FIRST_BACKOFF_MILLIS * 2 ** attempt, MAX_BACKOFF_MILLIS);
        await delay(limit * Math.random());
        // Released meanwhile: the connection belongs to another borrower.
        if (this.#scope !== scope) throw error;
      } finally {
        if (this.#scope === scope) this.#scope = undefined;
      }
    }
  }

  /** The client was checked out. */
  open() {
    this.#isLent = true;
  }

  /** The client is released to its pool. */
  close() {
    this.#isLent = false;
    const scope = this.#scope;
    this.#scope = undefined;
    if (scope === undefined) return;
    scope.isAbandoned = true;
    if (scope.isCommitSent) return;
    scope.end(releasedError());
    scope.withdraw(releasedError);
  }
}

/**
 * @param {any} error of an attempt that has left nothing behind
 * @returns {boolean} whether another one may succeed
 */
function isConflict(error) {
  for (let left = MAX_CAUSES; left > 0 && error instanceof Error; --left) {
    if (error instanceof DatabaseError && CONFLICTS.has(String(error.code))) return true;
    error = error.cause;
  }
  return false;
}

module.exports = { TransactionGate };
