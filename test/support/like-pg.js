'use strict';

// `pg` on the run's server, as the one to be like: a client of a test's own, one that a file's
// tests share, and the comparison of whole results. For tests that run a query in each phase of
// preparing its text.

const assert = require('node:assert/strict');
const pg = require('pg');
const { options } = require('./connect');

/** Unprepared, preparing, prepared, in binary. */
const EXECUTIONS = 4;
/** In binary twice. */
const RESULT_EXECUTIONS = EXECUTIONS + 1;

/**
 * @template T
 * @param {(client: pg.Client) => Promise<T>} use
 * @param {Record<string, any>} [given]
 */
async function withPg(use, given) {
  const client = new pg.Client(options(given));
  await client.connect();
  try {
    return await use(client);
  } finally {
    await client.end();
  }
}

/** @type {pg.Client} */
let reference;

/** Connects the client that the tests of a file share; call it in before, behind resetSchema(). */
async function openReference() {
  reference = new pg.Client(options());
  await reference.connect();
  return reference;
}

/** Call it in after. */
async function closeReference() {
  await reference.end();
}

/** Invalid dates are not equal to each other, for deepStrictEqual. */
function comparable(value) {
  if (value instanceof Date && Number.isNaN(value.getTime())) return 'Invalid Date';
  return Array.isArray(value) ? value.map(comparable) : value;
}

function comparableRow(row) {
  if (Array.isArray(row)) return comparable(row);
  for (const key of Object.keys(row)) row[key] = comparable(row[key]);
  return row;
}

/** What both drivers say of a result; their classes differ. */
function describeResult({ command, rowCount, oid, rows, fields }) {
  return {
    command,
    rowCount,
    oid,
    rows: rows.map(comparableRow),
    fields: fields.map((field) => ({
      name: field.name,
      tableID: field.tableID,
      columnID: field.columnID,
      dataTypeID: field.dataTypeID,
      dataTypeSize: field.dataTypeSize,
      dataTypeModifier: field.dataTypeModifier,
      format: field.format,
    })),
  };
}

/**
 * Runs a query in all the ways that we have, and compares each with `pg`.
 * @returns the rows
 */
async function sameAsPg(client, query, { executions = RESULT_EXECUTIONS, like = reference } = {}) {
  const expected = describeResult(await like.query(query));
  for (let execution = 1; execution <= executions; ++execution) {
    const actual = describeResult(await client.query(query));
    assert.deepStrictEqual(actual, expected, `execution ${execution} differs`);
    assert.deepStrictEqual(actual.rows.map(Object.keys), expected.rows.map(Object.keys));
  }
  return expected.rows;
}

module.exports = {
  EXECUTIONS,
  RESULT_EXECUTIONS,
  closeReference,
  describeResult,
  openReference,
  sameAsPg,
  withPg,
};
