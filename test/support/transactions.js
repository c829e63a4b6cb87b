'use strict';

// Tables that transactions write, seen from outside, and what such tests expect. useTransactions()
// stands first in a describe block.

const assert = require('node:assert/strict');
const { TransactionError } = require('../..');
const { newPool, usePools } = require('./pools');

/** Before each test the table t is empty, and there is a pool. */
function useTransactions() {
  const observer = usePools();

  const test = {
    observer,
    /** @type {any} */
    pool: undefined,

    /** The numbers that a table holds for everybody else. */
    async numbers(name) {
      const rows = await observer.ask(`select i from conduit_test.${name} order by i`);
      return rows.map(({ i }) => i);
    },

    async table(name, more = '') {
      await observer.ask(`drop table if exists conduit_test.${name}`);
      await observer.ask(`create table conduit_test.${name} (i int ${more})`);
    },
  };

  beforeEach(async () => {
    await test.table('t');
    test.pool = newPool({ max: 2 });
  });

  return test;
}

const insert = (tx, i) => tx.query('insert into t values ($1)', [i]);

/** A promise, and what fulfils it. */
function latch() {
  let open;
  const opened = new Promise((resolve) => {
    open = resolve;
  });
  return { open, opened };
}

/** @param {unknown} error */
function assertAborted(error) {
  assert.ok(error instanceof TransactionError, String(error));
  assert.equal(error.code, 'ERR_PG_CONDUIT_TRANSACTION_ABORTED');
  assert.equal(error.outcome, 'not-run');
}

/** @param {unknown} error */
function assertEnded(error) {
  assert.ok(error instanceof TransactionError, String(error));
  assert.equal(error.code, 'ERR_PG_CONDUIT_TRANSACTION_ENDED');
  assert.equal(error.outcome, 'not-run');
  assert.match(error.message, /transaction has ended/);
}

module.exports = { assertAborted, assertEnded, insert, latch, useTransactions };
