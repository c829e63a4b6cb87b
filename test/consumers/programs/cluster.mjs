// An HTTP server in each of two processes of node:cluster, with a pool in each. Prints the processes that
// have answered, and how many requests were.

import cluster from 'node:cluster';
import { once } from 'node:events';
import http from 'node:http';
import { Pool } from 'pg-conduit';

const REQUESTS = 40;

async function serve() {
  const pool = new Pool({ connectionString: process.env.DATABASE_URL, max: 2 });
  const server = http.createServer(async (request, response) => {
    const { rows } = await pool.query('select $1::int as pid', [process.pid]);
    response.setHeader('connection', 'close').end(JSON.stringify(rows[0]));
  });
  process.on('message', async () => {
    server.close();
    await pool.end();
    process.disconnect();
  });
  server.listen(0);
}

async function load() {
  const workers = [cluster.fork(), cluster.fork()];
  const [[{ port }]] = await Promise.all(workers.map((worker) => once(worker, 'listening')));
  const answers = await Promise.all(
    Array.from({ length: REQUESTS }, async () => {
      const response = await fetch(`http://localhost:${port}/`);
      return (await response.json()).pid;
    }),
  );
  for (const worker of workers) worker.send('end');
  const codes = await Promise.all(workers.map(async (worker) => (await once(worker, 'exit'))[0]));
  const pids = new Set(answers);
  const known = workers.filter((worker) => pids.has(worker.process.pid)).length;
  console.log(JSON.stringify({ answers: answers.length, processes: known, codes }));
}

await (cluster.isPrimary ? load() : serve());
