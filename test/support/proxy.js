'use strict';

// A proxy between a driver and the run's server: it delays, or reads and changes what the server
// says, message by message.

const { once } = require('node:events');
const net = require('node:net');
const path = require('node:path');
const { Client } = require('../..');
const { connectionString, options } = require('./connect');
const { listen } = require('./ports');

/** Type and length of a message. */
const HEAD = 5;

/** @returns {net.NetConnectOpts} where the run's server listens */
function target() {
  const { host, port } = new Client(connectionString());
  return host.startsWith('/') ? { path: path.join(host, `.s.PGSQL.${port}`) } : { host, port };
}

/**
 * A message of the server.
 * @param {string} type one letter
 * @param {Buffer} [body]
 */
function message(type, body = Buffer.alloc(0)) {
  const head = Buffer.alloc(HEAD);
  head.write(type, 'latin1');
  head.writeInt32BE(body.length + 4, 1);
  return Buffer.concat([head, body]);
}

/** @param {Record<string, string>} fields by their letters */
function errorMessage(fields) {
  const texts = Object.entries(fields).map(([letter, text]) => Buffer.from(`${letter}${text}\0`));
  return message('E', Buffer.concat([...texts, Buffer.alloc(1)]));
}

class Proxy {
  /** Milliseconds that it keeps each piece, in either direction. */
  delayMillis = 0;
  /**
   * What the driver gets for a message of the server. After `close` was called it is the last one.
   * @type {(type: string, bytes: Buffer, close: () => void) => Buffer}
   */
  change = (type, bytes) => bytes;
  /** @type {Set<net.Socket>} */
  #sockets = new Set();
  #server = net.createServer((socket) => this.#join(socket));

  static async open() {
    const proxy = new Proxy();
    proxy.port = await listen(proxy.#server);
    return proxy;
  }

  /** @param {Record<string, any>} [given] @returns options of a pool behind it */
  options(given) {
    const { user, database } = new Client(connectionString());
    const { options: sessionOptions } = options();
    return {
      host: '127.0.0.1',
      port: this.port,
      user,
      database,
      sslmode: 'disable',
      options: sessionOptions,
      ...given,
    };
  }

  async close() {
    for (const socket of this.#sockets) socket.destroy();
    this.#server.close();
    await once(this.#server, 'close');
  }

  /** @param {net.Socket} driver */
  #join(driver) {
    const server = net.connect(target());
    let rest = Buffer.alloc(0);
    const send = (to, bytes) => {
      if (this.delayMillis === 0) to.write(bytes);
      else setTimeout(() => to.write(bytes), this.delayMillis);
    };
    for (const socket of [driver, server]) {
      this.#sockets.add(socket);
      socket.setNoDelay(true);
      socket.on('error', () => {});
      socket.on('close', () => {
        this.#sockets.delete(socket);
        driver.destroy();
        server.destroy();
      });
    }
    driver.on('data', (bytes) => send(server, bytes));
    const read = (bytes) => {
      rest = Buffer.concat([rest, bytes]);
      const changed = [];
      let isLast = false;
      const close = () => {
        isLast = true;
      };
      for (let end = messageEnd(rest); !isLast && end <= rest.length; end = messageEnd(rest)) {
        changed.push(this.change(String.fromCharCode(rest[0]), rest.subarray(0, end), close));
        rest = rest.subarray(end);
      }
      if (changed.length > 0) send(driver, Buffer.concat(changed));
      if (!isLast) return;
      server.off('data', read);
      server.resume();
      driver.end();
    };
    server.on('data', read);
  }
}

/** @param {Buffer} bytes that begin with a message */
function messageEnd(bytes) {
  return bytes.length < HEAD ? Infinity : bytes.readInt32BE(1) + 1;
}

module.exports = { Proxy, errorMessage, message };
