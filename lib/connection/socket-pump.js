'use strict';

// For sockets that are not libpq's own: the option `stream`, and TLS with what only Node.js has (`ssl.checkServerIdentity`,
// `pfx`, …). libpq connects to a unix socket in a folder that only this user may enter, and what comes there is passed on to
// the stream, and back, with back-pressure. Requests to cancel come there as connections of their own. A pump belongs to
// one connection; made by handshake.js, closed by lifecycle.js.

const { once } = require('node:events');
const fs = require('node:fs');
const net = require('node:net');
const os = require('node:os');
const path = require('node:path');
const { isNativeError } = require('node:util/types');
const { causeOf, ConnectionError, messageOf } = require('../base');
const { PATIENCE_MILLIS } = require('./farewell');
const { openWire } = require('./wire');

/** In the name of the unix socket, which libpq makes of it. */
const PORT = 1;

/** Folders to be removed when the process exits. @type {Set<string>} */
const folders = new Set();

function removeFolders() {
  for (const folder of folders) removeFolder(folder);
}

/** @param {string} folder */
function removeFolder(folder) {
  if (!folders.delete(folder)) return;
  if (folders.size === 0) process.removeListener('exit', removeFolders);
  fs.rmSync(folder, { recursive: true, force: true });
}

/** @param {string} folder */
function keepFolder(folder) {
  if (folders.size === 0) process.once('exit', removeFolders);
  folders.add(folder);
}

class SocketPump {
  #target;
  #onFailed;
  /** libpq closes its half first; what the server says then still comes. */
  #server = net.createServer({ allowHalfOpen: true }, (local) => this.#accept(local));
  #folder = '';
  #isClosed = false;
  /** @type {Set<import('node:stream').Duplex>} */
  #open = new Set();
  #hasAccepted = false;
  /** @type {NodeJS.Timeout | undefined} */
  #patience = undefined;

  /**
   * @param {import('./wire').Target} target
   * @param {(error: Error) => void} onFailed the stream of the connection has failed, or could not be made
   */
  constructor(target, onFailed) {
    this.#target = target;
    this.#onFailed = onFailed;
    // libpq's own socket keeps the process alive, or does not.
    this.#server.unref();
    // There may be no file descriptor left for what libpq has opened.
    this.#server.on('error', (error) => {
      if (!this.#hasAccepted && !this.#isClosed) this.#onFailed(streamError(error));
    });
  }

  /** @returns {Promise<Record<string, string>>} the keywords of libpq that lead here */
  async listen() {
    this.#folder = fs.mkdtempSync(path.join(os.tmpdir(), 'pg-conduit-socket-'));
    keepFolder(this.#folder);
    // In a worker of node:cluster, too, it is this process that listens.
    this.#server.listen({ path: path.join(this.#folder, `.s.PGSQL.${PORT}`), exclusive: true });
    await once(this.#server, 'listening');
    return { host: this.#folder, port: String(PORT), sslmode: 'disable', gssencmode: 'disable' };
  }

  /** @param {net.Socket} local from libpq */
  #accept(local) {
    const isMain = !this.#hasAccepted;
    this.#hasAccepted = true;
    local.unref();
    this.#add(local);
    // Nothing is lost meanwhile: what comes waits in the socket.
    /** @type {import('node:stream').Duplex[]} */
    const made = [];
    const onMade = (/** @type {import('node:stream').Duplex} */ stream) => {
      made.push(stream);
      this.#add(stream);
    };
    openWire(this.#target, onMade).then(
      (wire) => this.#join(local, wire, isMain),
      (error) => {
        for (const stream of made) stream.destroy();
        if (isMain) this.#fail(error, local);
        else refuseCancel(local);
      },
    );
  }

  /** @param {import('node:stream').Duplex} stream */
  #add(stream) {
    this.#open.add(stream);
    stream.once('close', () => {
      this.#open.delete(stream);
      if (this.#open.size === 0) clearTimeout(this.#patience);
    });
    // Told by those who wait for it; without a listener it would end the process.
    stream.on('error', () => {});
    if (this.#isClosed) stream.destroy();
  }

  /**
   * @param {net.Socket} local
   * @param {import('node:stream').Duplex} wire
   * @param {boolean} isMain
   */
  #join(local, wire, isMain) {
    wire.on('error', (error) => (isMain ? this.#fail(error, local) : local.destroy()));
    // What has come is passed on before the other side is closed.
    wire.once('close', () => local.end());
    local.once('close', () => wire.end(() => wire.destroy()));
    local.pipe(wire);
    wire.pipe(local);
  }

  /** @param {unknown} error @param {net.Socket} local */
  #fail(error, local) {
    if (!this.#isClosed) this.#onFailed(streamError(error));
    local.destroy();
  }

  /** What libpq has sent before still goes out. */
  close() {
    if (this.#isClosed) return;
    this.#isClosed = true;
    this.#server.close();
    removeFolder(this.#folder);
    if (this.#open.size === 0) return;
    // Until what was sent last is out, or cannot get out. What keeps the process alive until then is the streams.
    for (const stream of this.#open) /** @type {any} */ (stream).ref?.();
    this.#patience = setTimeout(() => this.#destroyAll(), PATIENCE_MILLIS).unref();
  }

  /** The connection was given up before it was made. */
  destroy() {
    this.close();
    this.#destroyAll();
  }

  #destroyAll() {
    for (const stream of this.#open) stream.destroy();
  }
}

/**
 * It has certainly not reached the server. If its connection only ended, libpq would take it for done; an answer is an
 * error to it.
 * @param {net.Socket} local
 */
function refuseCancel(local) {
  local.end('E').resume();
}

/** @param {unknown} thrown by the stream, or by the function that makes it */
function streamError(thrown) {
  if (thrown instanceof ConnectionError) return thrown;
  const { code, errno, syscall, address, port } = isNativeError(thrown)
    ? /** @type {any} */ (thrown)
    : {};
  return new ConnectionError(messageOf(thrown), {
    code: typeof code === 'string' ? code : undefined,
    errno,
    syscall,
    address,
    port,
    cause: causeOf(thrown),
  });
}

module.exports = { SocketPump };
