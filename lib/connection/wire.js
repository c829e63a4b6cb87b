'use strict';

// Makes the stream to the server that stands behind a pump, as `pg` does: what the option `stream` gives, or a socket of
// Node.js, and TLS over it where it is wanted. Used by socket-pump.js.

const net = require('node:net');
const tls = require('node:tls');
const { ConnectionError, Deferred } = require('../base');

/**
 * @typedef {import('node:stream').Duplex} Duplex
 *
 * @typedef {object} Target
 * @property {((config: object) => any) | object | undefined} stream the option; none: a socket of Node.js
 * @property {string} host a name, an address, or the folder of a unix socket
 * @property {number} port
 * @property {Record<string, any> | undefined} ssl for tls.connect(); none: no TLS
 * @property {boolean} isDirect TLS begins at once
 * @property {boolean} hasKeepAlive
 * @property {number} keepAliveMillis
 */

/** Length and code of SSLRequest. */
const SSL_REQUEST = Buffer.from([0, 0, 0, 8, 4, 210, 22, 47]);

/** Streams that lead to a session, or have: a second one would write into it. @type {WeakSet<object>} */
const used = new WeakSet();

/**
 * @param {Target} target
 * @param {(stream: Duplex) => void} onMade is given each stream before anything happens on it
 * @returns {Promise<Duplex>} that the server's messages come on
 */
async function openWire(target, onMade) {
  const { host, ssl, isDirect } = target;
  const raw = makeStream(target);
  onMade(raw);
  raw.unref?.();
  await connect(raw, target);
  if (ssl === undefined) return raw;
  if (!isDirect) await askForTls(raw);
  return secure(raw, { host, ssl, isDirect }, onMade);
}

/** @param {Target} target @returns {any} */
function makeStream({ stream, host, port, ssl }) {
  if (stream === undefined) return new net.Socket();
  const raw = /** @type {any} */ (
    typeof stream === 'function' ? stream({ host, port, ssl: ssl ?? false }) : stream
  );
  if (typeof raw?.pipe !== 'function' || typeof raw.write !== 'function') {
    throw new ConnectionError('the option "stream" must give a Duplex stream', {
      hint: 'for a stream that is made asynchronously give a Duplex that waits for it',
    });
  }
  if (used.has(raw)) {
    throw new ConnectionError('the option "stream" has given a stream that was used before', {
      hint: 'give a function that makes a stream for each connection and each request to cancel',
    });
  }
  used.add(raw);
  return raw;
}

/** @param {any} raw @param {Target} target */
async function connect(raw, { host, port, hasKeepAlive, keepAliveMillis }) {
  // A stream without this is connected, such as the channel of an ssh tunnel; and so may be a socket.
  if (typeof raw.connect !== 'function' || raw.pending === false) return;
  raw.setNoDelay?.(true);
  await happens(raw, 'connect', () => {
    if (host.startsWith('/')) raw.connect(`${host}/.s.PGSQL.${port}`);
    else raw.connect(port, host);
  });
  if (hasKeepAlive) raw.setKeepAlive?.(true, keepAliveMillis);
}

/** @param {Duplex} raw */
async function askForTls(raw) {
  const answer = await happens(raw, 'data', () => raw.write(SSL_REQUEST));
  raw.pause();
  // What follows the S in clear might be somebody else's.
  if (answer.length === 1 && answer[0] === 0x53) return;
  const isNo = answer.length === 1 && answer[0] === 0x4e;
  throw new ConnectionError(
    isNo
      ? 'The server does not support SSL connections'
      : 'There was an error establishing an SSL connection',
    { code: 'ERR_PG_CONDUIT_TLS' },
  );
}

/**
 * @param {Duplex} raw
 * @param {{ host: string, ssl: Record<string, any>, isDirect: boolean }} how
 * @param {(stream: Duplex) => void} onMade
 */
async function secure(raw, { host, ssl, isDirect }, onMade) {
  const name = ssl.servername ?? host;
  const secured = tls.connect({
    host: name,
    ...ssl,
    socket: raw,
    // No address may stand there (RFC 6066).
    servername: net.isIP(name) === 0 ? name : undefined,
    ...(isDirect && { ALPNProtocols: ['postgresql'] }),
  });
  onMade(secured);
  await happens(secured, 'secureConnect', () => {});
  return secured;
}

/**
 * @param {Duplex} stream
 * @param {string} event
 * @param {() => void} begin
 * @returns {Promise<any>} rejects if it fails or closes before
 */
async function happens(stream, event, begin) {
  const happened = new Deferred();
  const onEvent = (/** @type {any} */ value) => happened.resolve(value);
  const onError = (/** @type {Error} */ error) => happened.reject(error);
  const onClose = () => happened.reject(new ConnectionError('Connection terminated unexpectedly'));
  stream.once(event, onEvent).once('error', onError).once('close', onClose).once('end', onClose);
  try {
    begin();
    return await happened.promise;
  } finally {
    stream.off(event, onEvent).off('error', onError).off('close', onClose).off('end', onClose);
  }
}

module.exports = { openWire };
