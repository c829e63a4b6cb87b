'use strict';

// The certificate that a server shows, whoever signed it: a handshake past the driver, which would refuse a bad one.

const { once } = require('node:events');
const net = require('node:net');
const tls = require('node:tls');

/** An SSLRequest of the protocol: its length, and a number that is no version. */
const SSL_REQUEST = Buffer.from([0, 0, 0, 8, 4, 210, 22, 47]);

/**
 * @typedef {object} Peek
 * @property {boolean} offered
 * @property {string | null} [protocol]
 * @property {string} [cipher]
 * @property {string} [subject]
 * @property {string} [issuer]
 * @property {string} [names] that it is for
 * @property {string} [validTo]
 */

/**
 * @param {import('./target').Server} server
 * @param {AbortSignal} signal
 * @returns {Promise<Peek>}
 */
async function peek({ host, address, port }, signal) {
  const socket = net.connect({ host: address || host, port: Number(port), signal });
  /** @type {tls.TLSSocket | undefined} */
  let secured;
  try {
    await once(socket, 'connect', { signal });
    socket.write(SSL_REQUEST);
    // Some close the connection instead.
    const closed = once(socket, 'close', { signal }).then(() => undefined);
    closed.catch(() => {});
    const answer = await Promise.race([once(socket, 'data', { signal }), closed]);
    if (answer === undefined) throw new Error('closed');
    if (String(answer[0]) !== 'S') return { offered: false };
    const servername = net.isIP(host) === 0 ? host : undefined;
    // Nothing is sent through it.
    secured = tls.connect({ socket, servername, rejectUnauthorized: false });
    await once(secured, 'secureConnect', { signal });
    const certificate = secured.getPeerCertificate();
    return {
      offered: true,
      protocol: secured.getProtocol(),
      cipher: secured.getCipher().name,
      subject: nameOf(certificate.subject),
      issuer: nameOf(certificate.issuer),
      names: certificate.subjectaltname,
      validTo: certificate.valid_to,
    };
  } finally {
    secured?.on('error', () => {}).destroy();
    socket.on('error', () => {}).destroy();
  }
}

/** @param {Record<string, any> | undefined} subject of a certificate */
function nameOf(subject) {
  return String(subject?.CN ?? subject?.O ?? 'nobody');
}

module.exports = { peek };
