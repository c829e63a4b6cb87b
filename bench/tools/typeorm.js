'use strict';

// TypeORM on a Pool, from which it checks out a client for each query. One of index.js.

const { SCHEMA } = require('../tables');
const { requireFromTools } = require('.');

/** @type {import('.').Tool} */
module.exports = {
  packageName: 'typeorm',

  async open({ url, max }) {
    const { DataSource, EntitySchema } = requireFromTools('typeorm');
    /** @param {string} name @param {string} column */
    const newEntity = (name, column) =>
      new EntitySchema({
        name,
        tableName: name,
        schema: SCHEMA,
        columns: { id: { type: Number, primary: true }, [column]: { type: Number } },
      });
    const [points, inserts] = ['points', 'inserts'].map((name) => newEntity(name, 'n'));
    const worlds = newEntity('world', 'randomnumber');
    const entities = [points, inserts, worlds];
    const source = new DataSource({ type: 'postgres', url, entities, poolSize: max });
    await source.initialize();
    /** @param {any} manager @returns {import('.').Statements} */
    const statements = (manager) => ({
      point: (id) => manager.findOneBy(points, { id }),
      insert: (id, n) => manager.insert(inserts, { id, n }),
      update: (id, n) => manager.update(worlds, { id }, { randomnumber: n }),
      async world(id) {
        const { randomnumber } = await manager.findOneBy(worlds, { id });
        return randomnumber;
      },
    });
    return {
      ...statements(source.manager),
      transaction: (run) =>
        source.transaction((/** @type {any} */ manager) => run(statements(manager))),
      end: () => source.destroy(),
    };
  },
};
