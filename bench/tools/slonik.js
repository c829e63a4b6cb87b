'use strict';

// Slonik, which makes the clients of its own pool. One of index.js.

const { SCHEMA } = require('../tables');
const { PATIENCE_MILLIS, requireFromTools } = require('.');

/** @type {import('.').Tool} */
module.exports = {
  packageName: 'slonik',
  makesClients: true,

  async open({ url, tls, max }) {
    const { createPool, sql } = requireFromTools('slonik');
    const pool = await createPool(tls ? `${url}?sslmode=no-verify` : url, {
      maximumPoolSize: max,
      connectionTimeout: PATIENCE_MILLIS, // also of a caller who waits for one that is free
    });
    const [points, inserts, world] = ['points', 'inserts', 'world'].map((name) =>
      sql.identifier([SCHEMA, name]),
    );
    /** @param {any} on @returns {import('.').Statements} */
    const statements = (on) => ({
      point: (id) => on.one(sql.unsafe`select id, n from ${points} where id = ${id}`),
      insert: (id, n) => on.query(sql.unsafe`insert into ${inserts} (id, n) values (${id}, ${n})`),
      update: (id, n) =>
        on.query(sql.unsafe`update ${world} set randomnumber = ${n} where id = ${id}`),
      world: (id) => on.oneFirst(sql.unsafe`select randomnumber from ${world} where id = ${id}`),
    });
    return {
      ...statements(pool),
      transaction: (run) => pool.transaction((/** @type {any} */ tx) => run(statements(tx))),
      end: () => pool.end(),
    };
  },
};
