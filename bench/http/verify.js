'use strict';

// One request of a route whose answer is compared with the tables, before the load. Called by
// workloads/w5-http.js, in the driver's process; get() by experiments/http-styles.js too.

const http = require('node:http');
const { FORTUNES, ROWS, SELECT_WORLD } = require('../tables');
const { fortunesPage } = require('./server');

/**
 * @param {string} url
 * @returns {Promise<string>} the body
 */
function get(url) {
  return new Promise((resolve, reject) => {
    const request = http.get(url, { agent: false }, (response) => {
      let body = '';
      response.setEncoding('utf8');
      response.on('data', (chunk) => {
        body += chunk;
      });
      response.on('end', () => {
        if (response.statusCode === 200) resolve(body);
        else reject(new Error(`${url} was answered with ${response.statusCode}`));
      });
    });
    request.on('error', reject);
  });
}

/**
 * @param {string} base address of the server
 * @param {string} route
 * @param {import('../drivers').Session} session to look at what the route has changed
 */
async function verifyRoute(base, route, session) {
  const body = await get(base + route);
  const wrong = new Error(`${route} brought ${body.slice(0, 200)}`);
  if (route === '/fortunes') {
    const fortunes = FORTUNES.map((message, index) => ({ id: index + 1, message }));
    if (body !== fortunesPage(fortunes)) throw wrong;
    return;
  }
  const count = Number(new URLSearchParams(route.split('?')[1]).get('n'));
  /** @type {import('./server').World[]} */
  const worlds = count > 0 ? JSON.parse(body) : [JSON.parse(body)];
  if (worlds.length !== Math.max(1, count)) throw wrong;
  for (const { id, randomnumber } of worlds) {
    if (![id, randomnumber].every((n) => Number.isInteger(n) && n >= 1 && n <= ROWS)) throw wrong;
    const [found] = await session.query(SELECT_WORLD, [id]);
    // The same id may have been updated twice, in any order.
    const told = worlds.filter((world) => world.id === id).map((world) => world.randomnumber);
    if (!told.includes(found.randomnumber)) {
      throw new Error(`${route} told ${told} of row ${id}, which holds ${found.randomnumber}`);
    }
  }
}

module.exports = { get, verifyRoute };
