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
    const { points, inserts, world } = newTables(pgSchema(SCHEMA), integer);
    const pool = new Pool({ connectionString: url, max });
    const db = drizzle(pool);
    /** @param {any} on @returns {import('.').Statements} */
    const statements = (on) => ({
      async point(id) {
        const [row] = await on.select().from(points).where(eq(points.id, id));
        return row;
      },
      insert: (id, n) => on.insert(inserts).values({ id, n }),
      update: (id, randomNumber) => on.update(world).set({ randomNumber }).where(eq(world.id, id)),
      async world(id) {
        const [row] = await on.select().from(world).where(eq(world.id, id));
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
    points: schema.table('points', { id: id(), n: integer('n') }),
    inserts: schema.table('inserts', { id: id(), n: integer('n') }),
    world: schema.table('world', { id: id(), randomNumber: integer('randomnumber') }),
  };
}
