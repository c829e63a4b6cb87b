'use strict';

// `pg` with `pipeline: true` (8.23 and later): it writes each query at once. Loaded by child.js.

const { leastBusy } = require('./least-busy');
const { StatementNames } = require('./statement-names');

/** @type {typeof import('pg')} */
let pg;

/** @type {import('.').Driver} */
module.exports = {
  name: 'pg-pipeline',
  settings:
    'Client with pipeline: true, named statements; the pool is ours, least busy connection first (its ' +
    'own lends a connection to one query at a time)',

  load() {
    pg = require('pg');
    return require('pg/package.json').version;
  },

  async connect({ max, ...target }) {
    const sessions = await Promise.all(Array.from({ length: max }, () => connectOne(target)));
    return max > 1 ? leastBusy(sessions) : sessions[0];
  },
};

/**
 * @param {Omit<import('.').ConnectOptions, 'max'>} options
 * @returns {Promise<import('.').Session>}
 */
async function connectOne({ connectionString, config, prepare }) {
  const options = { connectionString, password: config.password, pipeline: true };
  const client = new pg.Client(options);
  await client.connect();
  const names = new StatementNames(prepare);
  return {
    query: async (text, values) =>
      (await client.query({ name: names.get(text), text, values })).rows,
    end: () => client.end(),
  };
}
