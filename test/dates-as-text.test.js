'use strict';

// The options date and timestamp, with which such values arrive as the server writes them.

const assert = require('node:assert/strict');
const { endAll, newClient, newPool } = require('./support/connect');
const { RESULT_EXECUTIONS } = require('./support/like-pg');

const TEXT = `select '2024-02-29'::date as d, '{2024-02-29,NULL}'::date[] as ds,
  '2024-02-29 12:34:56.789123'::timestamp as t, '{"2024-02-29 12:34:56.000001"}'::timestamp[] as ts,
  '2024-02-29 12:34:56.789123+00'::timestamptz as z, null::date as n, 1 as one`;

describe('dates as text', () => {
  afterEach(endAll);

  it('are what the server writes, whatever the way to it', async () => {
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

  it('of one kind leave the other as it is, and parsers of the user on top', async () => {
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
