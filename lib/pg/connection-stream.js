'use strict';

// `client.connection.stream` of `pg`, the socket: tools look whether it is destroyed, destroy it, and set its keepalives.
// The socket itself is libpq's, so that nothing can be written to it or read from it. Made by connection.js.

const { EventEmitter } = require('node:events');
const { ConnectionError, StatementRefusedError, toFailure } = require('../base');

/** @typedef {() => import('../connection').Connection} Carrier the client's connection, or what it has in its place */

class ConnectionStream extends EventEmitter {
  #carrier;
  #isDestroyed = false;
  /** What keepalives are to be like, if that was said before there was a connection. @type {[boolean, number] | undefined} */
  #keepAlive = undefined;
  /** What destroy() was given. @type {Error | undefined} */
  reason = undefined;

  /** @param {Carrier} carrier */
  constructor(carrier) {
    super();
    this.#carrier = carrier;
    // It is an implementation's own.
    Object.defineProperty(this, 'reason', { enumerable: false });
  }

  get #state() {
    return this.#carrier().state;
  }

  get destroyed() {
    return this.#isDestroyed || this.#state === 'closed';
  }

  get closed() {
    return this.#state === 'closed';
  }

  get connecting() {
    return !this.destroyed && this.#state === 'connecting';
  }

  get pending() {
    return ['new', 'connecting'].includes(this.#state);
  }

  get readyState() {
    if (this.destroyed) return 'closed';
    return this.connecting ? 'opening' : 'open';
  }

  get readable() {
    return !this.destroyed;
  }

  get writable() {
    return !this.destroyed;
  }

  get encrypted() {
    return this.#carrier().isEncrypted;
  }

  get remoteAddress() {
    return this.#place?.[0];
  }

  get remotePort() {
    return this.#place === undefined ? undefined : Number(this.#place[1]);
  }

  /** Address and port; nothing for a unix socket. */
  get #place() {
    const place = this.#carrier().serverAddress.split(' ');
    return place.length === 2 && !place[0].startsWith('/') ? place : undefined;
  }

  /**
   * As if the connection were lost now.
   * @param {unknown} [error] what its queries are rejected with
   */
  destroy(error) {
    if (this.destroyed) return this;
    this.#isDestroyed = true;
    if (error) this.reason = toFailure(error, 'stream.destroy()');
    this.#carrier().cut(this.reason ?? lostError());
    return this;
  }

  end() {
    return this.destroy();
  }

  destroySoon() {
    this.destroy();
  }

  /** @param {boolean} [enable] @param {number} [initialDelay] milliseconds, as for a socket of Node.js */
  setKeepAlive(enable = false, initialDelay = 0) {
    this.#keepAlive = [Boolean(enable), Math.trunc(Number(initialDelay) / 1000) || 0];
    if (this.#state === 'ready') this.#applyKeepAlive();
    return this;
  }

  #applyKeepAlive() {
    if (this.#keepAlive !== undefined) this.#carrier().setKeepAlive(...this.#keepAlive);
  }

  /** libpq has set it already. */
  setNoDelay() {
    return this;
  }

  /** What is to happen after so long is the options' affair: query_timeout, tcp_user_timeout. */
  setTimeout() {
    return this;
  }

  ref() {
    this.#carrier().setLoopRef(true);
    return this;
  }

  unref() {
    this.#carrier().setLoopRef(false);
    return this;
  }

  cork() {}

  uncork() {}

  write() {
    throw new StatementRefusedError(
      'the socket belongs to libpq, and nothing else can be written to it: use query(), copyFrom(), ' +
        'copyTo(), stream() or cursor()',
    );
  }

  onConnected() {
    this.#applyKeepAlive();
    this.emit('connect');
    this.emit('ready');
  }

  onClosed() {
    this.#isDestroyed = true;
    this.emit('close', this.reason !== undefined);
  }
}

function lostError() {
  return new ConnectionError('Connection terminated unexpectedly', {
    code: 'ECONNRESET',
    detail: 'the program has destroyed its stream',
  });
}

module.exports = { ConnectionStream, lostError };
