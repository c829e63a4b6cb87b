'use strict';

// A proxy between a driver and a server, with the faults of networks: it delays, splits, throttles,
// holds back and cuts what passes (lane.js), and changes what the server says, message by message.

const { EventEmitter, once } = require('node:events');
const { Lane } = require('./lane');
const { Relay } = require('./relay');

/** Type and length of a message. */
const HEAD = 5;

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

/**
 * @typedef {object} Cut
 * @property {'toServer' | 'toDriver'} direction in which the bytes are counted
 * @property {number} afterBytes
 * @property {'FIN' | 'RST'} by what both sides see then
 */

/**
 * @typedef {object} Mute
 * @property {string | Buffer} at what the driver sends
 * @property {boolean} [reaches] the server gets it, and its answer is lost; else the piece with it is lost
 */

class Proxy extends Relay {
  /** Milliseconds that it keeps each piece, in either direction. */
  delayMillis = 0;
  /** Up to so many more, by chance; the order stays. */
  jitterMillis = 0;
  random = Math.random;
  /** No piece is larger; each is passed on in a turn of the event loop of its own. */
  pieceBytes = Infinity;
  /** In each direction of each connection. */
  bytesPerSecond = Infinity;
  /** What becomes of the next connection, once. @type {Cut | undefined} */
  cut = undefined;
  /**
   * What the driver gets for a message of the server. After `close` was called it is the last one.
   * @type {((type: string, bytes: Buffer, close: () => void) => Buffer) | undefined}
   */
  change = undefined;
  /** What the server gets for a piece that the driver sends. @type {((bytes: Buffer) => Buffer) | undefined} */
  changeRequest = undefined;
  /**
   * The first connection on which the driver sends this passes nothing from there on, and stays open;
   * once. @type {Mute | undefined}
   */
  mute = undefined;
  /** New connections so far. */
  count = 0;
  /** Bytes that have come so far, on all connections. */
  bytes = { toServer: 0, toDriver: 0 };
  isHeld = false;
  #releases = new EventEmitter().setMaxListeners(0);

  /** Nothing passes any more, on old and on new connections, and nothing is read; they stay. */
  hold() {
    this.isHeld = true;
  }

  /** Everything that was held back passes. */
  release() {
    this.isHeld = false;
    this.#releases.emit('release');
  }

  /** @param {AbortSignal} signal */
  async whenReleased(signal) {
    while (this.isHeld) await once(this.#releases, 'release', { signal });
  }

  /** @param {import('node:net').Socket} driver */
  receive(driver) {
    ++this.count;
    const server = this.connect();
    const { cut } = this;
    this.cut = undefined;
    const sever = () => {
      toServer.stop();
      toDriver.stop();
      for (const socket of [driver, server]) end(socket, cut?.by);
    };
    const allowed = (direction) => (cut?.direction === direction ? cut.afterBytes : Infinity);
    const toServer = new Lane(this, driver, server, allowed('toServer'), sever);
    const toDriver = new Lane(this, server, driver, allowed('toDriver'), sever);
    for (const [from, to, lane] of [
      [driver, server, toServer],
      [server, driver, toDriver],
    ]) {
      from.setNoDelay(true);
      from.on('end', () => lane.finish());
      from.on('close', () => {
        // After an orderly end what waits still passes.
        if (from.readableEnded && !to.writableEnded) return;
        toServer.stop();
        toDriver.stop();
        to.destroy();
      });
    }
    let isMute = false;
    driver.on('data', (bytes) => {
      if (isMute) return;
      const { mute } = this;
      if (mute !== undefined && bytes.includes(mute.at)) {
        this.mute = undefined;
        isMute = true;
        if (!mute.reaches) return;
      }
      this.bytes.toServer += bytes.length;
      toServer.take(this.changeRequest?.(bytes) ?? bytes);
    });
    const change = this.#changer(toDriver);
    server.on('data', (bytes) => {
      if (isMute) return;
      this.bytes.toDriver += bytes.length;
      change(bytes);
    });
    if (cut?.afterBytes === 0) sever();
  }

  /** @param {Lane} lane @returns {(bytes: Buffer) => void} */
  #changer(lane) {
    let rest = Buffer.alloc(0);
    /** Bytes of a message that passes as it is. */
    let plain = 0;
    let isLast = false;
    const close = () => {
      isLast = true;
    };
    return (bytes) => {
      if (isLast) return;
      rest = Buffer.concat([rest, bytes]);
      const passing = [];
      while (!isLast && rest.length > 0) {
        const size = plain || messageSize(rest);
        const isPlain = plain > 0 || this.change === undefined;
        if (size === Infinity || (!isPlain && size > rest.length)) break;
        const part = rest.subarray(0, size);
        rest = rest.subarray(part.length);
        plain = isPlain ? size - part.length : 0;
        passing.push(isPlain ? part : this.change(String.fromCharCode(part[0]), part, close));
      }
      lane.take(Buffer.concat(passing));
      if (isLast) lane.finish();
    };
  }
}

/** @param {import('node:net').Socket} socket @param {'FIN' | 'RST' | undefined} by */
function end(socket, by) {
  if (by !== 'RST') socket.end();
  // Unix sockets know no other end.
  else if (socket.remoteAddress === undefined) socket.destroy();
  else socket.resetAndDestroy();
}

/** @param {Buffer} bytes that begin with a message */
function messageSize(bytes) {
  return bytes.length < HEAD ? Infinity : bytes.readInt32BE(1) + 1;
}

module.exports = { Proxy, errorMessage, message };
