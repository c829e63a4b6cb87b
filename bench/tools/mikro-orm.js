'use strict';

// MikroORM 6, which makes the clients of its own pool, by Knex. Each operation has an entity manager of its own, as each
// request of an application has. One of index.js.

const { SCHEMA } = require('../tables');
const { requireFromTools } = require('.');

/** @type {import('.').Tool} */
module.exports = {
  packageName: '@mikro-orm/postgresql',
  makesClients: true,

  async open({ url, max }) {
    const { EntitySchema, MikroORM } = requireFromTools('@mikro-orm/postgresql');
    /** @param {string} name @param {string} tableName @param {string} column */
    const newEntity = (name, tableName, column) =>
      new EntitySchema({
        name,
        tableName,
        schema: SCHEMA,
        properties: { id: { type: 'number', primary: true }, [column]: { type: 'number' } },
      });
    const orm = await MikroORM.init({
      clientUrl: url,
      entities: [
        newEntity('Point', 'points', 'n'),
        newEntity('Insert', 'inserts', 'n'),
        newEntity('World', 'world', 'randomnumber'),
      ],
      pool: { min: 0, max },
    });
    /** @param {() => any} manager @returns {import('.').Statements} */
    const statements = (manager) => ({
      point: (id) => manager().findOneOrFail('Point', id),
      insert: (id, n) => manager().insert('Insert', { id, n }),
      update: (id, n) => manager().nativeUpdate('World', { id }, { randomnumber: n }),
      world: async (id) => (await manager().findOneOrFail('World', id)).randomnumber,
    });
    return {
      ...statements(() => orm.em.fork()),
      transaction: (run) =>
        orm.em.fork().transactional((/** @type {any} */ em) => run(statements(() => em))),
      end: () => orm.close(),
    };
  },
};
