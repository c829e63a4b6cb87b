'use strict';

// Asks once, as a CommonJS program does.

const { Pool } = require('pg-conduit');

async function main() {
  const pool = new Pool({ connectionString: process.env.DATABASE_URL });
  try {
    const { rows } = await pool.query('select 6 * $1::int as answer', [7]);
    console.log(rows[0].answer);
  } finally {
    await pool.end();
  }
}

main();
