'use strict';

// The time between Terminate and the end of the session: the server still counts it, for the limits of roles and for
// DROP DATABASE, until it has closed its side of the socket, too. Made by lifecycle.js.

const fs = require('node:fs');
const net = require('node:net');

/** Behind a network that is down nobody says that the session has ended. */
const PATIENCE_MILLIS = 2000;

class Farewell {
  /** Resolves when the session has ended; at once if that cannot be known. @type {Promise<void>} */
  done = Promise.resolve();
  /** @type {net.Socket | undefined} */
  #socket;

  /**
   * @param {number} fd of the socket, and closed here; -1 if there is none
   * @param {boolean} isRef whether the process is to stay alive until then
   */
  constructor(fd, isRef) {
    const socket = open(fd);
    this.#socket = socket;
    if (socket === undefined) return;
    const timer = setTimeout(() => socket.destroy(), PATIENCE_MILLIS).unref();
    socket.on('error', () => {});
    this.done = new Promise((resolve) => {
      socket.on('close', () => {
        clearTimeout(timer);
        resolve(undefined);
      });
    });
    // Some servers wait for the end of the stream; with TLS there are last messages.
    socket.end();
    socket.resume();
    this.setLoopRef(isRef);
  }

  /** @param {boolean} ref */
  setLoopRef(ref) {
    if (ref) this.#socket?.ref();
    else this.#socket?.unref();
  }
}

/** @param {number} fd @returns {net.Socket | undefined} */
function open(fd) {
  if (fd < 0) return undefined;
  try {
    return new net.Socket({ fd });
  } catch {
    // Not every runtime takes a socket by its number.
    fs.closeSync(fd);
    return undefined;
  }
}

module.exports = { Farewell, PATIENCE_MILLIS };
