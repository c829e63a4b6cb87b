'use strict';

// Users who keep a server busy: each runs the same query again and again, on one pool of `pg`. Forked by places.js;
// ends when the channel does.

const pg = require('pg');

/**
 * @typedef {object} Users
 * @property {number} users
 * @property {number} poolSize
 * @property {string} text
 */

process.once('message', async (/** @type {Users & pg.PoolConfig} */ given) => {
  const { users, poolSize, text, connectionString, password } = given;
  const pool = new pg.Pool({ connectionString, password, max: poolSize });
  // When it ends, all of it does.
  pool.on('error', () => {});
  const clients = await Promise.all(Array.from({ length: users }, () => pool.connect()));
  for (const client of clients) client.release();
  process.send?.('busy');
  const work = async () => {
    for (;;) await pool.query(text);
  };
  await Promise.all(Array.from({ length: users }, work));
});
process.on('disconnect', () => process.exit());
