'use strict';

// The way from settings to a connection: names resolved, password asked, libpq
// started, a time limit over all of it. Used by connection.js, which passes on
// what the addon reports.

const { connectError } = require('./connection-errors');
const { ConnectionError } = require('./errors');
const { resolveHosts } = require('./resolve-hosts');
const { TimeLimit } = require('./time-limit');

class Handshake {
  /** @type {Promise<void>} rejects with a ConnectionError or DatabaseError */
  done;
  /** @type {() => void} */
  #resolve = () => {};
  /** @type {(error: Error) => void} */
  #reject = () => {};
  /** @type {TimeLimit | undefined} */
  #limit = undefined;
  #isOver = false;

  /**
   * @param {import('./binding').NativeConnection} native
   * @param {import('./options').Settings} settings
   */
  constructor(native, settings) {
    this.done = new Promise((resolve, reject) => {
      this.#resolve = () => resolve(undefined);
      this.#reject = reject;
    });
    const { connectionTimeoutMillis } = settings;
    if (connectionTimeoutMillis > 0) {
      this.#limit = new TimeLimit(connectionTimeoutMillis, () => {
        this.fail(
          new ConnectionError(
            `timeout expired: no connection within ${connectionTimeoutMillis} ms ` +
              '(connectionTimeoutMillis)',
            { code: 'ETIMEDOUT', syscall: 'connect' },
          ),
        );
      });
    }
    this.#start(native, settings).catch((error) => this.fail(error));
  }

  /**
   * @param {import('./binding').NativeConnection} native
   * @param {import('./options').Settings} settings
   */
  async #start(native, { conninfo, password, tls: { files, servername } }) {
    const resolved = await resolveHosts(conninfo, servername);
    if (password !== undefined) resolved.password = await askPassword(password);
    // It may have been given up meanwhile.
    if (this.#isOver) return;
    native.connect(
      Object.keys(resolved),
      Object.values(resolved),
      Object.keys(files),
      Object.values(files),
    );
  }

  succeed() {
    this.#end();
    this.#resolve();
  }

  /** @param {string | Error} reason an error, or what libpq says */
  fail(reason) {
    this.#end();
    this.#reject(typeof reason === 'string' ? connectError(reason) : reason);
  }

  #end() {
    this.#isOver = true;
    this.#limit?.cancel();
  }
}

/** @param {() => string | Promise<string>} password */
async function askPassword(password) {
  const value = await password();
  if (typeof value !== 'string') {
    throw new ConnectionError('the password function must return a string, or a promise of one');
  }
  return value;
}

module.exports = { Handshake };
