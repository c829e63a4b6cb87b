'use strict';

// What is traced: a query of a pool, and one of a client.

module.exports = async function run() {
  const { Client, Pool } = require('pg');
  const pool = new Pool();
  await pool.query('select 1 as one');
  await pool.end();
  const client = new Client();
  await client.connect();
  await client.query('select 2 as two');
  await client.end();
};
