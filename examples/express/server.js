'use strict';

// Express on one pool: handlers await it like anything else, and their queries share its connections.
// node examples/express/server.js

const { once } = require('node:events');
const http = require('node:http');
const express = require('express');
const { DatabaseError, Pool } = require('pg-conduit');
const { listen, onStop, openPlayground } = require('../playground');

const TABLES = `
  create table account (name text primary key, balance int not null check (balance >= 0));
  insert into account values ('ada', 100), ('grace', 0);`;

/** What a request asks for cannot be had. */
class Refusal extends Error {
  /** @param {number} status @param {string} message */
  constructor(status, message) {
    super(message);
    this.status = status;
  }
}

/** @param {import('pg-conduit').Pool} pool */
function makeApp(pool) {
  const app = express();
  app.use(express.json());

  app.get('/accounts/:name', async (request, response) => {
    const { rows } = await pool.query('select name, balance from account where name = $1', [
      request.params.name,
    ]);
    if (rows.length === 0) response.status(404).json({ error: 'no such account' });
    else response.json(rows[0]);
  });

  app.post('/transfers', async (request, response) => {
    const { from, to, amount } = request.body;
    if (!(amount > 0)) throw new Refusal(400, 'the amount must be above 0');
    await pool.transaction(async (tx) => {
      const change = 'update account set balance = balance + $2 where name = $1';
      // Both travel together. Everybody locks in the same order, so that nobody deadlocks.
      const changes = [
        [from, -amount],
        [to, amount],
      ].sort(([a], [b]) => (a < b ? -1 : 1));
      const results = await Promise.all(changes.map((values) => tx.query(change, values)));
      if (results.some(({ rowCount }) => rowCount === 0)) throw new Refusal(404, 'no such account');
    });
    response.status(201).json({ from, to, amount });
  });

  // Express 5 brings there what handlers reject with.
  app.use(answerError);
  return app;
}

/**
 * Express knows it by its four parameters.
 * @param {any} error
 * @param {express.Request} _request
 * @param {express.Response} response
 * @param {express.NextFunction} _next
 */
function answerError(error, _request, response, _next) {
  const [status, message] = describe(error);
  if (status >= 500) console.error(error);
  response.status(status).json({ error: message });
}

/**
 * The text of a database error may tell too much: it is for the log.
 * @param {any} error
 * @returns {[status: number, message: string]}
 */
function describe(error) {
  if (error instanceof Refusal) return [error.status, error.message];
  if (error instanceof DatabaseError && error.code === '23514') return [409, 'not enough money'];
  if (error instanceof DatabaseError && error.code?.startsWith('22')) return [400, 'bad values'];
  if (error.code === 'ERR_PG_CONDUIT_POOL_FULL') return [503, 'too busy: try again later'];
  // It may have been done: nobody is to repeat it without looking.
  if (error.outcome === 'unknown') return [500, 'look at the accounts before you try again'];
  return [error.status ?? 500, 'that went wrong'];
}

async function main() {
  const playground = await openPlayground('conduit_express', TABLES);
  const pool = new Pool({ ...playground.options, max: 4, maxWaiting: 1000 });
  pool.on('error', (error) => console.error('connection lost:', error.message));
  const server = http.createServer(makeApp(pool));
  onStop(async () => {
    server.close();
    await once(server, 'close');
    await pool.end();
    await playground.close();
  });
  const transfer = { from: 'ada', to: 'grace', amount: 60 };
  await listen(server, [['/accounts/ada'], ['/transfers', transfer]]);
}

main();
