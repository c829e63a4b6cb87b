'use strict';

// Many callers at once with texts that were never seen before: each is told what it would be told alone, and the server
// begins before all of them are written.

const assert = require('node:assert/strict');
const { connectionOf } = require('../../lib/client/client');
const { endAll, newClient, newPool } = require('../support/connect');
const { withPg } = require('../support/like-pg');

describe('A burst of new texts', () => {
  afterEach(endAll);

  const texts = [
    (n) => `select $1::int + ${n} as n`,
    (n) => `select 1 / ($1::int - $1::int) as n${n}`,
    (n) => `select no_such_column_${n} + $1::int`,
    (n) => `selec ${n}, $1`,
    (n) => `select 'x${n}' as t where $1::int % 2 = 0`,
  ];

  for (const distinct of [1, 50, 250]) {
    it(`each caller of ${distinct} texts is told what pg tells`, async () => {
      const pool = newPool({ max: 1 });
      await pool.query('select 1');
      const ask = (one, index) => {
        const n = index % distinct;
        return one.query(texts[n % texts.length](n), [index]);
      };
      const told = ({ value, reason }) =>
        reason === undefined
          ? [value.command, value.rowCount, value.rows]
          : [reason.code, reason.message, reason.position, reason.severity, reason.routine];
      const ours = await Promise.allSettled(
        Array.from({ length: 500 }, (_, index) => ask(pool, index)),
      );
      await withPg(async (reference) => {
        for (const [index, outcome] of ours.entries()) {
          const [expected] = await Promise.allSettled([ask(reference, index)]);
          assert.deepEqual(told(outcome), told(expected));
        }
      });
      const errors = ours.flatMap(({ reason }) => reason ?? []);
      assert.equal(new Set(errors).size, errors.length);
    });
  }

  it('one text is parsed for all of them at its second use', async () => {
    const client = await newClient();
    const before = connectionOf(client).counters().parses;
    await Promise.all(
      Array.from({ length: 500 }, (_, n) => client.query('select $1::int as burst', [n])),
    );
    assert.equal(connectionOf(client).counters().parses - before, 1);
  });

  it('the first of many are sent before the tick ends', async () => {
    const client = await newClient();
    const connection = connectionOf(client);
    const flushes = () => connection.counters().flushes;
    const before = flushes();
    const burst = (count) =>
      Array.from({ length: count }, (_, n) => client.query(`select ${count} + ${n} as n`));
    const few = burst(20);
    assert.equal(flushes(), before);
    const many = burst(200);
    assert.ok(flushes() > before);
    const results = await Promise.all([...few, ...many]);
    assert.deepEqual(
      results.map(({ rows }) => rows[0].n),
      [...few.map((_, n) => 20 + n), ...many.map((_, n) => 200 + n)],
    );
  });
});
