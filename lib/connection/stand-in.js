'use strict';

// What Node.js lists in process.getActiveResourcesInfo() for open connections, where whoever wonders why a process
// does not end looks first. It knows handles of its own only, and libpq's sockets are none. So there is one more
// socket of the same kind, connected to nothing and without anything to do, which is referenced while any connection
// keeps the process alive: one for all of them, since making one costs a part of what a connection does. Each
// connection has a StandIn of its own; owned by connection.js.

const fs = require('node:fs');
const net = require('node:net');
const { binding } = require('../native');

/** Everywhere. */
const AF_UNIX = 1;

/** @type {Map<number, SharedSocket>} by the family of sockets */
const sockets = new Map();

class SharedSocket {
  #family;
  /** Connections that it is listed for. */
  count = 0;
  /** @type {net.Socket | undefined} */
  #socket = undefined;

  /** @param {number} family */
  constructor(family) {
    this.#family = family;
  }

  hold() {
    if (++this.count > 1) return;
    // Somebody may have closed all that is listed.
    if (this.#socket === undefined || this.#socket.destroyed) this.#socket = open(this.#family);
    this.#socket?.ref();
  }

  get isOpen() {
    return this.#socket !== undefined && !this.#socket.destroyed;
  }

  /** It stays, to be referenced again. */
  letGo() {
    if (--this.count === 0) this.#socket?.unref();
  }
}

/**
 * @param {number} family
 * @returns {net.Socket | undefined} nothing where it cannot be had: it does not matter that much
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

/** That of one connection. */
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

/** For tests that count descriptors: these stay until the process ends. */
function countSockets() {
  return [...sockets.values()].filter(({ isOpen }) => isOpen).length;
}

module.exports = { StandIn, countShown, countSockets };
