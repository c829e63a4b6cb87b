'use strict';

// One pool for the process. Development servers load modules anew after each edit, and a pool in a
// variable of the module would be made anew each time, its connections left behind until the server
// refuses more. What hangs on globalThis survives that. Imported by route.js; in Next.js: lib/db.js.

const { Pool } = require('pg-conduit');

const survivor = /** @type {{ databasePool?: Pool }} */ (globalThis);

const pool = (survivor.databasePool ??= new Pool({
  connectionString: process.env.DATABASE_URL,
  application_name: 'nextjs-handler',
  max: 4,
}));

module.exports = { pool };
