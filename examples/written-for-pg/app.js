'use strict';

// The program: notes of accounts, who log in. It knows `pg` only, from whichever package that comes.

const connectPgSimple = require('connect-pg-simple');
const { desc, eq } = require('drizzle-orm');
const { drizzle } = require('drizzle-orm/node-postgres');
const express = require('express');
const session = require('express-session');
const schema = require('./schema');

const { accounts, notes } = schema;
const UNIQUE_VIOLATION = '23505';

/** @param {import('pg').Pool} pool */
function makeApp(pool) {
  const db = drizzle(pool, { schema });
  const app = express();
  const Store = connectPgSimple(session);
  app.use(express.json());
  app.use(
    session({
      store: new Store({ pool, createTableIfMissing: true, pruneSessionInterval: false }),
      secret: 'an example',
      resave: false,
      saveUninitialized: false,
    }),
  );

  app.get('/notes', async (request, response) => {
    const found = await db.query.notes.findMany({
      with: { account: true },
      orderBy: desc(notes.madeAt),
      limit: 20,
    });
    response.json(found);
  });

  app.get('/notes/:id', async (request, response) => {
    const [found] = await db
      .select()
      .from(notes)
      .innerJoin(accounts, eq(accounts.id, notes.accountId))
      .where(eq(notes.id, request.params.id));
    if (found) response.json(found);
    else response.status(404).json({ error: 'There is no such note' });
  });

  app.post('/accounts', async (request, response) => {
    try {
      const { email, body } = request.body;
      // Both or none.
      const made = await db.transaction(async (tx) => {
        const [account] = await tx.insert(accounts).values({ email }).returning();
        await tx.insert(notes).values({ accountId: account.id, body, madeAt: new Date(0) });
        return account;
      });
      response.status(201).json(made);
    } catch (error) {
      const { code, constraint } = error.cause ?? error;
      if (code !== UNIQUE_VIOLATION) throw error;
      response.status(409).json({ error: `${constraint} is broken` });
    }
  });

  app.post('/login', async (request, response) => {
    const { email } = request.body;
    const found = await db.query.accounts.findFirst({ where: eq(accounts.email, email) });
    if (!found) {
      response.status(403).json({ error: 'Nobody has this address' });
      return;
    }
    request.session.accountId = found.id;
    response.json(found);
  });

  app.get('/me', async (request, response) => {
    const { accountId } = request.session;
    if (accountId === undefined) {
      response.status(401).json({ error: 'Nobody has logged in' });
      return;
    }
    const [me, { rows }] = await Promise.all([
      db.query.accounts.findFirst({ where: eq(accounts.id, accountId) }),
      pool.query('select count(*), min(made_at) from notes where account_id = $1', [accountId]),
    ]);
    response.json({ ...me, notes: rows[0] });
  });

  // eslint-disable-next-line no-unused-vars -- Express knows it by its four parameters
  app.use((error, request, response, next) => {
    const { code } = error.cause ?? error;
    response.status(500).json({ error: code ?? error.message });
  });

  return app;
}

module.exports = { makeApp };
