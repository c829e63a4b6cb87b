'use strict';

// The tables of the workloads, in a schema of their own, and what each of their rows must look like in
// JavaScript: every driver's rows are compared with it. run.js fills them once; the workloads read here.

const { createHash } = require('node:crypto');
const { isDeepStrictEqual } = require('node:util');
const { Client } = require('pg');

const SCHEMA = 'conduit_bench';
const ROWS = 10_000;

const SELECT_POINT = `select id, n from ${SCHEMA}.points where id = $1`;
const SELECT_MIXED = `select id, n, name, at, ok, ratio, price, doc, key from ${SCHEMA}.mixed where id <= $1 order by id`;
const SELECT_INTEGERS = `select id, n from ${SCHEMA}.points where id <= $1 order by id`;
const INSERT = `insert into ${SCHEMA}.inserts (id, n) values ($1, $2)`;
const COUNT_INSERTS = `select count(*)::int as count, coalesce(sum(n), 0)::float8 as sum from ${SCHEMA}.inserts`;
const CLEAR_INSERTS = `truncate ${SCHEMA}.inserts`;

const CREATE = `
  drop schema if exists ${SCHEMA} cascade;
  create schema ${SCHEMA};
  create table ${SCHEMA}.points (id int primary key, n int not null);
  create table ${SCHEMA}.mixed (
    id int8 primary key, n int4, name text, at timestamptz, ok bool, ratio float8, price numeric(12,2),
    doc jsonb, key uuid
  );
  create table ${SCHEMA}.inserts (id int not null, n int not null);
  insert into ${SCHEMA}.points select id, id * 7 + 1 from generate_series(1, ${ROWS}) id;
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

/** @typedef {{ connectionString: string, config: import('../scripts/database').ConnectionConfig }} Target */

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
    // Both outside the transaction that several statements in one text are.
    await client.query(`vacuum analyze ${SCHEMA}.points, ${SCHEMA}.mixed`);
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
  INSERT,
  ROWS,
  SELECT_INTEGERS,
  SELECT_MIXED,
  SELECT_POINT,
  checkRows,
  createTables,
  dropTables,
  expectedMixed,
  expectedPoint,
};
