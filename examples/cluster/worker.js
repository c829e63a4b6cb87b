'use strict';

// One process of the cluster: a server with a pool of its own. Started by server.js.

const { once } = require('node:events');
const http = require('node:http');
const { Pool } = require('pg-conduit');

const pool = new Pool(JSON.parse(process.env.POOL_OPTIONS ?? '{}'));

const VISIT = 'update page set visits = visits + 1 where path = $1 returning visits';

const server = http.createServer(async (request, response) => {
  try {
    const { rows } = await pool.query(VISIT, [request.url]);
    if (rows.length === 0) response.statusCode = 404;
    response.setHeader('content-type', 'application/json');
    response.end(JSON.stringify({ process: process.pid, visits: rows[0]?.visits }));
  } catch (error) {
    console.error(error);
    response.writeHead(500).end();
  }
});
// The processes of a cluster share the port.
server.listen(Number(process.env.PORT ?? 3000), '127.0.0.1');

process.on('message', async (message) => {
  if (message !== 'end') return;
  server.close();
  await once(server, 'close');
  await pool.end();
  process.disconnect();
});
// Ctrl-C reaches all processes; server.js says when this one is to end.
process.on('SIGINT', () => {});
