'use strict';

// The HTTP server that W5 loads, with routes as in the TechEmpower benchmarks, on any driver's session.
// Runs in the driver's process; started by workloads/w5-http.js.

const { newRandom } = require('../measure');
const { ROWS, SELECT_FORTUNES, SELECT_WORLD, UPDATE_WORLD } = require('../tables');
const { AnsweringServer, sendBody } = require('./answering-server');

const ADDED_FORTUNE = { id: 0, message: 'Additional fortune added at request time.' };

/** @type {Record<string, string>} */
const ENTITIES = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };

/**
 * @typedef {import('../drivers').Session} Session
 * @typedef {{ id: number, randomnumber: number }} World
 * @typedef {{ id: number, message: string }} Fortune
 */

class Server extends AnsweringServer {
  #session;
  #random = newRandom(5);

  /** @type {Record<string, (count: number) => Promise<string>>} */
  #routes = {
    '/db': async () => JSON.stringify(await this.#selectWorld()),
    '/queries': async (count) => JSON.stringify(await this.#selectWorlds(count)),
    '/updates': async (count) => JSON.stringify(await this.#updateWorlds(count)),
    '/fortunes': async () => fortunesPage(await this.#session.query(SELECT_FORTUNES, [])),
  };

  /** @param {Session} session */
  constructor(session) {
    super();
    this.#session = session;
  }

  /**
   * @param {import('node:http').IncomingMessage} request
   * @param {import('node:http').ServerResponse} response
   */
  async answer(request, response) {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://localhost');
    const isPage = pathname === '/fortunes';
    const body = await this.#routes[pathname](Number(searchParams.get('n')));
    sendBody(response, body, isPage ? 'text/html; charset=utf-8' : 'application/json');
  }

  #randomId() {
    return 1 + Math.floor(this.#random() * ROWS);
  }

  /** @returns {Promise<World>} */
  async #selectWorld() {
    const [world] = await this.#session.query(SELECT_WORLD, [this.#randomId()]);
    return world;
  }

  /** @param {number} count */
  #selectWorlds(count) {
    return Promise.all(Array.from({ length: count }, () => this.#selectWorld()));
  }

  /** @param {number} count */
  async #updateWorlds(count) {
    const worlds = await this.#selectWorlds(count);
    // A driver may put several updates into one transaction: all lock in the same order.
    worlds.sort((a, b) => a.id - b.id);
    for (const world of worlds) world.randomnumber = this.#randomId();
    await Promise.all(
      worlds.map(({ id, randomnumber }) => this.#session.query(UPDATE_WORLD, [id, randomnumber])),
    );
    return worlds;
  }
}

/** @param {Fortune[]} fortunes as the table has them */
function fortunesPage(fortunes) {
  const all = [...fortunes, ADDED_FORTUNE].sort((a, b) => (a.message < b.message ? -1 : 1));
  const lines = all.map(
    ({ id, message }) => `<tr><td>${id}</td><td>${escapeHtml(message)}</td></tr>`,
  );
  return (
    '<!DOCTYPE html><html><head><title>Fortunes</title></head><body><table>' +
    `<tr><th>id</th><th>message</th></tr>${lines.join('')}</table></body></html>`
  );
}

/** @param {string} text */
function escapeHtml(text) {
  return text.replace(/[&<>"']/g, (character) => ENTITIES[character]);
}

module.exports = { Server, fortunesPage };
