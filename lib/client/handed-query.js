'use strict';

// A pool's query on its way through a `client.query` that was replaced: tracing tools wrap
// Client.prototype.query, through which in `pg` everything passes that a pool runs. Handed over by
// pool/member.js, taken by client.js when the wrapper calls the original method.

const { causeOf, messageOf, ParameterError, rejection } = require('../base');
const { showQuery } = require('../pg');
const { callBack, readQuery } = require('./query-arguments');

/**
 * @typedef {import('./client').Client} Client
 * @typedef {import('../connection').Connection} Connection
 * @typedef {import('../query').Query} Query
 *
 * What the original method finds in its first argument, or in a copy of it.
 * @typedef {object} Handed
 * @property {boolean} isTaken
 * @property {Client} client
 * @property {(config: any, values: any, callback: any) => Promise<any> | undefined} take
 */

/** The key of the handed query. Symbols are copied by `{ ...config }`. */
const HANDED = Symbol('handed');

/**
 * Queries that were handed over once. When one is sent again on another connection, the wrapper
 * does not see it a second time.
 */
const handedOver = new WeakSet();

/**
 * @param {any} config
 * @param {Client} client whose method is called, which need not be the one that it was handed to
 * @returns {Handed | undefined} nothing if it was taken already
 */
function findHanded(config, client) {
  const handed = typeof config === 'object' && config !== null ? config[HANDED] : undefined;
  return handed?.client !== client || handed.isTaken ? undefined : handed;
}

/** @implements {Handed} */
class HandedQuery {
  isTaken = false;
  #isGivenUp = false;
  #isReserved = false;
  /**
   * A copy: changes that a wrapper makes to it reach the query only through #adopt().
   * @type {unknown[]}
   */
  #handedValues = [];
  #query;
  #connection;
  #goElsewhere;
  #inner;
  #settleOuter;

  /**
   * @param {Query} query whose caller gets what the wrapper makes of its result
   * @param {Client} client whose method was replaced
   * @param {Connection} connection
   * @param {(query: Query) => void} goElsewhere for when the connection accepts nothing more
   */
  constructor(query, client, connection, goElsewhere) {
    this.client = client;
    this.#query = query;
    this.#connection = connection;
    this.#goElsewhere = goElsewhere;
    this.#settleOuter = /** @type {(value: any) => void} */ (query.settle);
    this.#inner = new Promise((resolve) => {
      query.settle = resolve;
    });
  }

  pass() {
    const { text, parameters, name, rowMode } = this.#query;
    this.#handedValues = [...parameters];
    /** @type {Record<PropertyKey, any>} */
    const config = { text, values: this.#handedValues, [HANDED]: this };
    if (name !== undefined) config.name = name;
    if (rowMode !== undefined) config.rowMode = rowMode;
    const answer = this.#callWrapper(config);
    // If the method was not called yet, the wrapper may call it later.
    if (!this.isTaken) this.#reserve();
    this.#follow(answer ?? this.#inner);
  }

  /**
   * @param {Record<PropertyKey, any>} config
   * @returns {Promise<any> | undefined} for a result that has a then(), or for an exception
   */
  #callWrapper(config) {
    try {
      const answer = /** @type {any} */ (this.client.query(config));
      if (typeof answer?.then !== 'function') return undefined;
      return new Promise((resolve) => {
        resolve(answer);
      });
    } catch (error) {
      return Promise.reject(error);
    }
  }

  /**
   * Before the wrapper is done, no query may have the connection to itself, and it may not be
   * closed.
   */
  #reserve() {
    this.#isReserved = true;
    this.#connection.load.reserve();
    this.#query.onceSettled(() => {
      // Given up: its caller no longer waits for the wrapper.
      if (this.isTaken) return;
      this.#isGivenUp = true;
      this.#settleOuter(this.#inner);
    });
  }

  #unreserve() {
    if (!this.#isReserved) return;
    this.#isReserved = false;
    this.#connection.load.unreserve();
    this.#connection.afterSettling();
  }

  /** @param {Promise<any>} answer */
  #follow(answer) {
    answer.then(
      (value) => this.#end(value),
      // A rejection that no longer settles anything would count as unhandled.
      (error) => this.#end(this.#isGivenUp ? undefined : rejection(this.#query, error)),
    );
  }

  /** @param {any} value the wrapper's answer */
  #end(value) {
    this.#settleOuter(value);
    // The wrapper has answered by itself: nothing was sent, nor will be.
    if (!this.isTaken) {
      this.isTaken = true;
      this.#query.resolve(undefined);
    }
    this.#unreserve();
  }

  /** @param {any} config @param {any} values @param {any} callback */
  take(config, values, callback) {
    this.isTaken = true;
    showQuery(this.client, this.#query);
    if (typeof values === 'function') callback = values;
    if (!this.#query.isSettled) this.#submit(config, values);
    this.#unreserve();
    if (typeof callback !== 'function') return this.#inner;
    callBack(this.#inner, callback);
    return undefined;
  }

  /** @param {any} config @param {any} values or the callback */
  #submit(config, values) {
    const query = this.#query;
    const refusal = this.#adopt(config, values);
    const { isShared, state } = this.#connection;
    if (refusal !== undefined) query.reject(refusal);
    else if (this.#isReserved && isShared && state !== 'ready') this.#goElsewhere(query);
    else this.#connection.submit(query);
  }

  /**
   * Takes over what the wrapper has changed: as a rule the text, to which it adds a comment.
   * @param {any} config
   * @param {any} values
   * @returns {Error | undefined}
   */
  #adopt(config, values) {
    try {
      return this.#read(config, values);
    } catch (error) {
      return new ParameterError(`what the wrapper passes on cannot be read: ${messageOf(error)}`, {
        cause: causeOf(error),
      });
    }
  }

  /**
   * @param {any} config
   * @param {any} given
   * @returns {Error | undefined}
   */
  #read(config, given) {
    const query = this.#query;
    const { text, name, rowMode } = config;
    const values = Array.isArray(given) ? given : config.values;
    const isText = text === query.text && (name || undefined) === query.name;
    if (isText && values === this.#handedValues && isEqual(values, query.parameters)) {
      return undefined;
    }
    const options = { text, name, rowMode };
    const read = readQuery(options, values, undefined, query);
    if (read.refusal !== undefined) return read.refusal;
    query.text = read.text;
    query.parameters = read.parameters;
    query.size = read.size;
    query.name = read.name;
    query.rowMode = read.rowMode;
    // The connection then looks up what kind of statement it is.
    // @ts-expect-error it is found anew
    query.info = undefined;
    return undefined;
  }
}

/** @param {readonly unknown[]} values @param {readonly unknown[]} others */
function isEqual(values, others) {
  return values.length === others.length && values.every((value, index) => value === others[index]);
}

/**
 * @param {Query} query that the pool would submit to the connection
 * @param {Client} client
 * @param {Connection} connection
 * @param {(query: Query) => void} goElsewhere
 * @returns {boolean} whether it was handed over
 */
function handOver(query, client, connection, goElsewhere) {
  if (handedOver.has(query)) return false;
  handedOver.add(query);
  new HandedQuery(query, client, connection, goElsewhere).pass();
  return true;
}

/** A query that a caller has given to a wrapper already. @param {Query} query */
function markHanded(query) {
  handedOver.add(query);
}

module.exports = { findHanded, handOver, markHanded };
