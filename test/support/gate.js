'use strict';

// A door between a driver and the run's server, which lets new connections through, keeps them
// waiting for ever, or turns them away. Those that are through stay so.

const { Relay } = require('./relay');

class Gate extends Relay {
  /** @type {'open' | 'silent' | 'closed'} */
  state = 'open';
  /** New connections so far. */
  count = 0;

  /** @param {import('node:net').Socket} socket */
  receive(socket) {
    ++this.count;
    if (this.state === 'closed') socket.resetAndDestroy();
    if (this.state !== 'open') return;
    const server = this.connect();
    socket.pipe(server).pipe(socket);
    socket.on('close', () => server.destroy());
    server.on('close', () => socket.destroy());
  }
}

module.exports = { Gate };
