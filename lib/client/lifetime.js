'use strict';

// The way of a client from `new` over connect() to end(): whoever was ended, or refused, does not connect, and nobody
// connects twice. Made by client.js, which has the connection itself.

const { ConnectionError, copyError } = require('../base');
const { changeConnection, readOptions } = require('../options');
const { changesOf } = require('../pg');

/** @typedef {import('../options').Settings} Settings */

class Lifetime {
  /** @type {Settings} */
  settings;
  /** Why it cannot connect. @type {import('../base').OptionError | undefined} */
  refusal = undefined;
  isOfPool;
  hasEnded = false;
  /** For a client that was to share connections, and did not. @type {Promise<void> | undefined} */
  left = undefined;
  /** What it was made with, until it connects. @type {any} */
  #config = undefined;
  #hasConnected = false;
  /** What connect() has returned first. @type {Promise<unknown> | undefined} */
  #connected = undefined;

  /**
   * @param {unknown} config connection string or options
   * @param {import('./events').PoolSide} [pool]
   */
  constructor(config, pool) {
    this.isOfPool = pool !== undefined;
    if (pool !== undefined) {
      this.settings = pool.settings;
      return;
    }
    const { settings, refusal } = readOptions(/** @type {any} */ (config));
    this.settings = settings;
    this.refusal = refusal;
    this.#config = config;
  }

  /** That of a lease is, from the beginning. */
  skipConnect() {
    this.#hasConnected = true;
  }

  /**
   * To be called before it connects.
   * @param {import('./client').Client} client its properties may have been changed since it was made
   * @throws {import('../base').OptionError | ConnectionError}
   */
  begin(client) {
    if (this.refusal !== undefined) throw copyError(this.refusal);
    if (this.#hasConnected) {
      throw new ConnectionError('Client has already been connected. You cannot reuse a client.', {
        hint: 'make a new one',
      });
    }
    this.#hasConnected = true;
    if (this.isOfPool) return;
    const changes = changesOf(client);
    if (changes !== undefined) changeConnection(this.settings, this.#config, changes);
    this.#config = undefined;
  }

  /** @param {Promise<unknown>} connected that connect() returns */
  keep(connected) {
    this.#connected ??= connected;
  }

  /** @param {() => Promise<void>} close closes its connection */
  async end(close) {
    this.hasEnded = true;
    // Whoever ends it need not be told by connect(), too, if nobody listens there.
    const connected = this.#connected?.then(ignore, ignore);
    await close();
    await connected;
    await this.left;
  }
}

function ignore() {}

module.exports = { Lifetime };
