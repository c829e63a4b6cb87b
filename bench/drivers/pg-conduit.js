'use strict';

// This package. Loaded by child.js.

const OTHERS = require('./others');

/** @type {typeof import('../..')} */
let conduit;

/** @type {import('.').Driver} */
module.exports = {
  name: 'pg-conduit',
  settings:
    'defaults: Client or Pool, prepared at the second use; syncGroup where the case names a Sync policy, and ' +
    'for Sync groups on one connection a Pool of one',

  hasBatch: true,

  load() {
    conduit = require('../..');
    return require('../../package.json').version;
  },

  async connect({ connectionString, config, max, openAll, syncGroup, prepare }) {
    const options = {
      connectionString,
      password: config.password,
      ...(syncGroup !== undefined && { syncGroup }),
      ...(prepare !== undefined && { prepare }),
    };
    // A Client has no Sync groups: its queries may belong to somebody's transaction.
    const isPool = max > 1 || (syncGroup !== undefined && syncGroup !== 'off');
    const queryable = isPool ? new conduit.Pool({ ...options, max }) : new conduit.Client(options);
    if (queryable instanceof conduit.Client) {
      await queryable.connect();
    } else if (openAll) {
      const clients = await Promise.all(Array.from({ length: max }, () => queryable.connect()));
      for (const client of clients) client.release();
    }
    return {
      query: async (text, values) => (await queryable.query(text, values)).rows,
      batch: (text, valuesOfEach) =>
        queryable.batch(valuesOfEach.map((values) => ({ text, values }))),
      ...(queryable instanceof conduit.Pool && { others: () => doOthers(queryable) }),
      end: () => queryable.end(),
    };
  },
};

/** @param {import('../..').Pool} pool */
async function doOthers(pool) {
  await pool.transaction(async (transaction) => {
    await transaction.query(OTHERS.table);
    await transaction.copyRows('bench_others', ['i'], [[1], [2]]);
  });
  let rows = 0;
  for await (const row of pool.stream(OTHERS.rows)) rows += row.one;
  if (rows !== OTHERS.rowCount) throw new Error(`The stream had ${rows} rows`);
  await pool.batch(OTHERS.batch.map((text) => ({ text })));
  const client = await pool.connect();
  try {
    await client.query(OTHERS.setting);
  } finally {
    client.release();
  }
}
