'use strict';

// `postgres`, also known as Postgres.js. Loaded by child.js.

const { readFileSync } = require('node:fs');
const OTHERS = require('./others');
const { packageVersion } = require('./package-version');

const MAX_PIPELINE = 1024;

/** @type {typeof import('postgres')} */
let postgres;

/** @type {import('.').Driver} */
module.exports = {
  name: 'postgres',
  settings:
    `max_pipeline: ${MAX_PIPELINE} on one connection, its default (100) in a pool; ` +
    'sql.unsafe(text, values, { prepare: true })',

  hasBatch: true,

  load() {
    postgres = require('postgres');
    return packageVersion('postgres');
  },

  async connect({ config, max, tls }) {
    const { host, port, user, database, password } = config;
    const sql = postgres({
      host,
      port,
      user,
      database,
      password,
      max,
      prepare: true,
      fetch_types: false,
      ...(tls && { ssl: { ca: readFileSync(tls.caFile, 'utf8') } }),
      ...(max === 1 && { max_pipeline: MAX_PIPELINE }),
    });
    await Promise.all(Array.from({ length: max }, () => sql`select 1`));
    const options = { prepare: true, simple: false };
    return {
      query: (text, values) =>
        sql.unsafe(
          text,
          /** @type {import('postgres').ParameterOrJSON<never>[]} */ (values),
          options,
        ),
      batch: (text, valuesOfEach) =>
        sql.begin((transaction) =>
          valuesOfEach.map((values) =>
            transaction.unsafe(
              text,
              /** @type {import('postgres').ParameterOrJSON<never>[]} */ (values),
              options,
            ),
          ),
        ),
      ...(max > 1 && { others: () => doOthers(sql) }),
      end: () => sql.end(),
    };
  },
};

/** @param {import('postgres').Sql} sql */
async function doOthers(sql) {
  await sql.begin(async (transaction) => {
    await transaction.unsafe(OTHERS.table);
    await transaction`insert into bench_others ${transaction([{ i: 1 }, { i: 2 }])}`;
  });
  let rows = 0;
  for await (const some of sql.unsafe(OTHERS.rows).cursor()) rows += some.length;
  if (rows !== OTHERS.rowCount) throw new Error(`The cursor had ${rows} rows`);
  await sql.begin((transaction) => OTHERS.batch.map((text) => transaction.unsafe(text)));
  const reserved = await sql.reserve();
  try {
    await reserved.unsafe(OTHERS.setting);
  } finally {
    reserved.release();
  }
}
