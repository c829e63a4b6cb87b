'use strict';

// Prisma's driver adapter, as its query compiler calls it: on a Pool, whose clients it checks out for transactions. The
// compiler itself is not run. One of index.js.

const { SCHEMA } = require('../tables');
const { requireFromTools } = require('.');

const INT = { scalarType: 'int', arity: 'scalar' };

/** @type {import('.').Tool} */
module.exports = {
  packageName: '@prisma/adapter-pg',

  async open({ url, max }) {
    const { PrismaPg } = requireFromTools('@prisma/adapter-pg');
    const adapter = await new PrismaPg({ connectionString: url, max }).connect();
    /** @param {string} sql @param {number[]} args */
    const statement = (sql, ...args) => ({ sql, args, argTypes: args.map(() => INT) });
    /** @param {any} on @returns {import('.').Statements} */
    const statements = (on) => ({
      async point(id) {
        const text = `select id, n from ${SCHEMA}.points where id = $1`;
        const { columnNames, rows } = await on.queryRaw(statement(text, id));
        return Object.fromEntries(columnNames.map((name, index) => [name, rows[0][index]]));
      },
      insert: (id, n) =>
        on.executeRaw(statement(`insert into ${SCHEMA}.inserts (id, n) values ($1, $2)`, id, n)),
      update: (id, n) =>
        on.executeRaw(
          statement(`update ${SCHEMA}.world set randomnumber = $2 where id = $1`, id, n),
        ),
      async world(id) {
        const text = `select randomnumber from ${SCHEMA}.world where id = $1`;
        return (await on.queryRaw(statement(text, id))).rows[0][0];
      },
    });
    return {
      ...statements(adapter),
      async transaction(run) {
        const transaction = await adapter.startTransaction();
        try {
          await run(statements(transaction));
        } catch (error) {
          await transaction.executeRaw(statement('ROLLBACK'));
          await transaction.rollback();
          throw error;
        }
        await transaction.executeRaw(statement('COMMIT'));
        await transaction.commit();
      },
      end: () => adapter.dispose(),
    };
  },
};
