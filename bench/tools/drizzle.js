'use strict';

// drizzle-orm on a Pool: its queries go to pool.query(), its transactions check out a client. One of index.js.

const { SCHEMA } = require('../tables');
const { requireFromTools } = require('.');

/** @type {import('.').Tool} */
module.exports = {
  packageName: 'drizzle-orm',

  async open({ url, max }) {
    const { Pool } = requireFromTools('pg');
    const { eq } = requireFromTools('drizzle-orm');
    const { drizzle } = requireFromTools('drizzle-orm/node-postgres');
    const { integer, pgSchema } = requireFromTools('drizzle-orm/pg-core');
    const { table } = newTables(pgSchema(SCHEMA), integer);
    const pool = new Pool({ connectionString: url, max });
    const db = drizzle(pool);
    /** @param {any} on @returns {import('.').Statements} */
    const statements = (on) => ({
      async point(id) {
        const [row] = await on.select().from(table.points).where(eq(table.points.id, id));
        return row;
      },
      insert: (id, n) => on.insert(table.inserts).values({ id, n }),
      update: (id, randomNumber) =>
        on.update(table.world).set({ randomNumber }).where(eq(table.world.id, id)),
      async world(id) {
        const [row] = await on.select().from(table.world).where(eq(table.world.id, id));
        return row.randomNumber;
      },
    });
    return {
      ...statements(db),
      transaction: (run) => db.transaction((/** @type {any} */ tx) => run(statements(tx))),
      end: () => pool.end(),
    };
  },
};

/** @param {any} schema @param {any} integer */
function newTables(schema, integer) {
  const id = () => integer('id').primaryKey();
  return {
    table: {
      points: schema.table('points', { id: id(), n: integer('n') }),
      inserts: schema.table('inserts', { id: id(), n: integer('n') }),
      world: schema.table('world', { id: id(), randomNumber: integer('randomnumber') }),
    },
  };
}
