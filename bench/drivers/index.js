'use strict';

// The drivers by name, in the order of the report, ours first. Read by run.js and child.js.
// The files here may be required anywhere: a package is loaded by load() only.

/**
 * @typedef {object} ConnectChoices
 * @property {number} max
 * @property {boolean} [openAll] all connections before connect() resolves, or only as they are needed; without it each
 *   driver does as it does by default, or what it can
 * @property {boolean} [prepare] false: statements are not prepared, for drivers that the experiments use
 * @property {'off' | 'reads' | 'all'} [syncGroup] for drivers that can put a Sync behind several queries
 *
 * @typedef {import('../tables').Target & ConnectChoices} ConnectOptions
 *
 * One connection (`max: 1`) or a pool.
 * @typedef {object} Session
 * @property {(text: string, values: unknown[]) => Promise<any[]>} query resolves to the rows
 * @property {(text: string, valuesOfEach: unknown[][]) => Promise<unknown>} [batch] the text once for each
 *   list of values, all in one transaction, where the driver can send that without waiting in between
 * @property {() => Promise<unknown>} [others] of a pool: a transaction with a few rows that are stored in bulk, rows as they
 *   come, two statements as a batch, and a setting of a session that is borrowed for it
 * @property {() => Promise<unknown>} end
 *
 * @typedef {object} Driver
 * @property {string} name
 * @property {string} settings what it is told beside the address
 * @property {boolean} [hasBatch] its sessions have batch()
 * @property {string[]} [workloads] it takes part in no others
 * @property {() => string} load requires the package and returns its version
 * @property {(options: ConnectOptions) => Promise<Session>} connect with all connections open, where
 *   there is a way to ask for that
 */

const NAMES = [
  'pg-conduit',
  'pg',
  'pg-pipeline',
  'pg-native',
  'pg-native-pipeline',
  'postgres',
  'tokio-postgres',
  'pgx',
  'c-limit',
  'pgbench',
  'no-database',
];
const OURS = NAMES[0];

/**
 * @param {string} name any but those that are programs: ../programs.js
 * @returns {Driver}
 */
function getDriver(name) {
  return require(`./${name}`);
}

module.exports = { NAMES, OURS, getDriver };
