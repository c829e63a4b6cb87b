'use strict';

// What proxies of the tests have in common: a port before a server, and the sockets of those who
// came. Used by gate.js and proxy.js.

const { once } = require('node:events');
const net = require('node:net');
const path = require('node:path');
const { Client } = require('../..');
const { connectionString, options } = require('./connect');
const { listen } = require('./ports');

class Relay {
  /** @type {Set<net.Socket>} */
  #sockets = new Set();
  #server = net.createServer({ allowHalfOpen: true }, (socket) => this.receive(this.keep(socket)));
  #target = '';
  /** @type {Promise<any> | undefined} */
  #closed = undefined;

  /** @param {any} [target] the run's server without it */
  static async open(target) {
    const relay = new this();
    relay.#target = target ?? connectionString();
    relay.port = await listen(relay.#server);
    return relay;
  }

  /** @param {Record<string, any>} [given] @returns options of a client or pool behind it */
  options(given) {
    const { user, database } = new Client(this.#target);
    const { options: sessionOptions } = options();
    return {
      host: '127.0.0.1',
      port: this.port,
      user,
      database,
      sslmode: 'disable',
      connectionString: undefined,
      options: sessionOptions,
      ...given,
    };
  }

  /** @returns {net.Socket} a connection to the server */
  connect() {
    const { host, port } = new Client(this.#target);
    const target = host.startsWith('/')
      ? { path: path.join(host, `.s.PGSQL.${port}`) }
      : { host, port };
    return this.keep(net.connect({ ...target, allowHalfOpen: true }));
  }

  /** @param {net.Socket} socket */
  keep(socket) {
    this.#sockets.add(socket);
    socket.on('error', () => {});
    socket.on('close', () => this.#sockets.delete(socket));
    return socket;
  }

  /** New connections are refused; the others stay. */
  stopListening() {
    this.#closed ??= once(this.#server, 'close');
    this.#server.close();
  }

  /** Ends all that came through; others may come. */
  sever() {
    for (const socket of this.#sockets) socket.destroy();
  }

  async close() {
    this.sever();
    this.stopListening();
    await this.#closed;
  }
}

module.exports = { Relay };
