'use strict';

// The demo's two tables, in a schema of their own, since the database may be the user's.
// Called by start.js; server.js reads the names from here.

const SCHEMA = 'conduit_demo'; // the server keeps the prefix `pg_` for itself
const WORLD_ROWS = 10_000;

const FORTUNES = [
  'fortune: No such file or directory',
  "A computer scientist is someone who fixes things that aren't broken.",
  'After enough decimal places, nobody gives a damn.',
  'A bad random number generator: 1, 1, 1, 1, 1, 4.33e+67, 1, 1, 1',
  'A computer program does what you tell it to do, not what you want it to do.',
  'Emacs is a nice operating system, but I prefer UNIX.',
  'Any program that runs right is obsolete.',
  'A list is only as strong as its weakest link.',
  'Feature: A bug with seniority.',
  'Computers make very fast, very accurate mistakes.',
  '<script>alert("This should not be displayed in a browser alert box.");</script>',
  'フレームワークのベンチマーク',
];

/** @param {import('../..').Pool} pool */
async function createTables(pool) {
  await dropTables(pool); // left by a run that was killed
  await pool.query(`create schema ${SCHEMA}`);
  await pool.query(`create table ${SCHEMA}.world (id int primary key, randomnumber int not null)`);
  await pool.query(`create table ${SCHEMA}.fortune (id int primary key, message text not null)`);
  await pool.query(
    `insert into ${SCHEMA}.world
     select id, 1 + floor(random() * $1)::int from generate_series(1, $1::int) id`,
    [WORLD_ROWS],
  );
  await pool.query(
    `insert into ${SCHEMA}.fortune
     select id, message from unnest($1::text[]) with ordinality as f (message, id)`,
    [FORTUNES],
  );
  await pool.query(`analyze ${SCHEMA}.world`);
}

/** @param {import('../..').Pool} pool */
async function dropTables(pool) {
  await pool.query(`drop schema if exists ${SCHEMA} cascade`);
}

module.exports = { SCHEMA, WORLD_ROWS, createTables, dropTables };
