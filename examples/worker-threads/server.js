'use strict';

// What computes for long goes into worker threads, so that it does not hold up the server. A connection
// cannot be passed to another thread: each has a pool of its own (worker.js), a small one.
// node examples/worker-threads/server.js

const { once } = require('node:events');
const http = require('node:http');
const path = require('node:path');
const { Worker } = require('node:worker_threads');
const { Pool } = require('pg-conduit');
const { listen, onStop, openPlayground } = require('../playground');

const TABLES = `
  create table reading (sensor int not null, value float8 not null);
  insert into reading select i % 4, sin(i) * 100 from generate_series(1, 40000) as i;
  create index on reading (sensor);
  analyze reading;`;
const THREADS = 2;

/** Threads, each asked in turn; a question is a message with a number, and so is its answer. */
class Threads {
  #waiting = new Map();
  #number = 0;

  /** @param {import('pg-conduit').PoolConfig} options of each thread's pool */
  constructor(options) {
    const file = path.join(__dirname, 'worker.js');
    this.workers = Array.from({ length: THREADS }, () => new Worker(file, { workerData: options }));
    for (const worker of this.workers) {
      worker.on('message', ({ number, error, result }) => {
        const { resolve, reject } = this.#waiting.get(number);
        this.#waiting.delete(number);
        if (error) reject(error);
        else resolve(result);
      });
    }
  }

  /** @param {number} sensor */
  ask(sensor) {
    const number = ++this.#number;
    this.workers[number % THREADS]?.postMessage({ number, sensor });
    return new Promise((resolve, reject) => {
      this.#waiting.set(number, { resolve, reject });
    });
  }

  /** They end by themselves, when their pools are closed. */
  async end() {
    const ended = this.workers.map((worker) => once(worker, 'exit'));
    for (const worker of this.workers) worker.postMessage('end');
    await Promise.all(ended);
  }
}

async function main() {
  const playground = await openPlayground('conduit_threads', TABLES);
  const pool = new Pool({ ...playground.options, max: 2 });
  const threads = new Threads({ ...playground.options, max: 1 });
  const server = http.createServer(async (request, response) => {
    const { pathname, searchParams } = new URL(request.url ?? '/', 'http://localhost');
    try {
      const answer =
        pathname === '/statistics'
          ? await threads.ask(Number(searchParams.get('sensor')))
          : (await pool.query('select count(*)::int as readings from reading')).rows[0];
      response.setHeader('content-type', 'application/json').end(JSON.stringify(answer));
    } catch (error) {
      console.error(error);
      response.writeHead(500).end();
    }
  });
  onStop(async () => {
    server.close();
    await once(server, 'close');
    await threads.end();
    await pool.end();
    await playground.close();
  });
  await listen(server, [['/'], ['/statistics?sensor=0']]);
}

main();
