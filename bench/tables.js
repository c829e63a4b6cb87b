'use strict';

// The tables of the workloads, in a schema of their own, and what each of their rows must look like in
// JavaScript: every driver's rows are compared with it. run.js fills them once; the workloads read here.

const { createHash } = require('node:crypto');
const { isDeepStrictEqual } = require('node:util');
const { Client } = require('pg');

const SCHEMA = 'conduit_bench';
/** Ids that are asked for one by one, and the rows of `mixed` and `world`. */
const ROWS = 10_000;
/** Of the table of integers, which is also read as a whole. */
const MAX_ROWS = 100_000;

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

const SELECT_POINT = `select id, n from ${SCHEMA}.points where id = $1`;
const SELECT_MIXED = `select id, n, name, at, ok, ratio, price, doc, key from ${SCHEMA}.mixed where id <= $1 order by id`;
const SELECT_INTEGERS = `select id, n from ${SCHEMA}.points where id <= $1 order by id`;
const INSERT = `insert into ${SCHEMA}.inserts (id, n) values ($1, $2)`;
const COUNT_INSERTS = `select count(*)::int as count, coalesce(sum(n), 0)::float8 as sum from ${SCHEMA}.inserts`;
const CLEAR_INSERTS = `truncate ${SCHEMA}.inserts`;
const SELECT_WORLD = `select id, randomnumber from ${SCHEMA}.world where id = $1`;
const UPDATE_WORLD = `update ${SCHEMA}.world set randomnumber = $2 where id = $1`;
const SELECT_FORTUNES = `select id, message from ${SCHEMA}.fortune`;

// `world` has room in each page: its updates stay there, and the table does not grow from driver to driver.
const CREATE = `
  drop schema if exists ${SCHEMA} cascade;
  create schema ${SCHEMA};
  create table ${SCHEMA}.points (id int primary key, n int not null);
  create table ${SCHEMA}.mixed (
    id int8 primary key, n int4, name text, at timestamptz, ok bool, ratio float8, price numeric(12,2),
    doc jsonb, key uuid
  );
  create table ${SCHEMA}.inserts (id int not null, n int not null);
  create table ${SCHEMA}.world (id int primary key, randomnumber int not null) with (fillfactor = 50);
  create table ${SCHEMA}.fortune (id int primary key, message text not null);
  insert into ${SCHEMA}.points select id, id * 7 + 1 from generate_series(1, ${MAX_ROWS}) id;
  insert into ${SCHEMA}.world select id, 1 + id * 7919 % ${ROWS} from generate_series(1, ${ROWS}) id;
  insert into ${SCHEMA}.mixed select
    id,
    case when id % 7 > 0 then id * 7919 end,
    case when id % 11 = 0 then null when id % 10 = 0 then 'Zoë № ' || id || ' 東京' else 'customer number ' || id end,
    timestamptz '2024-01-01 00:00:00.123+00' + id * interval '1 minute',
    id % 3 = 0,
    id / 8.0,
    id * 1.25,
    case when id % 13 > 0 then jsonb_build_object('id', id, 'tags', jsonb_build_array('a', 'é'), 'even', id % 2 = 0) end,
    md5(id::text)::uuid
  from generate_series(1, ${ROWS}) id;`;

/**
 * @typedef {object} Target
 * @property {string} connectionString
 * @property {import('../scripts/database').ConnectionConfig} config
 * @property {{ caFile: string }} [tls] who has signed the server's certificate; the connection string says so too
 * @property {string} [binDirectory] of the server, where it is ours
 */

/**
 * With `pg`, so that a defect of ours is found by a workload and not here.
 * @param {Target} target
 * @param {(client: import('pg').Client) => Promise<void>} use
 */
async function withClient({ connectionString, config }, use) {
  const client = new Client({ connectionString, password: config.password });
  await client.connect();
  try {
    await use(client);
  } finally {
    await client.end();
  }
}

/** @param {Target} target */
function createTables(target) {
  return withClient(target, async (client) => {
    await client.query(CREATE);
    await client.query(
      `insert into ${SCHEMA}.fortune
       select id, message from unnest($1::text[]) with ordinality as f (message, id)`,
      [FORTUNES],
    );
    // Both outside the transaction that several statements in one text are.
    const tables = ['points', 'mixed', 'world', 'fortune'].map((name) => `${SCHEMA}.${name}`);
    await client.query(`vacuum analyze ${tables.join(', ')}`);
    await client.query('checkpoint').catch(() => undefined); // not everybody may
  });
}

/** @param {Target} target */
function dropTables(target) {
  return withClient(target, async (client) => {
    await client.query(`drop schema if exists ${SCHEMA} cascade`);
  });
}

/** @param {number} id */
function expectedPoint(id) {
  return { id, n: id * 7 + 1 };
}

/** @param {number} id @returns {number} of that row of `world`, before anything is updated */
function expectedWorld(id) {
  return 1 + ((id * 7919) % ROWS);
}

/** @param {number} id */
function expectedMixed(id) {
  const hash = createHash('md5').update(String(id)).digest('hex');
  let name = /** @type {string | null} */ (`customer number ${id}`);
  if (id % 10 === 0) name = `Zoë № ${id} 東京`;
  if (id % 11 === 0) name = null;
  return {
    id: String(id),
    n: id % 7 > 0 ? id * 7919 : null,
    name,
    at: new Date(Date.UTC(2024, 0, 1, 0, id, 0, 123)),
    ok: id % 3 === 0,
    ratio: id / 8,
    price: (id * 1.25).toFixed(2),
    doc: id % 13 > 0 ? { id, tags: ['a', 'é'], even: id % 2 === 0 } : null,
    key: hash.replace(/^(.{8})(.{4})(.{4})(.{4})/, '$1-$2-$3-$4-'),
  };
}

/**
 * @param {any[]} rows of ids 1, 2, 3, …
 * @param {number} count
 * @param {(id: number) => object} expected
 */
function checkRows(rows, count, expected) {
  if (rows.length !== count) throw new Error(`${rows.length} rows instead of ${count}`);
  rows.forEach((row, index) => {
    // A copy: the prototype is the driver's own affair.
    if (isDeepStrictEqual({ ...row }, expected(index + 1))) return;
    throw new Error(`Row ${index + 1} is ${JSON.stringify(row)}`);
  });
}

module.exports = {
  CLEAR_INSERTS,
  COUNT_INSERTS,
  FORTUNES,
  INSERT,
  MAX_ROWS,
  ROWS,
  SCHEMA,
  SELECT_FORTUNES,
  SELECT_INTEGERS,
  SELECT_MIXED,
  SELECT_POINT,
  SELECT_WORLD,
  UPDATE_WORLD,
  checkRows,
  createTables,
  dropTables,
  expectedMixed,
  expectedPoint,
  expectedWorld,
  withClient,
};
