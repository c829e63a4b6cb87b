'use strict';

// This package. Loaded by child.js.

/** @type {typeof import('../..')} */
let conduit;

/** @type {import('.').Driver} */
module.exports = {
  name: 'pg-conduit',
  settings: 'defaults: Client or Pool, a Sync for each query, prepared at the second use',

  load() {
    conduit = require('../..');
    return require('../../package.json').version;
  },

  async connect({ connectionString, config, max }) {
    const options = { connectionString, password: config.password };
    const queryable = max > 1 ? new conduit.Pool({ ...options, max }) : new conduit.Client(options);
    if (queryable instanceof conduit.Client) await queryable.connect();
    return {
      query: async (text, values) => (await queryable.query(text, values)).rows,
      end: () => queryable.end(),
    };
  },
};
