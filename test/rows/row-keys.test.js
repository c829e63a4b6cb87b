'use strict';

// The option rowKeys: rows with other keys than the names of their columns, in each of the ways in which rows come.

const assert = require('node:assert/strict');
const { OptionError, ParameterError, ResultError } = require('../..');
const { endAll, newClient, newPool, resetSchema } = require('../support/connect');
const { errorOf } = require('../support/outcomes');

const TEXT = 'select 1 as user_id, 2 as "fooBar", 3 as _a__b_, 4 as plain, 5 as "x_é_1"';
const CAMEL = { userId: 1, fooBar: 2, _aB_: 3, plain: 4, xÉ1: 5 };
const PLAIN = { user_id: 1, fooBar: 2, _a__b_: 3, plain: 4, x_é_1: 5 };

/** Unprepared, preparing, prepared, in binary, and once more. */
const EXECUTIONS = 5;

describe('rowKeys', () => {
  before(resetSchema);
  afterEach(endAll);

  it("'camel' of a pool or client names the columns of each row", async () => {
    for (const one of [newPool({ rowKeys: 'camel' }), await newClient({ rowKeys: 'camel' })]) {
      for (let execution = 1; execution <= EXECUTIONS; ++execution) {
        const { rows, fields } = await one.query(TEXT);
        assert.deepEqual(rows, [CAMEL]);
        assert.deepEqual(
          fields.map(({ name }) => name),
          Object.keys(PLAIN),
        );
      }
    }
  });

  it('of a query goes before that of its pool', async () => {
    const pool = newPool({ rowKeys: 'camel', max: 1 });
    const upper = (/** @type {string} */ name) => name.toUpperCase();
    for (let execution = 1; execution <= EXECUTIONS; ++execution) {
      assert.deepEqual((await pool.query({ text: TEXT, rowKeys: false })).rows, [PLAIN]);
      assert.deepEqual((await pool.query({ text: TEXT, rowKeys: null })).rows, [PLAIN]);
      const { rows } = await pool.query({ text: 'select 1 as a_b', rowKeys: upper });
      assert.deepEqual(rows, [{ A_B: 1 }]);
      assert.deepEqual((await pool.query(TEXT)).rows, [CAMEL]);
    }
    assert.match(await pool.walPosition(), /^[\dA-F]+\/[\dA-F]+$/);
  });

  it('calls a function once for each column, not for each row, and not for rows in arrays', async () => {
    const calls = [];
    const pool = newPool({
      max: 1,
      rowKeys: (name) => {
        calls.push(name);
        return `_${name}`;
      },
    });
    const text = 'select i, i as j from generate_series(1, 1000) i';
    const { rows } = await pool.query({ text, prepare: false });
    assert.equal(rows.length, 1000);
    assert.deepEqual(rows[999], { _i: 1000, _j: 1000 });
    assert.deepEqual(calls, ['i', 'j']);
    await pool.query({ text: 'select 1 as k', rowMode: 'array' });
    assert.deepEqual(calls, ['i', 'j']);
  });

  it('rows of one result have one hidden class, as without it', async () => {
    const pool = newPool({ rowKeys: 'camel' });
    const { rows } = await pool.query('select i as the_key from generate_series(1, 3) i');
    assert.deepEqual(rows.map(Object.keys), [['theKey'], ['theKey'], ['theKey']]);
  });

  it('holds for batches, streams, cursors, transactions, several statements and clients of a pool', async () => {
    const pool = newPool({ rowKeys: 'camel' });
    const wanted = [{ aB: 1 }];
    const text = 'select 1 as a_b';
    const [first] = await pool.batch([text]);
    assert.deepEqual(first.rows, wanted);
    assert.deepEqual(await pool.stream(text).toArray(), wanted);
    assert.deepEqual(await pool.transaction(async (tx) => (await tx.query(text)).rows), wanted);
    const several = await pool.query(`${text}; ${text}`);
    assert.deepEqual(
      several.map(({ rows }) => rows),
      [wanted, wanted],
    );
    const client = await pool.connect();
    assert.deepEqual((await client.query(text)).rows, wanted);
    const cursor = client.cursor(text);
    assert.deepEqual(await cursor.read(5), wanted);
    await cursor.close();
    client.release();
  });

  it('keeps the last of equal keys, and never sets a prototype', async () => {
    const pool = newPool();
    const same = await pool.query({ text: 'select 1 as a, 2 as b', rowKeys: () => 'k' });
    assert.deepEqual(same.rows, [{ k: 2 }]);
    const { rows } = await pool.query({ text: 'select 1 as a', rowKeys: () => '__proto__' });
    assert.equal(Object.getPrototypeOf(rows[0]), Object.prototype);
    assert.deepEqual(Object.keys(rows[0]), ['__proto__']);
  });

  it('that throws rejects its own query, and others have their rows', async () => {
    const pool = newPool({ max: 1 });
    const cause = new Error('no');
    const rowKeys = () => {
      throw cause;
    };
    const [error, { rows }] = await Promise.all([
      errorOf(pool.query({ text: 'select 1 as a', rowKeys })),
      pool.query('select 2 as a'),
    ]);
    assert.equal(error, cause);
    assert.ok(error.cause instanceof ResultError, `${error.cause}`);
    assert.deepEqual(rows, [{ a: 2 }]);
  });

  it('with another value is refused', async () => {
    assert.ok(
      (await errorOf(newPool({ rowKeys: 'snake' }).query('select 1'))) instanceof OptionError,
    );
    const error = await errorOf(newPool().query({ text: 'select 1', rowKeys: 5 }));
    assert.ok(error instanceof ParameterError);
    assert.match(error.message, /^rowKeys must be 'camel'/);
  });
});
