'use strict';

// Values and arrays of int8, which do not fit a JavaScript number: the option int8 selects their
// JavaScript type.

const assert = require('node:assert/strict');
const { ResultError, types } = require('../..');
const { endAll, newClient } = require('../support/connect');
const { RESULT_EXECUTIONS } = require('../support/like-pg');
const { quote, selectArrays, selectEach } = require('../support/sql');

const { INT8 } = types.builtins;
const INT8_ARRAY = 1016;

describe('results', () => {
  afterEach(endAll);

  describe('of int8 have the type that the option int8 says:', () => {
    const SAFE = ['0', '1', '-1', '2147483648', '9007199254740991', '-9007199254740991'];
    const UNSAFE = [
      '9007199254740992',
      '-9007199254740992',
      '9223372036854775807',
      '-9223372036854775808',
    ];
    const CONVERT = { string: String, number: Number, bigint: BigInt };

    for (const int8 of ['string', 'number', 'bigint']) {
      it(`${int8}, for values and arrays`, async () => {
        const client = await newClient({ int8 });
        const texts = int8 === 'number' ? SAFE : [...SAFE, ...UNSAFE];
        const values = [...texts.map(CONVERT[int8]), null];
        for (let execution = 1; execution <= RESULT_EXECUTIONS; ++execution) {
          const each = await client.query(selectEach('int8', texts));
          assert.deepStrictEqual(
            each.rows.map(({ v }) => v),
            values,
          );
          const { rows } = await client.query({
            text: selectEach('int8', texts),
            rowMode: 'array',
          });
          assert.deepStrictEqual(
            rows.map(([, v]) => v),
            values,
          );
          const arrays = await client.query(selectArrays('int8', texts));
          assert.deepStrictEqual(arrays.rows, [
            {
              flat: values,
              nested: [values, values],
              deep: [
                [[values[0]], [null]],
                [[null], [values[0]]],
              ],
              empty: [],
              bounds: [values[0], values[0]],
              none: null,
            },
          ]);
        }
      });
    }

    it('also among other columns', async () => {
      for (const int8 of ['string', 'number', 'bigint']) {
        const client = await newClient({ int8 });
        const convert = CONVERT[int8];
        for (let execution = 1; execution <= RESULT_EXECUTIONS; ++execution) {
          const { rows } = await client.query(
            "select g::int4 as a, g::int8 as b, g || 'é' as c, (-g)::int8 as d, g::float8 / 2 as e, " +
              "case when g % 2 = 0 then g::int8 end as f, json_build_array(g) as j, g::int8 as h, 'end' as i " +
              'from generate_series(1, 50) g',
          );
          assert.deepStrictEqual(
            rows,
            Array.from({ length: 50 }, (_, n) => {
              const g = n + 1;
              return {
                ...{ a: g, b: convert(g), c: `${g}é`, d: convert(-g), e: g / 2 },
                ...{ f: g % 2 === 0 ? convert(g) : null, j: [g], h: convert(g), i: 'end' },
              };
            }),
          );
        }
      }
    });

    it('but a number that would not be exact rejects its query, and no other', async () => {
      const client = await newClient({ int8: 'number' });
      for (const unsafe of UNSAFE) {
        for (const column of [
          `${quote(unsafe)}::int8`,
          `array[1, null, ${quote(unsafe)}]::int8[]`,
        ]) {
          const text = `select g, case when g = 700 then ${column} end as v from generate_series(1, 1000) g`;
          for (let execution = 1; execution <= RESULT_EXECUTIONS; ++execution) {
            const outcomes = await Promise.allSettled([
              client.query('select 1::int8 as v'),
              client.query(text),
              client.query('select $1::int8 as v', [execution]),
            ]);
            assert.deepStrictEqual(outcomes[0].value.rows, [{ v: 1 }]);
            assert.ok(outcomes[1].reason instanceof ResultError);
            assert.equal(outcomes[1].reason.code, 'ERR_PG_CONDUIT_RESULT');
            assert.match(outcomes[1].reason.message, /int8: 'bigint'/);
            assert.deepStrictEqual(outcomes[2].value.rows, [{ v: execution }]);
          }
        }
      }
    });

    it('unless there is a parser for int8', async () => {
      const client = await newClient({ int8: 'bigint' });
      client.setTypeParser(INT8, (text) => `parsed ${text}`);
      for (let execution = 1; execution <= RESULT_EXECUTIONS; ++execution) {
        const { rows } = await client.query('select 5::int8 as v, array[5::int8] as a');
        assert.deepStrictEqual(rows, [{ v: 'parsed 5', a: [5n] }]);
      }
      client.setTypeParser(INT8_ARRAY, (text) => text);
      for (let execution = 1; execution <= RESULT_EXECUTIONS; ++execution) {
        const { rows } = await client.query('select 5::int8 as v, array[5::int8] as a');
        assert.deepStrictEqual(rows, [{ v: 'parsed 5', a: '{5}' }]);
      }
    });
  });
});
