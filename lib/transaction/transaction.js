'use strict';

// What the function of a transaction receives: a scope in the shape of a client. Made by scope.js.

const { escapeIdentifier, escapeLiteral } = require('../base');

/**
 * The client that statements are passed to.
 * @typedef {Record<'query' | 'batch' | 'describe' | 'stream' | 'cursor' | 'copyFrom' | 'copyTo' | 'copyRows',
 *   (...given: any[]) => any>} Speaker
 *
 * @typedef {import('../query').Callback} Callback
 * @typedef {import('../query').Limits} Limits
 */

/**
 * The function of a transaction.
 * @template [T=any]
 * @typedef {(transaction: Transaction) => T | PromiseLike<T>} Body
 */

/** What the function of a transaction receives. */
class Transaction {
  #scope;

  /** @param {import('./scope').Scope} scope */
  constructor(scope) {
    this.#scope = scope;
  }

  /**
   * @param {[text: string | Record<string, any>, values?: readonly unknown[] | Callback,
   *   third?: Callback | Limits | null]} given text, or { text, values, name, rowMode, types, prepare }
   * @returns {Promise<any> | undefined} nothing with a callback
   */
  query(...given) {
    // Passed on as they were given: a tool that has wrapped the method takes the last argument for
    // the callback.
    const free = this.#scope.gate.freeCallbacks(given);
    return this.#speak((client) => client.query(...free));
  }

  /**
   * Statements behind one Sync.
   * @param {readonly (string | Record<string, any>)[]} queries
   * @param {Limits | null} [options]
   * @returns {Promise<import('../rows').Result[]>} in their order
   */
  batch(queries, options) {
    return this.#speak((client) => client.batch(queries, options));
  }

  /**
   * The types of a statement, which is not executed. One that the server refuses fails the transaction.
   * @param {string | Record<string, any>} text or { text }
   * @returns {Promise<{ parameters: { dataTypeID: number }[], fields: import('../rows').Field[] }>}
   */
  describe(text) {
    return this.#speak((client) => client.describe(text));
  }

  /**
   * A savepoint, which is rolled back to if the function throws.
   * @template T
   * @param {Body<T>} fn
   * @param {undefined} [options] none are allowed
   * @returns {Promise<T>} what the function returns
   */
  transaction(fn, options) {
    return this.#scope.nest(fn, options);
  }

  /**
   * The rows as they come. Until they are read to the end, or the stream is destroyed, the
   * transaction accepts nothing else.
   * @param {string | Record<string, any>} text or { text, values, name, rowMode, types, signal }
   * @param {readonly unknown[]} [values]
   * @param {import('../query').StreamOptions | null} [options]
   */
  stream(text, values, options) {
    return this.#speak((client) => client.stream(text, values, options));
  }

  /**
   * The rows, read a given number at a time. Until it is closed, the transaction accepts nothing
   * else.
   * @param {string | Record<string, any>} text or { text, values, name, rowMode, types }
   * @param {readonly unknown[]} [values]
   * @param {{ signal?: AbortSignal | null } | null} [options]
   */
  cursor(text, values, options) {
    return this.#speak((client) => client.cursor(text, values, options));
  }

  /** @param {string} text COPY … FROM STDIN */
  copyFrom(text) {
    return this.#speak((client) => client.copyFrom(text));
  }

  /** @param {string} text COPY … TO STDOUT */
  copyTo(text) {
    return this.#speak((client) => client.copyTo(text));
  }

  /**
   * Rows into a table, by COPY.
   * @param {string | readonly string[]} table its name, 'schema.name', or [schema, name]
   * @param {readonly string[]} columns
   * @param {Iterable<readonly unknown[]> | AsyncIterable<readonly unknown[]>} rows
   * @param {unknown[]} more none may be given
   */
  copyRows(table, columns, rows, ...more) {
    return this.#speak((client) => client.copyRows(table, columns, rows, ...more));
  }

  /**
   * @template T
   * @param {(client: Speaker) => T} statement
   */
  #speak(statement) {
    return this.#scope.gate.speak(this.#scope, statement);
  }

  /** @param {string} text */
  escapeIdentifier(text) {
    return escapeIdentifier(text);
  }

  /** @param {string} text */
  escapeLiteral(text) {
    return escapeLiteral(text);
  }
}

module.exports = { Transaction };
