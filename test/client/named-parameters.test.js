'use strict';

// The option namedParameters: :name with an object of values.

const assert = require('node:assert/strict');
const { ParameterError } = require('../..');
const { countPrepared, endAll, newClient, newPool } = require('../support/connect');

const given = { namedParameters: true };

describe('named parameters', () => {
  afterEach(endAll);

  it('take their values from an object, in every method', async () => {
    const text = 'select :a::int as a, :b::text as b, :a::int + 1 as next';
    const values = { a: 1, b: 'two', unused: 3 };
    const expected = [{ a: 1, b: 'two', next: 2 }];
    for (const one of [await newClient(given), newPool(given)]) {
      assert.deepEqual((await one.query(text, values)).rows, expected);
      assert.deepEqual((await one.query({ text, values })).rows, expected);
      assert.deepEqual((await one.batch([{ text, values }]))[0].rows, expected);
      assert.deepEqual(await one.stream(text, values).toArray(), expected);
      await one.transaction(async (tx) => {
        assert.deepEqual((await tx.query(text, values)).rows, expected);
      });
    }
  });

  it('are not confused with literals, comments, casts, slices or quoted names', async () => {
    const client = await newClient(given);
    const { rows, fields } = await client.query(
      `select ':a' as ":a", E'\\\\':a' as b, $$:a$$ as c, $x$ :a $x$ as d, -- :a
        /* :a /* :a */ :a */ (array[1, 2, 3])[1:2] as e, (array[:a, 5])[:one :2] as f,
        array_length((array[1, 2, 3])[one:three], 1) as g, :a::int::text as h, jsonb '{"a": 1}' as i
        from (select 1 as one, 3 as three) as t`.replace(`E'\\\\':a'`, `E'\\\\'':a'`),
      { a: 7, one: 1 },
    );
    assert.equal(fields[0].name, ':a');
    assert.deepEqual(Object.values(rows[0]), [
      ':a',
      "\\':a",
      ':a',
      ' :a ',
      [1, 2],
      [7, 5],
      3,
      '7',
      { a: 1 },
    ]);
  });

  it('may be null or undefined, and come from getters', async () => {
    class Values {
      get a() {
        return 4;
      }
    }
    const client = await newClient(given);
    assert.deepEqual((await client.query('select :a::int as a', new Values())).rows, [{ a: 4 }]);
    for (const a of [null, undefined]) {
      assert.deepEqual((await client.query('select :a::int as a', { a })).rows, [{ a: null }]);
    }
  });

  it('without a value are refused, with their name', async () => {
    const pool = newPool(given);
    for (const name of ['b', 'constructor', '__proto__']) {
      await assert.rejects(pool.query(`select :a::int, :${name}::int`, { a: 1 }), (error) => {
        assert.ok(error instanceof ParameterError);
        assert.equal(error.message, `There is no value for :${name}`);
        assert.match(error.hint, /it has a$/);
        return true;
      });
    }
  });

  it('cannot be combined with numbered ones', async () => {
    const client = await newClient(given);
    await assert.rejects(client.query('select :a, $1', { a: 1 }), /either \$1 or :name/);
    assert.deepEqual((await client.query('select $1::int as a', [2])).rows, [{ a: 2 }]);
  });

  it('are prepared like any other text, and may have a name', async () => {
    const client = await newClient(given);
    for (let a = 1; a <= 5; ++a) {
      const { rows } = await client.query({
        name: 'n',
        text: 'select :a::int as a',
        values: { a },
      });
      assert.deepEqual(rows, [{ a }]);
    }
    assert.equal(await countPrepared(client), 1);
  });

  it('are off by default: an object of values is refused, with a hint', async () => {
    const client = await newClient();
    await assert.rejects(client.query('select :a', { a: 1 }), (error) => {
      assert.equal(error.message, 'Query values must be an array');
      assert.match(error.hint, /namedParameters/);
      return true;
    });
  });

  it('work with more texts than the cache of parsed texts holds', async () => {
    const client = await newClient(given);
    for (let n = 0; n < 2000; ++n) {
      const { rows } = await client.query(`select :a::int + ${n % 700} as sum`, { a: n });
      assert.equal(rows[0].sum, n + (n % 700));
    }
  });
});
