'use strict';

// LISTEN to browsers. One subscription serves all of them. A notification only says that there is
// something new: the messages are in a table, so that nobody misses one while a connection was lost,
// neither ours to the server (onGap) nor a browser's to us (Last-Event-ID).
// node examples/server-sent-events/server.js

const { once } = require('node:events');
const fs = require('node:fs');
const http = require('node:http');
const path = require('node:path');
const { Pool } = require('pg-conduit');
const { listen, onStop, openPlayground } = require('../playground');

const TABLES = 'create table message (id bigserial primary key, body text not null);';
const PAGE = fs.readFileSync(path.join(__dirname, 'page.html'));
const PAGE_ROWS = 1000;
/** Without the last one a browser would come again on the same connection, and close() would wait for it. */
const HEADERS = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-store',
  connection: 'close',
};

class Feed {
  /** Who listens, and the last message that he has. @type {Map<http.ServerResponse, bigint>} */
  #browsers = new Map();

  /** @param {import('pg-conduit').Pool} pool */
  constructor(pool) {
    this.pool = pool;
  }

  /** @param {http.ServerResponse} response @param {bigint} lastId */
  async add(response, lastId) {
    response.writeHead(200, HEADERS).write('retry: 1000\n\n');
    response.once('close', () => this.#browsers.delete(response));
    this.#browsers.set(response, lastId);
    await this.send();
  }

  /** To everybody what he does not have yet. */
  async send() {
    const lowest = [...this.#browsers.values()].reduce((a, b) => (b < a ? b : a), 2n ** 62n);
    const { rows } = await this.pool.query(
      'select id, body from message where id > $1 order by id limit $2',
      [lowest, PAGE_ROWS],
    );
    for (const [response, lastId] of this.#browsers) {
      for (const { id, body } of rows.filter((row) => row.id > lastId)) {
        response.write(`id: ${id}\ndata: ${JSON.stringify(body)}\n\n`);
        this.#browsers.set(response, id);
      }
    }
    if (rows.length === PAGE_ROWS) await this.send();
  }

  end() {
    for (const response of this.#browsers.keys()) response.end();
  }
}

async function main() {
  const playground = await openPlayground('conduit_events', TABLES);
  const pool = new Pool({ ...playground.options, max: 2, int8: 'bigint' });
  pool.on('error', (error) => console.error('connection lost:', error.message));
  const feed = new Feed(pool);
  const send = () => void feed.send().catch(console.error);
  await pool.listen('conduit_events', send, { onGap: send });

  /** @type {Record<string, (request: http.IncomingMessage, response: http.ServerResponse) => any>} */
  const routes = {
    'GET /': (_request, response) => response.setHeader('content-type', 'text/html').end(PAGE),
    'GET /events': (request, response) =>
      feed.add(response, BigInt(`${request.headers['last-event-id'] ?? 0}`)),
    async 'POST /messages'(request, response) {
      const body = Buffer.concat(await request.toArray()).toString();
      // The lock has ids committed in their order, so that nothing comes up behind the last one that
      // a browser has. The notification leaves with the commit: who hears of the message finds it.
      await pool.batch([
        'select pg_advisory_xact_lock(1)',
        { text: 'insert into message (body) values ($1)', values: [body] },
        `select pg_notify('conduit_events', '')`,
      ]);
      response.writeHead(204).end();
    },
  };
  const server = http.createServer(async (request, response) => {
    try {
      const route = routes[`${request.method} ${request.url}`];
      if (route) await route(request, response);
      else response.writeHead(404).end();
    } catch (error) {
      console.error(error);
      if (!response.headersSent) response.writeHead(500);
      response.end();
    }
  });
  onStop(async () => {
    server.close();
    feed.end(); // else they would never be closed
    await once(server, 'close');
    await pool.end();
    await playground.close();
  });
  await listen(server);
}

main();
