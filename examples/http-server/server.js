'use strict';

// An HTTP server that answers each request from the database: what pg-conduit is for. All handlers await
// the same pool. Called by start.js with a pool of pg-conduit, where their queries share its few connections, and by
// peer.js with one of pg; the tables of tables.js are in place.

const http = require('node:http');
const { SCHEMA, WORLD_ROWS } = require('./tables');

const SELECT_WORLD = `select id, randomnumber from ${SCHEMA}.world where id = $1`;
const UPDATE_WORLD = `update ${SCHEMA}.world set randomnumber = $2 where id = $1`;
const SELECT_FORTUNES = `select id, message from ${SCHEMA}.fortune`;

/** @typedef {{ id: number, randomnumber: number }} World */

/** A pool of pg-conduit, or of pg. @typedef {{ query(text: string, values?: unknown[]): Promise<{ rows: any[] }> }} Pool */

/**
 * @param {Pool} pool
 * @param {object} [options]
 * @param {(error: Error) => void} [options.onError] hears of what the client only sees as a 500
 * @param {{ answer: (request: http.IncomingMessage, response: http.ServerResponse, url: URL) => boolean }}
 *   [options.livePage] shows how the pool is doing, under /
 */
function createServer(pool, { onError = logOnce(), livePage } = {}) {
  /** @type {Record<string, (url: URL) => Promise<{ type: string, body: string }>>} */
  const routes = {
    '/db': async () => json(await selectWorld(pool, randomId())),
    '/queries': async (url) => json(await selectWorlds(pool, readCount(url))),
    '/updates': async (url) => json(await updateWorlds(pool, readCount(url))),
    '/fortunes': async () => html(await fortunesPage(pool)),
  };

  return http.createServer(async (request, response) => {
    try {
      const url = new URL(request.url || '/', 'http://localhost');
      if (livePage?.answer(request, response, url)) return;
      const route = Object.hasOwn(routes, url.pathname) ? routes[url.pathname] : undefined;
      if (route) send(response, 200, await route(url));
      else send(response, 404, json({ error: 'Not found', routes: Object.keys(routes) }));
    } catch (error) {
      // The text of a database error may tell too much: it is for the log.
      send(response, 500, json({ error: 'Internal server error' }));
      onError(/** @type {Error} */ (error));
    }
  });
}

/**
 * @param {Pool} pool
 * @param {number} id
 * @returns {Promise<World>}
 */
async function selectWorld(pool, id) {
  const { rows } = await pool.query(SELECT_WORLD, [id]);
  return rows[0];
}

/**
 * @param {Pool} pool
 * @param {number} count
 */
function selectWorlds(pool, count) {
  return Promise.all(Array.from({ length: count }, () => selectWorld(pool, randomId())));
}

/**
 * @param {Pool} pool
 * @param {number} count
 */
async function updateWorlds(pool, count) {
  const worlds = await selectWorlds(pool, count);
  // One row a statement, in the order of ids: whoever locks several rows locks them in the order
  // that everybody else does, and nobody deadlocks.
  worlds.sort((a, b) => a.id - b.id);
  for (const world of worlds) world.randomnumber = randomId();
  await Promise.all(
    worlds.map((world) => pool.query(UPDATE_WORLD, [world.id, world.randomnumber])),
  );
  return worlds;
}

/** @param {Pool} pool */
async function fortunesPage(pool) {
  const { rows } = await pool.query(SELECT_FORTUNES);
  rows.push({ id: 0, message: 'Additional fortune added at request time.' });
  rows.sort((a, b) => (a.message < b.message ? -1 : 1));
  const lines = rows.map(
    ({ id, message }) => `<tr><td>${id}</td><td>${escapeHtml(message)}</td></tr>`,
  );
  return (
    '<!DOCTYPE html><html><head><title>Fortunes</title></head><body><table>' +
    `<tr><th>id</th><th>message</th></tr>${lines.join('')}</table></body></html>`
  );
}

/**
 * Each message once: a database that went away would fill the screen.
 * @returns {(error: Error) => void}
 */
function logOnce() {
  const seen = new Set();
  return (error) => {
    if (seen.has(error.message)) return;
    seen.add(error.message);
    console.error(error);
  };
}

function randomId() {
  return 1 + Math.floor(Math.random() * WORLD_ROWS);
}

/** @param {URL} url */
function readCount(url) {
  const count = Math.trunc(Number(url.searchParams.get('n')));
  return Math.min(500, Math.max(1, count || 1));
}

/** @param {string} text */
function escapeHtml(text) {
  /** @type {Record<string, string>} */
  const entities = { '&': '&amp;', '<': '&lt;', '>': '&gt;', '"': '&quot;', "'": '&#39;' };
  return text.replace(/[&<>"']/g, (character) => entities[character] ?? '');
}

/** @param {unknown} value */
function json(value) {
  return { type: 'application/json', body: JSON.stringify(value) };
}

/** @param {string} body */
function html(body) {
  return { type: 'text/html; charset=utf-8', body };
}

/**
 * @param {http.ServerResponse} response
 * @param {number} status
 * @param {{ type: string, body: string }} content
 */
function send(response, status, { type, body }) {
  response.writeHead(status, { 'content-type': type, 'content-length': Buffer.byteLength(body) });
  response.end(body);
}

module.exports = { createServer, logOnce };
