'use strict';

// A web server in several processes, as many as there are processors. Each has a pool of its own (worker.js), and
// two connections are enough: queries share them. That makes a few connections in all, whatever the number of callers;
// docs/scaling.md has figures. A process that dies is replaced.
// node examples/cluster/server.js

/** Of this one the declarations of Node.js know the form for `import` alone. @type {any} */
const nodeCluster = require('node:cluster');
/** @type {import('node:cluster').Cluster} */
const cluster = nodeCluster;
const { once } = require('node:events');
const os = require('node:os');
const path = require('node:path');
const { onStop, openPlayground } = require('../playground');

const TABLES = `
  create table page (path text primary key, visits int not null);
  insert into page values ('/', 0)`;
const PROCESSES = Math.max(2, os.availableParallelism());
const CONNECTIONS_EACH = 2;

async function main() {
  const playground = await openPlayground('conduit_cluster', TABLES);
  const options = { ...playground.options, max: CONNECTIONS_EACH };
  cluster.setupPrimary({ exec: path.join(__dirname, 'worker.js') });
  const fork = () => cluster.fork({ POOL_OPTIONS: JSON.stringify(options) });
  /** @type {WeakSet<import('node:cluster').Worker>} */
  const listening = new WeakSet();
  cluster.on('listening', (worker) => listening.add(worker));
  const first = Array.from({ length: PROCESSES }, fork);
  let ends = false;
  cluster.on('exit', (worker, code, signal) => {
    if (ends) return;
    console.log(`process ${worker.process.pid} has ended by ${signal ?? code}: another one starts`);
    fork();
  });
  onStop(async () => {
    ends = true;
    const workers = Object.values(cluster.workers ?? {}).filter((worker) => worker !== undefined);
    await Promise.all(
      workers.map(async (worker) => {
        const exited = once(worker, 'exit');
        // One that starts is about to be told its port, which fails when it has ended.
        if (!listening.has(worker)) await Promise.race([once(worker, 'listening'), exited]);
        if (worker.isConnected()) worker.send('end');
        await exited;
      }),
    );
    await playground.close();
  });
  const all = first.map((worker) => once(worker, 'listening'));
  const [, { port }] = await once(cluster, 'listening');
  await Promise.all(all);
  console.log(`listening on http://127.0.0.1:${port} in ${PROCESSES} processes`);
}

main();
