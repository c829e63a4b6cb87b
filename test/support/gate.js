'use strict';

// A door between a driver and the run's server, which lets new connections through, keeps them
// waiting for ever, or turns them away. Those that are through stay so.

const { once } = require('node:events');
const net = require('node:net');
const path = require('node:path');
const { Client } = require('../..');
const { SCHEMA, connectionString } = require('./connect');
const { listen } = require('./ports');

class Gate {
  /** @type {'open' | 'silent' | 'closed'} */
  state = 'open';
  /** New connections so far. */
  count = 0;
  /** @type {Set<net.Socket>} */
  #sockets = new Set();
  #server = net.createServer((socket) => this.#receive(socket));

  static async open() {
    const gate = new Gate();
    gate.port = await listen(gate.#server);
    return gate;
  }

  /** @param {Record<string, any>} [given] */
  options(given) {
    const { user, database } = new Client(connectionString());
    return {
      host: '127.0.0.1',
      port: this.port,
      user,
      database,
      sslmode: 'disable',
      connectionString: undefined,
      options: `-c search_path=${SCHEMA},public`,
      ...given,
    };
  }

  async close() {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
    await once(this.#server, 'close');
  }

  /** @param {net.Socket} socket */
  #receive(socket) {
    ++this.count;
    this.#keep(socket);
    if (this.state === 'closed') socket.resetAndDestroy();
    if (this.state !== 'open') return;
    const { host, port } = new Client(connectionString());
    const server = net.connect(
      host.startsWith('/') ? { path: path.join(host, `.s.PGSQL.${port}`) } : { host, port },
    );
    this.#keep(server);
    socket.pipe(server).pipe(socket);
    socket.on('close', () => server.destroy());
    server.on('close', () => socket.destroy());
  }

  /** @param {net.Socket} socket */
  #keep(socket) {
    this.#sockets.add(socket);
    socket.on('error', () => {});
    socket.on('close', () => this.#sockets.delete(socket));
  }
}

module.exports = { Gate };
