'use strict';

// Queries that cannot be made, sent or read: a client and a pool of `pg`, and ours, reject with the same object, or with
// the same SQLSTATE. What ours says besides is in `cause`.

const assert = require('node:assert/strict');
const { inspect } = require('node:util');
const pg = require('pg');
const conduit = require('../..');
const { options } = require('../support/connect');

const { ParameterError, ResultError } = conduit;

/** @type {any[]} */
let opened = [];

/** A client and a pool of each driver. */
async function connectAll() {
  const all = [];
  for (const driver of [pg, conduit]) {
    const client = new driver.Client(options());
    await client.connect();
    all.push({ driver, one: client }, { driver, one: new driver.Pool(options({ max: 1 })) });
  }
  opened = all.map(({ one }) => one);
  return all;
}

/** What may be compared: rows, or the object that was thrown, or a code. */
async function answerOf(promise) {
  return promise.then(
    ({ rows }) => ({ rows }),
    (error) => ({ error, code: error.code }),
  );
}

const mine = () => Object.assign(new RangeError('mine'), { code: 'MINE' });

/** How the caller's code throws an error. */
const THROWING = {
  'toPostgres()': (boom) => ['select $1', [{ toPostgres: () => throwIt(boom) }]],
  'toPostgres() in an array': (boom) => ['select $1', [[{ toPostgres: () => throwIt(boom) }]]],
  'toJSON()': (boom) => ['select $1', [{ toJSON: () => throwIt(boom) }]],
  'a type parser': (boom) => [
    { text: 'select 5 as five', types: { getTypeParser: () => () => throwIt(boom) } },
  ],
};

function throwIt(boom) {
  throw boom;
}

describe('a query that fails in the code of its caller', () => {
  afterEach(() => Promise.all(opened.map((one) => one.end())));

  for (const [what, makeQuery] of Object.entries(THROWING)) {
    it(`rejects with what ${what} has thrown`, async () => {
      for (const { driver, one } of await connectAll()) {
        const boom = mine();
        const { error } = await answerOf(one.query(...makeQuery(boom)));
        assert.equal(error, boom);
        assert.equal(error.code, 'MINE');
        if (driver === conduit) {
          const isRead = what === 'a type parser';
          assert.equal(error.outcome, isRead ? 'unknown' : 'not-run');
          assert.ok(error.cause instanceof (isRead ? ResultError : ParameterError));
          assert.match(error.cause.message, /mine/);
          assert.equal(error.cause.cause, undefined);
        }
        assert.deepEqual((await one.query('select 1 as usable')).rows, [{ usable: 1 }]);
      }
    });
  }

  it('has a cause that names the parameter, and keeps one of its own', async () => {
    const client = (await connectAll())[2].one;
    const [text, values] = ['select $1, $2', ['x', { toPostgres: () => throwIt(boom) }]];
    let boom = mine();
    await assert.rejects(client.query(text, values), boom);
    assert.match(boom.cause.message, /^parameter \$2: mine$/);
    boom = new Error('outer', { cause: new Error('inner') });
    await assert.rejects(client.query(text, values), boom);
    assert.equal(boom.cause.message, 'inner');
  });

  it('may throw one error many times: what may have run stays unknown', async () => {
    const client = (await connectAll())[2].one;
    const boom = mine();
    for (const makeQuery of Object.values(THROWING)) {
      const { error } = await answerOf(client.query(...makeQuery(boom)));
      assert.equal(error, boom);
    }
    const { error } = await answerOf(client.query(...THROWING['toPostgres()'](boom)));
    assert.equal(error.outcome, 'unknown');
    assert.match(error.cause.message, /^parameter \$1/);
    inspect(error);
  });

  it('never counts as an error of the server, whatever class and code it has', async () => {
    const pool = (await connectAll())[3].one;
    const { error: boom } = await answerOf(pool.query('select 1 / 0'));
    boom.code = '40001';
    let runs = 0;
    await assert.rejects(
      pool.transaction(async (tx) => {
        ++runs;
        await tx.query("select set_config('app.runs', $1, true)", [String(runs)]);
        await tx.query(...THROWING['a type parser'](boom)).catch(() => {});
        const { rows } = await tx.query("select current_setting('app.runs') as runs");
        assert.deepEqual(rows, [{ runs: '1' }]);
        throw new Error('enough');
      }),
      { message: 'enough' },
    );
    assert.equal(runs, 1);
  });

  it('fails a transaction with it as the cause, if nobody has looked at it', async () => {
    const pool = (await connectAll())[3].one;
    const boom = mine();
    await assert.rejects(
      pool.transaction(async (tx) => {
        tx.query(...THROWING['toPostgres()'](boom));
      }),
      { code: 'ERR_PG_CONDUIT_TRANSACTION_ABORTED', cause: boom },
    );
  });

  for (const [what, thrown] of Object.entries({
    'a frozen error': Object.freeze(mine()),
    nothing: undefined,
    'a text': 'boom',
  })) {
    it(`rejects with an error of the driver's if ${what} is thrown, which cannot say more`, async () => {
      const client = (await connectAll())[2].one;
      const [text, values] = THROWING['toPostgres()'](thrown);
      const { error } = await answerOf(client.query(text, values));
      assert.ok(error instanceof ParameterError);
      assert.equal(error.cause, thrown);
    });
  }
});

describe('a query that the server would refuse', () => {
  afterEach(() => Promise.all(opened.map((one) => one.end())));

  for (const [what, query, code] of [
    ['an invalid Date', ['select $1::timestamptz', [new Date(NaN)]], '22007'],
    ['an invalid Date in an array', ['select $1::date[]', [[new Date(NaN)]]], '22007'],
    ['a NUL character in a value', ['select $1::text', ['a\0b']], '22021'],
    ['a NUL character in its text', ['select 1 as \0x'], '08P01'],
  ]) {
    it(`has the server's SQLSTATE for ${what}`, async () => {
      for (const { one } of await connectAll()) {
        assert.equal((await answerOf(one.query(...query))).code, code);
        assert.deepEqual((await one.query('select 1 as usable')).rows, [{ usable: 1 }]);
      }
    });
  }
});

describe('a query with a name and no text', () => {
  afterEach(() => Promise.all(opened.map((one) => one.end())));

  for (const text of [null, undefined, '']) {
    it(`(${inspect(text)}) runs what has that name, or else an empty text`, async () => {
      for (const { one } of await connectAll()) {
        const nothing = await answerOf(one.query({ name: 'unknown', text }));
        assert.deepEqual(nothing, { rows: [] });
        await one.query({ name: 'known', text: 'select $1::int as i', values: [1] });
        const known = await answerOf(one.query({ name: 'known', text, values: [2] }));
        assert.deepEqual(known, { rows: [{ i: 2 }] });
      }
    });
  }

  it('leaves the name to whoever gives it a text', async () => {
    for (const { one } of (await connectAll()).slice(2)) {
      await one.query({ name: 'later', text: null });
      assert.deepEqual((await one.query({ name: 'later', text: 'select 1 as i' })).rows, [
        { i: 1 },
      ]);
    }
  });
});
