'use strict';

// Objection, whose models are above Knex, which makes the clients of its own pool. One of index.js.

const { SCHEMA } = require('../tables');
const { requireFromTools } = require('.');

/** @type {import('.').Tool} */
module.exports = {
  packageName: 'objection',
  makesClients: true,

  async open({ url, max }) {
    const makeKnex = requireFromTools('knex');
    const { Model } = requireFromTools('objection');
    const knex = makeKnex({ client: 'pg', connection: url, pool: { min: 0, max } });
    const [Point, Insert, World] = ['points', 'inserts', 'world'].map((name) =>
      class extends Model {
        static tableName = `${SCHEMA}.${name}`;
      }.bindKnex(knex),
    );
    /** @param {any} [trx] @returns {import('.').Statements} */
    const statements = (trx) => ({
      point: async (id) => Point.query(trx).findById(id),
      insert: async (id, n) => Insert.query(trx).insert({ id, n }),
      update: async (id, n) => World.query(trx).findById(id).patch({ randomnumber: n }),
      world: async (id) => (await World.query(trx).findById(id)).randomnumber,
    });
    return {
      ...statements(),
      transaction: (run) => knex.transaction((/** @type {any} */ trx) => run(statements(trx))),
      end: () => knex.destroy(),
    };
  },
};
