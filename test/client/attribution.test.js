'use strict';

const assert = require('node:assert/strict');
const { endAll, newClient, newPool, resetSchema } = require('../support/connect');
const { IS_LONG } = require('../support/property');

describe('every promise gets its own answer', () => {
  before(resetSchema);
  afterEach(endAll);

  it('among 10,000 concurrent queries on one connection, some failing, some with many rows', async () => {
    const pool = newPool({ max: 1 });
    const count = 10000;
    const outcomes = await Promise.allSettled(
      Array.from({ length: count }, (_, i) => {
        if (i % 97 === 0) return pool.query('select $1::int / 0 as i', [i]);
        if (i % 50 === 0) {
          return pool.query('select $1::int as i, g from generate_series(1, 1000) g', [i]);
        }
        return pool.query('select $1::int as i', [i]);
      }),
    );
    for (const [i, outcome] of outcomes.entries()) {
      if (i % 97 === 0) {
        assert.equal(outcome.status, 'rejected');
        assert.equal(outcome.reason.code, '22012');
        assert.equal(outcome.reason.outcome, 'not-run');
        continue;
      }
      assert.equal(outcome.status, 'fulfilled');
      const { rows } = outcome.value;
      assert.equal(rows.length, i % 50 === 0 ? 1000 : 1);
      assert.ok(rows.every((row) => row.i === i));
      if (i % 50 === 0) assert.deepEqual([rows[0].g, rows[999].g], [1, 1000]);
    }
    assert.equal(pool.totalCount, 1);
  });

  it('among several clients and pools of one process', async () => {
    const clients = await Promise.all([newClient(), newClient()]);
    const pools = [newPool({ max: 3 }), newPool({ max: 1 })];
    const all = [...clients, ...pools];
    await Promise.all(
      Array.from({ length: 4000 }, async (_, i) => {
        const { rows } = await all[i % all.length].query(
          "select $1::int as i, repeat('ü', $1 % 50) as t",
          [i],
        );
        assert.deepEqual(rows, [{ i, t: 'ü'.repeat(i % 50) }]);
      }),
    );
  });

  it('when results span many text chunks', async () => {
    const client = await newClient();
    for (let round = 0; round < 3; ++round) {
      const { rows } = await client.query(
        "select g, md5(g::text) as hash, case when g % 7 = 0 then 'é' || g else 'e' || g end as text " +
          'from generate_series(1, 20000) g',
      );
      assert.equal(rows.length, 20000);
      const { createHash } = require('node:crypto');
      for (const [index, row] of rows.entries()) {
        const g = index + 1;
        assert.equal(row.g, g);
        assert.equal(row.text, (g % 7 === 0 ? 'é' : 'e') + g);
        if (g % 1000 === 0) {
          assert.equal(row.hash, createHash('md5').update(String(g)).digest('hex'));
        }
      }
    }
  });
});

describe('a promise settles at its Sync', () => {
  before(async () => {
    await resetSchema();
    const client = await newClient();
    await client.query('create table parent (id int primary key)');
    await client.query(
      'create table child (id int, parent int references parent deferrable initially deferred)',
    );
    await endAll();
  });
  afterEach(endAll);

  it('so that a deferred constraint rejects it, even after a successful command tag', async () => {
    const pool = newPool({ max: 1 });
    for (let round = 0; round < 3; ++round) {
      const outcomes = await Promise.allSettled([
        pool.query('insert into child values ($1, $2)', [1, 42]),
        pool.query('select 1 as one'),
      ]);
      assert.equal(outcomes[0].status, 'rejected');
      assert.equal(outcomes[0].reason.code, '23503');
      assert.equal(outcomes[0].reason.constraint, 'child_parent_fkey');
      assert.equal(outcomes[0].reason.outcome, 'not-run');
      assert.deepEqual(outcomes[1].value.rows, [{ one: 1 }]);
    }
    assert.deepEqual((await pool.query('select count(*)::int from child')).rows, [{ count: 0 }]);
  });
});

describe('large queries', () => {
  afterEach(endAll);

  for (const [count, size] of [
    [120, 1 << 20],
    [12, 10 << 20],
    [1, (IS_LONG ? 120 : 40) << 20],
  ]) {
    it(`complete with ${(count * size) >> 20} MB both ways at once, in ${count} queries`, async () => {
      const client = await newClient();
      const answers = await Promise.all(
        Array.from({ length: count }, (_, i) =>
          client.query('select $1::text as text', [
            String.fromCharCode(97 + (i % 26)).repeat(size),
          ]),
        ),
      );
      for (const [i, { rows }] of answers.entries()) {
        const letter = String.fromCharCode(97 + (i % 26));
        assert.equal(rows[0].text.length, size);
        assert.deepEqual([rows[0].text[0], rows[0].text.at(-1)], [letter, letter]);
      }
    });
  }

  it('complete with many megabytes of bytea in flight both ways', async () => {
    const pool = newPool({ max: 2 });
    await Promise.all(
      Array.from({ length: 24 }, async (_, i) => {
        const value = Buffer.alloc(2 << 20, i);
        const { rows } = await pool.query('select $1::bytea as value', [value]);
        assert.ok(value.equals(rows[0].value));
      }),
    );
  });
});
