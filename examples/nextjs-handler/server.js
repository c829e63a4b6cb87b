'use strict';

// Stands in for a development server: loads the modules of this folder anew for each request, as one
// does after each edit, and hands requests of the web to route.js.
// node examples/nextjs-handler/server.js

const { once } = require('node:events');
const http = require('node:http');
const path = require('node:path');
const { listen, onStop, openPlayground } = require('../playground');

const TABLES = 'create table note (id serial primary key, body text not null);';

/** @returns {Record<string, (request: Request) => Promise<Response>>} */
function loadRouteAnew() {
  for (const file of Object.keys(require.cache)) {
    if (path.dirname(file) === __dirname && file !== __filename) delete require.cache[file];
  }
  return require('./route');
}

/** @param {http.IncomingMessage} incoming @param {http.ServerResponse} outgoing */
async function answer(incoming, outgoing) {
  const { method = 'GET', url = '/' } = incoming;
  const chunks = await incoming.toArray();
  const init = chunks.length > 0 ? { method, body: Buffer.concat(chunks) } : { method };
  const handler = url === '/api/notes' ? loadRouteAnew()[method] : undefined;
  const response = handler
    ? await handler(new Request(`http://localhost${url}`, init))
    : Response.json({ error: 'Not found' }, { status: 404 });
  outgoing.writeHead(response.status, Object.fromEntries(response.headers));
  outgoing.end(Buffer.from(await response.arrayBuffer()));
}

async function main() {
  const playground = await openPlayground('conduit_nextjs', TABLES);
  // As in the file .env of such a project.
  process.env.DATABASE_URL = playground.options.connectionString;
  process.env.PGOPTIONS = playground.options.options;
  const server = http.createServer((incoming, outgoing) => {
    answer(incoming, outgoing).catch((error) => {
      console.error(error);
      if (!outgoing.headersSent) outgoing.writeHead(500);
      outgoing.end();
    });
  });
  onStop(async () => {
    server.close();
    await once(server, 'close');
    await require('./db').pool.end();
    await playground.close();
  });
  await listen(server, [['/api/notes', { body: 'hello' }], ['/api/notes']]);
}

main();
