'use strict';

// Places to connect to that are not PostgreSQL: ports of a test's own server, ports and a folder
// where nobody listens.

const { once } = require('node:events');
const net = require('node:net');
const path = require('node:path');

/** A folder for a socket, which is not there. */
const NOWHERE = path.join(__dirname, 'no-such-folder');

/** @param {net.Server} server @returns {Promise<number>} its port */
async function listen(server, port = 0) {
  server.listen(port, '127.0.0.1');
  await once(server, 'listening');
  return server.address().port;
}

/** @returns {Promise<number>} a port on which nobody listens */
async function deadPort() {
  const server = net.createServer();
  const port = await listen(server);
  server.close();
  await once(server, 'close');
  return port;
}

module.exports = { NOWHERE, deadPort, listen };
