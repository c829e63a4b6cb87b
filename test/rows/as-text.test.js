'use strict';

// The options date, timestamp and numericArrays, with which such values are the texts of the server.

const assert = require('node:assert/strict');
const { endAll, newClient, newPool } = require('../support/connect');
const { RESULT_EXECUTIONS } = require('../support/like-pg');

const TEXT = `select '2024-02-29'::date as d, '{2024-02-29,NULL}'::date[] as ds,
  '2024-02-29 12:34:56.789123'::timestamp as t, '{"2024-02-29 12:34:56.000001"}'::timestamp[] as ts,
  '2024-02-29 12:34:56.789123+00'::timestamptz as z, null::date as n, 1 as one`;

describe('dates as text', () => {
  afterEach(endAll);

  it('are the texts of the server, for clients and pools, in any format', async () => {
    const given = { date: 'string', timestamp: 'string', options: '-c timezone=UTC' };
    for (const one of [await newClient(given), newPool(given)]) {
      for (let execution = 1; execution <= RESULT_EXECUTIONS; ++execution) {
        const { rows } = await one.query(TEXT);
        assert.deepEqual(rows, [
          {
            d: '2024-02-29',
            ds: ['2024-02-29', null],
            t: '2024-02-29 12:34:56.789123',
            ts: ['2024-02-29 12:34:56.000001'],
            z: '2024-02-29 12:34:56.789123+00',
            n: null,
            one: 1,
          },
        ]);
      }
    }
  });

  it('do not affect the other option, and give way to parsers of the user', async () => {
    const client = await newClient({ date: 'string' });
    const { rows } = await client.query(TEXT);
    assert.equal(rows[0].d, '2024-02-29');
    assert.ok(rows[0].t instanceof Date);
    client.setTypeParser(1082, (text) => `on ${text}`);
    assert.equal((await client.query(TEXT)).rows[0].d, 'on 2024-02-29');
    const other = await newClient();
    assert.ok((await other.query(TEXT)).rows[0].d instanceof Date);
  });
});

describe('arrays of numeric', () => {
  const NUMERICS = `select '{0.1000000000000000055511151231257827,NULL,-1}'::numeric[] as list, 1.10::numeric as one`;

  afterEach(endAll);

  it('are numbers, as in pg, or texts with all digits by the option numericArrays', async () => {
    const asNumbers = await newClient();
    const asTexts = await newClient({ numericArrays: 'string' });
    for (let execution = 1; execution <= RESULT_EXECUTIONS; ++execution) {
      const [number] = (await asNumbers.query(NUMERICS)).rows;
      assert.deepEqual(number, { list: [0.1, null, -1], one: '1.10' });
      const [text] = (await asTexts.query(NUMERICS)).rows;
      const digits = '0.1000000000000000055511151231257827';
      assert.deepEqual(text, { list: [digits, null, '-1'], one: '1.10' });
    }
  });
});
