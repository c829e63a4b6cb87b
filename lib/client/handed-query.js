'use strict';

// A pool's query on its way through a `client.query` that somebody has put in the place of ours:
// tracing tools wrap Client.prototype.query, through which in `pg` all that a pool runs passes.
// Handed over by pool/member.js, taken by client.js when the wrapper calls the method beneath.

const { causeOf, messageOf, ParameterError, rejection } = require('../base');
const { showQuery } = require('../pg');
const { callBack, readQuery } = require('./query-arguments');

/**
 * @typedef {import('./client').Client} Client
 * @typedef {import('../connection').Connection} Connection
 * @typedef {import('../query').Query} Query
 *
 * What the method beneath finds in its first argument, or in a copy of that.
 * @typedef {object} Handed
 * @property {boolean} isTaken
 * @property {Client} client
 * @property {(config: any, values: any, callback: any) => Promise<any> | undefined} take
 */

/** Under it stands the query itself. Symbols are copied by `{ ...config }`. */
const HANDED = Symbol('handed');

/** What was handed over once: sent again to another connection, it is not seen a second time. */
const handedOver = new WeakSet();

/**
 * @param {any} config
 * @param {Client} client that is asked, which need not be the one that it was handed to
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
  /** A copy: what a wrapper writes into it reaches the query through #adopt() only. @type {unknown[]} */
  #handedValues = [];
  #query;
  #connection;
  #goElsewhere;
  #inner;
  #settleOuter;

  /**
   * @param {Query} query whose caller gets what the wrapper makes of its outcome
   * @param {Client} client with a method that is not ours
   * @param {Connection} connection
   * @param {(query: Query) => void} goElsewhere the connection takes nothing more
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
    const { text, parameters, name, rowAsArray } = this.#query;
    this.#handedValues = [...parameters];
    /** @type {Record<PropertyKey, any>} */
    const config = { text, values: this.#handedValues, [HANDED]: this };
    if (name !== undefined) config.name = name;
    if (rowAsArray) config.rowMode = 'array';
    const answer = this.#callWrapper(config);
    // A wrapper that returns nothing calls the method later, at most.
    if (!this.isTaken) this.#reserve();
    this.#follow(answer ?? this.#inner);
  }

  /**
   * @param {Record<PropertyKey, any>} config
   * @returns {Promise<any> | undefined} of whatever has a then(), or throws
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

  /** Nobody may have the connection to himself, nor may it be closed, before the wrapper is done. */
  #reserve() {
    this.#isReserved = true;
    this.#connection.load.reserve();
    this.#query.onceSettled(() => {
      // Given up: its caller waits no longer for the wrapper.
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
      // What settles nothing any more would count as unhandled.
      (error) => this.#end(this.#isGivenUp ? undefined : rejection(this.#query, error)),
    );
  }

  /** @param {any} value that the wrapper has answered */
  #end(value) {
    this.#settleOuter(value);
    // It has answered by itself: nothing was sent, nor will be.
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
   * What the wrapper has changed: as a rule the text, which has got a comment.
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
    query.rowAsArray = read.rowAsArray;
    // The connection looks what kind of statement it is now.
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
 * @param {Query} query that its pool would submit to the connection
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

module.exports = { findHanded, handOver };
