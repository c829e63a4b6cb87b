'use strict';

// The same handlers on `pg`, as somebody who uses it has them: a server to compare ours with. Forked by
// peer-process.js, with which it ends.

const { once } = require('node:events');
const pg = require('pg');
const { version } = require('pg/package.json');
const { createServer, logOnce } = require('./server');

/** @param {import('pg').PoolConfig} options */
async function serve(options) {
  const pool = new pg.Pool(options);
  const onError = logOnce();
  pool.on('error', onError);
  const server = createServer(pool, { onError });
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  process.on('message', () => {
    const { user, system } = process.cpuUsage();
    process.send({ cpuMicros: user + system });
  });
  process.send({ version, url: `http://127.0.0.1:${server.address().port}` });
}

// Ctrl-C reaches every process of a terminal: the one that has forked us says when it is over.
process.on('SIGINT', () => {});
process.on('disconnect', () => process.exit());
process.once('message', serve);
