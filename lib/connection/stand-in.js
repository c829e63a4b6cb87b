'use strict';

// Makes open connections appear in process.getActiveResourcesInfo(), where people look first when a
// process does not end. Node.js lists only its own handles, and libpq's sockets are none. So one
// more socket of the same family is opened, connected to nothing and idle, and referenced while any
// connection keeps the process alive. All connections share it, since opening one is a noticeable
// part of the cost of a connection. Each connection has a StandIn; owned by lifecycle.js.

const fs = require('node:fs');
const net = require('node:net');
const { binding } = require('../native');

/** The same on all platforms. */
const AF_UNIX = 1;

/** @type {Map<number, SharedSocket>} by socket family */
const sockets = new Map();

class SharedSocket {
  #family;
  /** Connections that it stands for. */
  count = 0;
  /** @type {net.Socket | undefined} */
  #socket = undefined;

  /** @param {number} family */
  constructor(family) {
    this.#family = family;
  }

  hold() {
    if (++this.count > 1) return;
    // The application may have closed everything that is listed.
    if (this.#socket === undefined || this.#socket.destroyed) this.#socket = open(this.#family);
    this.#socket?.ref();
  }

  get isOpen() {
    return this.#socket !== undefined && !this.#socket.destroyed;
  }

  /** The socket stays open, to be referenced again. */
  letGo() {
    if (--this.count === 0) this.#socket?.unref();
  }
}

/**
 * @param {number} family
 * @returns {net.Socket | undefined} nothing if it cannot be opened, which does little harm
 */
function open(family) {
  const fd = binding.openSocket(family);
  if (fd < 0) return undefined;
  try {
    return new net.Socket({ fd, readable: false, writable: false });
  } catch {
    fs.closeSync(fd);
    return undefined;
  }
}

/** The stand-in of one connection. */
class StandIn {
  #shared;
  #isHeld = false;

  /** @param {number} family of the connection's socket */
  constructor(family) {
    let shared = sockets.get(family);
    if (shared === undefined) {
      shared = new SharedSocket(family);
      sockets.set(family, shared);
    }
    this.#shared = shared;
  }

  /** @param {boolean} isAlive whether the connection keeps the process alive */
  show(isAlive) {
    if (isAlive === this.#isHeld) return;
    this.#isHeld = isAlive;
    if (isAlive) this.#shared.hold();
    else this.#shared.letGo();
  }
}

/** What is listed now. */
function countShown() {
  let connections = 0;
  let tcpSockets = 0;
  for (const [family, { count }] of sockets) {
    connections += count;
    if (count > 0 && family !== AF_UNIX) ++tcpSockets;
  }
  return { connections, tcpSockets };
}

/** For tests that count descriptors: these sockets stay open until the process ends. */
function countSockets() {
  return [...sockets.values()].filter(({ isOpen }) => isOpen).length;
}

module.exports = { StandIn, countShown, countSockets };
