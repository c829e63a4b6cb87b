'use strict';

// What template tags for SQL make (sql-template-tag, @nearform/sql, …): objects whose text and values may be getters of
// their class. With pg and with this driver, and in our own ways to run a statement.

const assert = require('node:assert/strict');
const pg = require('pg');
const ours = require('../..');
const { endAll, newClient, newPool, options, resetSchema } = require('../support/connect');

/** As sql-template-tag has it. */
class Sql {
  /** @param {readonly string[]} strings @param {unknown[]} values */
  constructor(strings, values) {
    this.strings = [];
    this.values = [];
    let pending = strings[0];
    for (const [index, value] of values.entries()) {
      if (value instanceof Sql) {
        this.strings.push(pending + value.strings[0], ...value.strings.slice(1));
        pending = this.strings.pop() + strings[index + 1];
        this.values.push(...value.values);
      } else {
        this.strings.push(pending);
        pending = strings[index + 1];
        this.values.push(value);
      }
    }
    this.strings.push(pending);
  }

  get text() {
    return this.strings.reduce((text, part, index) => `${text}$${index}${part}`);
  }

  get sql() {
    return this.strings.join('?');
  }

  get statement() {
    return this.strings.reduce((text, part, index) => `${text}:${index}${part}`);
  }
}

const sql = (strings, ...values) => new Sql(strings, values);

const where = sql`n between ${2} and ${3}`;
const QUERY = sql`select n, ${'x'}::text as x from generate_series(1, ${5}::int) n where ${where} order by n`;
const ROWS = [
  { n: 2, x: 'x' },
  { n: 3, x: 'x' },
];

describe('a query made by a template tag', () => {
  before(resetSchema);
  afterEach(endAll);

  for (const [name, { Client, Pool }] of Object.entries({ pg, ours })) {
    it(`runs on a client and a pool of ${name}`, async () => {
      const client = new Client(options());
      await client.connect();
      const pool = new Pool(options());
      for (const one of [client, pool]) {
        for (let time = 1; time <= 4; ++time) {
          assert.deepEqual((await one.query(QUERY)).rows, ROWS);
        }
        await one.end();
      }
    });
  }

  it('runs in batches, transactions, streams and cursors', async () => {
    const pool = newPool();
    const [first, second] = await pool.batch([QUERY, sql`select ${1}::int as one`]);
    assert.deepEqual([first.rows, second.rows], [ROWS, [{ one: 1 }]]);
    assert.deepEqual(await pool.stream(QUERY).toArray(), ROWS);
    const inside = await pool.transaction(async (tx) => (await tx.query(QUERY)).rows);
    assert.deepEqual(inside, ROWS);
    const cursor = (await newClient()).cursor(QUERY);
    assert.deepEqual(await cursor.read(5), ROWS);
    await cursor.close();
  });

  it('takes limits behind it, and values with the option namedParameters', async () => {
    const pool = newPool({ namedParameters: true, rowKeys: 'camel' });
    const { rows } = await pool.query(sql`select ${7}::int as the_value`, undefined, {
      timeoutMillis: 10000,
    });
    assert.deepEqual(rows, [{ theValue: 7 }]);
  });
});
