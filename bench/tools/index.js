'use strict';

// The tools of W8 by name: ORMs and query builders that people use with `pg`, each of them as its own documentation would
// write the statements. Read by workloads/w8-tools.js and child.js. The files here may be required anywhere: a package is
// loaded by open() only.

const { createRequire } = require('node:module');
const path = require('node:path');
const { packageVersion } = require('../drivers/package-version');

/**
 * @typedef {{ id: number, n: number }} Point
 *
 * What a tool can do with the database, or with a transaction in it. The tables are those of ../tables.js.
 * @typedef {object} Statements
 * @property {(id: number) => Promise<Point>} point a row of `points`
 * @property {(id: number, n: number) => Promise<unknown>} insert a row into `inserts`
 * @property {(id: number, n: number) => Promise<unknown>} update the row of `world`
 * @property {(id: number) => Promise<number>} world resolves to the random number of that row
 *
 * @typedef {object} Transactions
 * @property {(run: (on: Statements) => Promise<void>) => Promise<unknown>} transaction
 * @property {() => Promise<unknown>} end
 *
 * @typedef {Statements & Transactions} ToolSession
 *
 * @typedef {object} OpenOptions
 * @property {string} url
 * @property {{ host: string, port: number, user: string, database: string }} config the same
 * @property {boolean} tls the environment says so too, to those tools that leave that to the driver
 * @property {number} max connections, or clients, in its pool
 *
 * @typedef {object} Tool
 * @property {string} packageName
 * @property {boolean} [makesClients] it has a pool of its own, of clients that it makes one by one; the others use the
 *   driver's Pool
 * @property {(options: OpenOptions) => Promise<ToolSession>} open
 */

/** The tools are those of the compatibility tests, in the same versions. */
const FOLDER = path.join(__dirname, '..', '..', 'test', 'compat');
const TOOL_NAMES = [
  'drizzle',
  'kysely',
  'knex',
  'typeorm',
  'sequelize',
  'mikro-orm',
  'objection',
  'slonik',
  'pg-promise',
  'prisma',
];

/** For which a caller waits in a tool's own queue, where the tool has a limit: less would be an error under load. */
const PATIENCE_MILLIS = 60_000;

/** @param {string} name @returns {Tool} */
function getTool(name) {
  return require(`./${name}`);
}

/** @param {string} id of a package that a tool needs, or `pg` as the tool gets it @returns {any} */
function requireFromTools(id) {
  return createRequire(path.join(FOLDER, 'package.json'))(id);
}

/** @param {string} name */
function toolVersion(name) {
  return packageVersion(getTool(name).packageName, FOLDER);
}

module.exports = { FOLDER, PATIENCE_MILLIS, TOOL_NAMES, getTool, requireFromTools, toolVersion };
