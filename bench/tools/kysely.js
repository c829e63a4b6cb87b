'use strict';

// Kysely on a Pool, from which it checks out a client for each query. One of index.js.

const { SCHEMA } = require('../tables');
const { requireFromTools } = require('.');

/** @type {import('.').Tool} */
module.exports = {
  packageName: 'kysely',

  async open({ url, max }) {
    const { Pool } = requireFromTools('pg');
    const { Kysely, PostgresDialect } = requireFromTools('kysely');
    const pool = new Pool({ connectionString: url, max });
    const db = new Kysely({ dialect: new PostgresDialect({ pool }) }).withSchema(SCHEMA);
    /** @param {any} on @returns {import('.').Statements} */
    const statements = (on) => ({
      point: (id) =>
        on.selectFrom('points').select(['id', 'n']).where('id', '=', id).executeTakeFirstOrThrow(),
      insert: (id, n) => on.insertInto('inserts').values({ id, n }).execute(),
      update: (id, n) =>
        on.updateTable('world').set({ randomnumber: n }).where('id', '=', id).execute(),
      async world(id) {
        const { randomnumber } = await on
          .selectFrom('world')
          .select('randomnumber')
          .where('id', '=', id)
          .executeTakeFirstOrThrow();
        return randomnumber;
      },
    });
    return {
      ...statements(db),
      transaction: (run) =>
        db.transaction().execute((/** @type {any} */ trx) => run(statements(trx))),
      end: () => db.destroy(),
    };
  },
};
