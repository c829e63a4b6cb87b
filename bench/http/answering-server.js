'use strict';

// An HTTP server of which each request is answered by answer(), for a load that is all answered before it ends. The base of
// the servers of W5 and of the experiment http-styles; runs in the driver's process.

const { once } = require('node:events');
const http = require('node:http');
const { setTimeout: delay } = require('node:timers/promises');

class AnsweringServer {
  #inFlight = 0;
  #server = http.createServer((request, response) => this.#take(request, response));
  /** @type {Error | undefined} the first one, of which the client sees a 500 only */
  error;
  url = '';

  /**
   * @param {http.IncomingMessage} _request
   * @param {http.ServerResponse} _response
   * @returns {Promise<void>}
   */
  async answer(_request, _response) {
    throw new Error('A server must say what it answers');
  }

  async start() {
    this.#server.listen(0, '127.0.0.1');
    await once(this.#server, 'listening');
    const { port } = /** @type {import('node:net').AddressInfo} */ (this.#server.address());
    this.url = `http://127.0.0.1:${port}`;
  }

  /** A load that ends leaves requests behind that nobody waits for. */
  async settle() {
    while (this.#inFlight > 0) await delay(1);
  }

  async end() {
    await this.settle();
    this.#server.closeAllConnections();
    this.#server.close();
  }

  /**
   * @param {http.IncomingMessage} request
   * @param {http.ServerResponse} response
   */
  async #take(request, response) {
    this.#inFlight++;
    try {
      await this.answer(request, response);
    } catch (error) {
      this.error ??= /** @type {Error} */ (error);
      if (response.headersSent) response.destroy();
      else response.writeHead(500).end();
    } finally {
      this.#inFlight--;
    }
  }
}

/**
 * @param {http.ServerResponse} response
 * @param {string} body
 * @param {string} type
 */
function sendBody(response, body, type) {
  response.writeHead(200, { 'content-type': type, 'content-length': Buffer.byteLength(body) });
  response.end(body);
}

module.exports = { AnsweringServer, sendBody };
