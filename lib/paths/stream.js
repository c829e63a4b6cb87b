'use strict';

// `pg/lib/stream` where this package replaces `pg`: sockets as `pg` makes them. The driver's own are libpq's.

const net = require('node:net');
const tls = require('node:tls');

/** @returns {net.Socket} not connected */
function getStream() {
  return new net.Socket();
}

/** @param {tls.ConnectionOptions} options */
function getSecureStream(options) {
  return tls.connect(options);
}

module.exports = { getStream, getSecureStream };
