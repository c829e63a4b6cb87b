'use strict';

// A database for each tool, and the proof that the tool runs on this driver and lets go of its
// connections. useTool() stands first in a describe block.

const assert = require('node:assert/strict');
const { createRequire } = require('node:module');
const { tracingChannel } = require('node:diagnostics_channel');
const fs = require('node:fs');
const path = require('node:path');
const pg = require('pg');

/** The name of the package in the place of `pg`: see stock.js. */
const DRIVER = process.env.PG_CONDUIT_COMPAT_DRIVER ?? 'pg-conduit';

/** How many queries an application has in flight. */
const MANY = 200;

const queries = tracingChannel('pg-conduit:query');

/** The table of accounts and notes that most of the scenarios use. */
const SCHEMA = `
  create table accounts (id serial primary key, email text not null constraint accounts_email_key unique);
  create table notes (
    id serial primary key,
    account_id int not null constraint notes_account_fkey references accounts,
    body text not null,
    tags text[],
    detail jsonb,
    made_at timestamptz not null default now()
  )`;

/** @param {string} name of a package @returns {string} the folder that holds it */
function folderOf(name) {
  const folder = require.resolve
    .paths(name)
    .map((each) => path.join(each, name))
    .find((each) => fs.existsSync(each));
  assert.ok(folder, `${name} is not installed`);
  return fs.realpathSync(folder);
}

/** @param {string} name of a package that requires `pg` */
function assertLoadsOurs(name) {
  const ours = require.resolve('pg');
  assert.equal(require('pg/package.json').name, DRIVER);
  const theirs = createRequire(path.join(folderOf(name), 'package.json')).resolve('pg');
  assert.equal(theirs, ours, `${name} resolves another pg`);
}

/**
 * @param {string} name
 * @param {{ requirers?: string[], schema?: string }} [options] packages that require `pg`, and
 *   what the database begins with
 */
function useTool(name, { requirers = [name], schema = '' } = {}) {
  const database = `compat_${name.replace(/\W+/g, '_')}`;
  /** @type {Record<string, any>} */
  let server;
  /** @type {(() => any) | undefined} */
  let close;
  const tool = {
    // Known in before(): the server is started after the files are read.
    url: '',
    /** @type {Record<string, any>} */
    config: {},
    /** What the driver was asked since before(). @type {string[]} */
    texts: [],
    /** @param {() => any} fn closes the tool; an after() of the test's own would be too late */
    close(fn) {
      close = fn;
    },
  };
  const listen = (/** @type {any} */ { text }) => tool.texts.push(text);

  /** @param {string} where a database @param {string} text */
  async function run(where, text) {
    const client = new pg.Client({ ...server, database: where });
    await client.connect();
    try {
      await client.query(text);
    } finally {
      await client.end();
    }
  }

  before(async () => {
    server = JSON.parse(String(process.env.PG_CONDUIT_COMPAT_SERVER));
    const { host, port, user, password } = server;
    const secret = password === undefined ? '' : `:${encodeURIComponent(password)}`;
    tool.url = `postgres://${encodeURIComponent(user)}${secret}@${host}:${port}/${database}`;
    tool.config = { ...server, database };
    for (const requirer of requirers) assertLoadsOurs(requirer);
    await run(server.database, `drop database if exists ${database}`);
    await run(server.database, `create database ${database}`);
    if (schema !== '') await run(database, schema);
    queries.start.subscribe(listen);
  });

  after(async () => {
    await close?.();
    queries.start.unsubscribe(listen);
    if (DRIVER !== 'pg') assert.ok(tool.texts.length > 0, `${name} has asked this driver nothing`);
    // Fails while somebody is connected: who has closed everything has closed everything.
    await run(server.database, `drop database ${database}`);
  });

  return tool;
}

/**
 * @param {PromiseLike<any>} promise
 * @returns {Promise<any>} what it rejects with
 */
async function errorOf(promise) {
  try {
    await promise;
  } catch (error) {
    return error;
  }
  return assert.fail('it did not reject');
}

/**
 * As it comes from the driver, under whatever the tool puts around it.
 * @param {any} error
 */
function causeOf(error) {
  let cause = error;
  for (const name of ['original', 'parent', 'driverError', 'nativeError', 'cause']) {
    while (cause?.[name] && cause[name] !== cause) cause = cause[name];
  }
  return cause;
}

/**
 * @param {PromiseLike<any>} promise that breaks a unique constraint
 * @param {string} [constraint]
 */
async function assertDuplicate(promise, constraint = 'accounts_email_key') {
  const error = causeOf(await errorOf(promise));
  assert.equal(error.code, '23505', error.stack);
  assert.equal(error.constraint, constraint);
  assert.ok(error instanceof pg.DatabaseError);
}

/**
 * @template T
 * @param {(i: number) => PromiseLike<T>} run
 * @returns {Promise<T[]>} as many as an application has in flight
 */
function atOnce(run) {
  return Promise.all(Array.from({ length: MANY }, (_, i) => run(i)));
}

/** @param {AsyncIterable<any>} iterable */
async function collect(iterable) {
  const rows = [];
  for await (const row of iterable) rows.push(row);
  return rows;
}

const NUMBERS = Array.from({ length: MANY }, (_, i) => i);

module.exports = { MANY, NUMBERS, SCHEMA, assertDuplicate, atOnce, collect, errorOf, useTool };
