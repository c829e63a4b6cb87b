'use strict';

// The connection that a pool listens on: opened when somebody listens, opened again after it was lost, with a pause
// that grows while the server is down. What is to be listened to, its owner knows: listener.js.

const { Backoff } = require('../base');
const { Client, connectionOf, POOL } = require('../client');
const { ownMillis } = require('../connection');
const { checkListening } = require('./listen-check');

/**
 * @typedef {object} ListenOwner
 * @property {() => void} onReady statements may be sent
 * @property {(error: Error, client: Client) => void} onDown there is no connection, or none any more; may run in the
 *   middle of a delivery
 * @property {(message: { channel: string, payload: string, processId: number }) => void} onNotification
 */

class ListenConnection {
  /** Connected, or being connected. @type {Client | undefined} */
  #client = undefined;
  #isReady = false;
  #backoff = new Backoff();
  #isAwaited = false;
  #settings;
  #registry;
  #owner;

  /**
   * @param {import('../options').Settings} settings
   * @param {import('../statements').StatementRegistry} registry
   * @param {ListenOwner} owner
   */
  constructor(settings, registry, owner) {
    this.#settings = settings;
    this.#registry = registry;
    this.#owner = owner;
  }

  /** The current one, by which the owner tells whether an answer came on it or on one before. */
  get client() {
    return this.#client;
  }

  get isReady() {
    return this.#isReady;
  }

  /** @param {string} text @returns {Promise<unknown> | undefined} */
  query(text) {
    const client = /** @type {Client} */ (this.#client);
    return client.query({ text, prepare: false, timeoutMillis: this.#timeoutMillis });
  }

  get #timeoutMillis() {
    return ownMillis(this.#settings.query_timeout);
  }

  /** It does what it is there for: the next failure is the first one again. */
  succeeded() {
    this.#backoff.succeeded();
  }

  /** @param {number} millis @returns {Error | undefined} why nobody who has waited for so long was served */
  reasonWithin(millis) {
    return this.#backoff.reasonWithin(millis);
  }

  /** Opens it, unless it is open: now, or when the pause after a failure is over. */
  connect() {
    if (this.#client !== undefined) return;
    if (!this.#backoff.isOver) {
      this.#backoff.whenOver(() => this.connect());
      this.#updateLoopRef();
      return;
    }
    const client = this.#newClient((error) => this.#onDown(client, error));
    client.on('notification', this.#owner.onNotification);
    this.#client = client;
    this.#updateLoopRef();
    this.#open(client).then(
      () => this.#onConnected(client),
      (error) => this.drop(client, error),
    );
  }

  /** @param {(error: Error) => void} onLost @returns {Client} that is not connected */
  #newClient(onLost) {
    const side = { settings: this.#settings, registry: this.#registry, onLost };
    return new Client({ [POOL]: { ...side, onSettled() {}, onClosed() {} } });
  }

  /** @param {Client} client */
  async #open(client) {
    await client.connect();
    await checkListening(client, () => this.#newClient(() => {}), this.#timeoutMillis);
  }

  /** @param {Client} client */
  #onConnected(client) {
    if (client !== this.#client) return;
    this.#isReady = true;
    this.#owner.onReady();
  }

  /** @param {Client} client that cannot be used @param {Error} error why */
  drop(client, error) {
    connectionOf(client).destroy();
    this.#onDown(client, error);
  }

  /** @param {Client} client @param {Error} error */
  #onDown(client, error) {
    if (client !== this.#client) return;
    this.#client = undefined;
    this.#isReady = false;
    this.#backoff.failed(error);
    this.#owner.onDown(error, client);
  }

  /** Closes it: nothing is listened to any more. */
  disconnect() {
    this.#backoff.cancel();
    const client = this.#client;
    this.#client = undefined;
    this.#isReady = false;
    if (client !== undefined) connectionOf(client).end();
  }

  /** Closes it without waiting for answers, which may never come. @returns {Promise<void>} */
  async abort() {
    const client = this.#client;
    this.#client = undefined;
    this.#isReady = false;
    if (client === undefined) return;
    const connection = connectionOf(client);
    if (connection.inFlight > 0) connection.destroy();
    // Somebody waits for its end, also with allowExitOnIdle.
    connection.setLoopRef(true);
    await connection.end();
  }

  /** @param {boolean} isAwaited whether somebody waits for an answer on it */
  setAwaited(isAwaited) {
    this.#isAwaited = isAwaited;
    this.#updateLoopRef();
  }

  #updateLoopRef() {
    if (!this.#settings.allowExitOnIdle) return;
    this.#backoff.setLoopRef(this.#isAwaited);
    if (this.#client !== undefined) connectionOf(this.#client).setLoopRef(this.#isAwaited);
  }
}

module.exports = { ListenConnection };
