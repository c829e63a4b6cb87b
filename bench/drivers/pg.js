'use strict';

// `pg`, as most people use it: one query after the other on each connection. Loaded by child.js.

const OTHERS = require('./others');
const { StatementNames } = require('./statement-names');

/** @type {typeof import('pg')} */
let pg;

/** @type {import('.').Driver} */
module.exports = {
  name: 'pg',
  settings: 'Client or Pool, named statements',

  load() {
    pg = require('pg');
    return require('pg/package.json').version;
  },

  async connect({ connectionString, config, max, openAll = true, prepare }) {
    const options = { connectionString, password: config.password };
    const names = new StatementNames(prepare);
    const queryable =
      max > 1 ? new pg.Pool({ ...options, max, idleTimeoutMillis: 0 }) : new pg.Client(options);
    if (queryable instanceof pg.Client) {
      await queryable.connect();
    } else if (openAll) {
      const clients = await Promise.all(Array.from({ length: max }, () => queryable.connect()));
      for (const client of clients) client.release();
    }
    return {
      query: async (text, values) =>
        (await queryable.query({ name: names.get(text), text, values })).rows,
      ...(queryable instanceof pg.Pool && { others: () => doOthers(queryable) }),
      end: () => queryable.end(),
    };
  },
};

/** @param {import('pg').Pool} pool */
async function doOthers(pool) {
  const client = await pool.connect();
  try {
    await client.query('begin');
    await client.query(OTHERS.table);
    await client.query('insert into bench_others values ($1), ($2)', [1, 2]);
    await client.query('commit');
    const QueryStream = require('pg-query-stream');
    let rows = 0;
    for await (const row of client.query(new QueryStream(OTHERS.rows))) rows += row.one;
    if (rows !== OTHERS.rowCount) throw new Error(`The stream had ${rows} rows`);
    for (const text of ['begin', ...OTHERS.batch, 'commit']) await client.query(text);
    await client.query(OTHERS.setting);
  } finally {
    client.release();
  }
}
