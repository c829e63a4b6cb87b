'use strict';

// The connections of the check: one that most questions are asked on, and others for a moment. Each has a time
// limit, prepares nothing by itself, and is closed at the end.

const { Client } = require('../../lib');
const { StepTimeout, within } = require('./limit');

/** @typedef {import('../../lib/client').Client} DriverClient */

/** More than a farewell takes. */
const END_MILLIS = 1000;
/** The driver has the same limit, and knows better why it was not kept. */
const GRACE_MILLIS = 500;

class Sessions {
  /** @type {Set<any>} */
  #open = new Set();
  /** @type {any} */
  #main = undefined;
  #options;
  #millis;

  /**
   * @param {Record<string, unknown>} options of a client
   * @param {number} millis of each step
   */
  constructor(options, millis) {
    this.#options = options;
    this.#millis = millis;
  }

  /** How many are open. */
  get count() {
    return this.#open.size;
  }

  /** @param {Record<string, unknown>} options of all that follow: the server that was chosen */
  choose(options) {
    this.#options = options;
  }

  /** @param {Record<string, unknown>} [changes] */
  async open(changes) {
    const client = new Client({
      ...this.#options,
      fallback_application_name: 'pg-conduit check',
      prepare: false,
      ...changes,
      connectionTimeoutMillis: this.#millis,
    });
    this.#open.add(client);
    // What is lost is told by who uses it.
    client.on('error', () => this.#open.delete(client));
    client.on('end', () => this.#open.delete(client));
    try {
      await within(this.#millis + GRACE_MILLIS, Promise.resolve(client.connect()));
    } catch (error) {
      await this.close(client);
      throw error;
    }
    return client;
  }

  /** @param {any} client @param {string} text @param {unknown[]} [values] @returns {Promise<any[]>} rows */
  async ask(client, text, values) {
    return (await this.query(client, { text, values })).rows;
  }

  /** @param {any} client @param {Record<string, unknown>} query @returns {Promise<any>} its result */
  async query(client, query) {
    return this.step(client, client.query(query));
  }

  /**
   * @template T
   * @param {any} client on which an answer that is late is not waited for any more
   * @param {Promise<T>} promise
   * @returns {Promise<T>}
   */
  async step(client, promise) {
    promise.catch(() => {});
    try {
      return await within(this.#millis, promise);
    } catch (error) {
      if (error instanceof StepTimeout) await this.close(client);
      throw error;
    }
  }

  /** The connection for single questions; made again if it was lost. */
  async main() {
    if (this.#main === undefined || !this.#open.has(this.#main)) this.#main = await this.open();
    return this.#main;
  }

  /** For who needs the only session that a server or a pooler has. */
  async closeMain() {
    if (this.#main !== undefined) await this.close(this.#main);
  }

  /** @param {string} text @param {unknown[]} [values] @returns {Promise<any[]>} rows */
  async look(text, values) {
    return this.ask(await this.main(), text, values);
  }

  /** @param {any} client */
  async close(client) {
    this.#open.delete(client);
    const ended = Promise.resolve(client.end());
    await within(END_MILLIS, ended).catch(() => {});
  }

  async closeAll() {
    await Promise.all([...this.#open].map((client) => this.close(client)));
  }
}

module.exports = { Sessions };
