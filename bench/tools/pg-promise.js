'use strict';

// pg-promise on a Pool, from which it checks out a client for each query. It writes the values into the texts, as it does
// by default. One of index.js.

const { SCHEMA } = require('../tables');
const { requireFromTools } = require('.');

/** @type {import('.').Tool} */
module.exports = {
  packageName: 'pg-promise',

  async open({ url, max }) {
    const makePromise = requireFromTools('pg-promise');
    const db = makePromise({ noWarnings: true })({ connectionString: url, max });
    /** @param {any} on @returns {import('.').Statements} */
    const statements = (on) => ({
      point: (id) => on.one(`select id, n from ${SCHEMA}.points where id = $1`, [id]),
      insert: (id, n) => on.none(`insert into ${SCHEMA}.inserts (id, n) values ($1, $2)`, [id, n]),
      update: (id, n) =>
        on.none(`update ${SCHEMA}.world set randomnumber = $2 where id = $1`, [id, n]),
      async world(id) {
        const text = `select randomnumber from ${SCHEMA}.world where id = $1`;
        return (await on.one(text, [id])).randomnumber;
      },
    });
    return {
      ...statements(db),
      transaction: (run) => db.tx((/** @type {any} */ tx) => run(statements(tx))),
      end: () => db.$pool.end(),
    };
  },
};
