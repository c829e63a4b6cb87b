'use strict';

// Knex, which makes the clients of its own pool. One of index.js.

const { SCHEMA } = require('../tables');
const { requireFromTools } = require('.');

/** @type {import('.').Tool} */
module.exports = {
  packageName: 'knex',
  makesClients: true,

  async open({ url, max }) {
    const makeKnex = requireFromTools('knex');
    const knex = makeKnex({ client: 'pg', connection: url, pool: { min: 0, max } });
    const [points, inserts, world] = ['points', 'inserts', 'world'].map(
      (name) => `${SCHEMA}.${name}`,
    );
    /** @param {any} on @returns {import('.').Statements} */
    const statements = (on) => ({
      point: async (id) => on(points).where({ id }).first('id', 'n'),
      insert: async (id, n) => on(inserts).insert({ id, n }),
      update: async (id, n) => on(world).where({ id }).update({ randomnumber: n }),
      async world(id) {
        const { randomnumber } = await on(world).where({ id }).first('randomnumber');
        return randomnumber;
      },
    });
    return {
      ...statements(knex),
      transaction: (run) => knex.transaction((/** @type {any} */ trx) => run(statements(trx))),
      end: () => knex.destroy(),
    };
  },
};
