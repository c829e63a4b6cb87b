'use strict';

// Migrates, then serves: DATABASE_URL=postgres://… PORT=3000 npm start

const path = require('node:path');
const { Pool } = require('pg');
const { makeApp } = require('./app');

async function start() {
  const connectionString = process.env.DATABASE_URL;
  const { runner } = await import('node-pg-migrate');
  await runner({
    databaseUrl: connectionString,
    dir: path.join(__dirname, 'migrations'),
    migrationsTable: 'migrations',
    direction: 'up',
    log() {},
  });
  const pool = new Pool({ connectionString, max: 10 });
  const server = makeApp(pool).listen(Number(process.env.PORT ?? 3000), '127.0.0.1', () => {
    const { port } = server.address();
    console.log(`${require('pg/package.json').name} listens on http://127.0.0.1:${port}`);
  });
  process.once('SIGTERM', () => {
    server.close(() => pool.end());
    server.closeAllConnections();
  });
}

start();
