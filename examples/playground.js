'use strict';

// What the examples have in common and an application has no need of: a database to try things on,
// and an end that leaves nothing behind. Called by each of them.

const { once } = require('node:events');
const { Client } = require('pg-conduit');
const { startDatabase } = require('../scripts/database');

/** @type {NodeJS.Signals[]} */
const STOPS = ['SIGINT', 'SIGTERM'];

/**
 * The database of PG_CONDUIT_DATABASE_URL, else a throw-away server; tables are made in a schema of
 * their own, since the database may be yours.
 * @param {string} schema
 * @param {string} sql makes the tables
 */
async function openPlayground(schema, sql = '') {
  const database = await startDatabase();
  const { connectionString } = database;
  console.log(`schema "${schema}" of ${database.place}`);
  /** @param {string} text */
  const run = async (text) => {
    const client = new Client(connectionString);
    await client.connect();
    await client.query(text);
    await client.end();
  };
  await run(`
    drop schema if exists ${schema} cascade; -- left by a run that was killed
    create schema ${schema};
    set search_path = ${schema};
    ${sql}`);
  return {
    /** For `new Pool()`. */
    options: { connectionString, options: `-c search_path=${schema}` },
    async close() {
      await run(`drop schema ${schema} cascade`);
      await database.stop();
    },
  };
}

/** A path, and a body that is sent as JSON. @typedef {[path: string, body?: object]} Request */

/**
 * Where it listens, and commands to try it with.
 * @param {string} url
 * @param {Request[]} requests
 */
function announce(url, requests) {
  console.log(`listening on ${url}`);
  if (requests.length > 0) console.log('Try it in another terminal:');
  for (const [path, body] of requests) {
    const data = body && ` -H 'content-type: application/json' -d '${JSON.stringify(body)}'`;
    console.log(`  curl '${url}${path}'${data ?? ''}`);
  }
}

/**
 * @param {import('node:http').Server} server
 * @param {Request[]} [requests] see announce()
 * @returns {Promise<void>} when it listens, on PORT or 3000
 */
async function listen(server, requests = []) {
  server.listen(Number(process.env.PORT ?? 3000), '127.0.0.1');
  await once(server, 'listening');
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address());
  announce(`http://127.0.0.1:${port}`, requests);
}

/**
 * On Ctrl-C or SIGTERM, once. The second one ends the process at once.
 * @param {() => Promise<unknown>} end
 */
function onStop(end) {
  const listener = () => {
    for (const signal of STOPS) process.off(signal, listener);
    end();
  };
  for (const signal of STOPS) process.on(signal, listener);
}

module.exports = { announce, listen, onStop, openPlayground };
