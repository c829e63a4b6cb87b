'use strict';

// Run inside of a root, in a project that has pg-conduit installed: one query over TLS. Prints what the
// server says of the connection, and what has run here, as JSON.

const fs = require('node:fs');
const { Pool } = require('pg-conduit');

async function main() {
  const pool = new Pool(JSON.parse(process.env.PG_CONDUIT_OPTIONS));
  const { rows } = await pool.query(
    `select ssl, version, current_user::text as "user", $1::int + 1 as next, $2 || 'ß' as text
     from pg_stat_ssl where pid = pg_backend_pid()`,
    [41, 'Maß & Stra'],
  );
  await pool.end();
  const [addon] = fs.readFileSync('/proc/self/maps', 'utf8').match(/\/\S+\.node$/m);
  const { version, arch } = process;
  console.log(JSON.stringify({ row: rows[0], addon, version, arch }));
}

main();
