'use strict';

// Sequelize, which makes the clients of its own pool. One of index.js.

const { SCHEMA } = require('../tables');
const { PATIENCE_MILLIS, requireFromTools } = require('.');

/** @type {import('.').Tool} */
module.exports = {
  packageName: 'sequelize',
  makesClients: true,

  async open({ url, max }) {
    const { DataTypes, Sequelize } = requireFromTools('sequelize');
    const pool = { min: 0, max, acquire: PATIENCE_MILLIS };
    const sequelize = new Sequelize(url, { logging: false, pool });
    /** @param {string} name @param {string} column */
    const define = (name, column) =>
      sequelize.define(
        name,
        { id: { type: DataTypes.INTEGER, primaryKey: true }, [column]: DataTypes.INTEGER },
        { schema: SCHEMA, freezeTableName: true, timestamps: false },
      );
    const [Point, Insert] = ['points', 'inserts'].map((name) => define(name, 'n'));
    const World = define('world', 'randomnumber');
    /** @param {any} [transaction] @returns {import('.').Statements} */
    const statements = (transaction) => ({
      point: (id) => Point.findByPk(id, { transaction }),
      insert: (id, n) => Insert.create({ id, n }, { transaction }),
      update: (id, n) => World.update({ randomnumber: n }, { where: { id }, transaction }),
      world: async (id) => (await World.findByPk(id, { transaction })).randomnumber,
    });
    return {
      ...statements(),
      transaction: (run) =>
        sequelize.transaction((/** @type {any} */ transaction) => run(statements(transaction))),
      end: () => sequelize.close(),
    };
  },
};
