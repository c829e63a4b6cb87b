'use strict';

// A proxy between a driver and the run's server: it delays, or reads and changes what the server
// says, message by message.

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

class Proxy extends Relay {
  /** Milliseconds that it keeps each piece, in either direction. */
  delayMillis = 0;
  /**
   * What the driver gets for a message of the server. After `close` was called it is the last one.
   * @type {(type: string, bytes: Buffer, close: () => void) => Buffer}
   */
  change = (type, bytes) => bytes;
  /** @param {import('node:net').Socket} driver */
  receive(driver) {
    const server = this.connect();
    let rest = Buffer.alloc(0);
    const send = (to, bytes) => {
      if (this.delayMillis === 0) to.write(bytes);
      else setTimeout(() => to.write(bytes), this.delayMillis);
    };
    for (const socket of [driver, server]) {
      socket.setNoDelay(true);
      socket.on('close', () => {
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
