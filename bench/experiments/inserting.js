'use strict';

// The ways to get many rows into a table: one by one, as promises, in Sync groups, as batches, by COPY. Used by
// latency-inserts.js.

const { getDriver } = require('../drivers');
const { CLEAR_INSERTS, COUNT_INSERTS, INSERT, SCHEMA, withClient } = require('../tables');
const { openPsql } = require('./psql');
const { share, timed } = require('./timed');

/**
 * @typedef {import('.').Target} Target
 * @typedef {[number, number]} Row
 *
 * A program tells by itself what it has taken, without what it takes to be started.
 * @typedef {{ millis: number, cpuMicros: number }} Told
 *
 * @typedef {object} Inserter
 * @property {(rows: Row[]) => Promise<Told | void>} insert
 * @property {() => Promise<unknown>} end
 *
 * @typedef {object} Way
 * @property {'inTurn' | 'pipelined' | 'copy'} kind
 * @property {(target: Target, server: Target) => Promise<Inserter>} open
 *
 * @typedef {import('.').Arm & Way} Arm
 */

/** Of those that are not awaited one by one, so many wait for an answer; and the length of a batch. */
const IN_FLIGHT = 1000;
const WARM_ROWS = { inTurn: 2, pipelined: 100, copy: 100 };

/**
 * @param {string} name of the driver
 * @param {Partial<import('../drivers').ConnectChoices>} choices
 * @param {number} inFlight
 * @returns {Way['open']}
 */
function asQueries(name, choices, inFlight) {
  return async (target) => {
    const driver = getDriver(name);
    driver.load();
    const session = await driver.connect({ ...target, max: 1, ...choices });
    return {
      insert: (rows) => share(inFlight, rows, (row) => session.query(INSERT, row)),
      end: () => session.end(),
    };
  };
}

/** @param {(client: import('../..').Client, rows: Row[]) => Promise<unknown>} insert @returns {Way['open']} */
function withConduit(insert) {
  return async ({ connectionString, config }) => {
    const { Client } = require('../..');
    const client = new Client({ connectionString, password: config.password });
    await client.connect();
    return {
      async insert(rows) {
        await insert(client, rows);
      },
      end: () => client.end(),
    };
  };
}

/** @type {Arm[]} */
const INSERTING = [
  {
    name: 'pg-conduit, batch',
    driver: 'pg-conduit',
    ours: true,
    kind: 'pipelined',
    settings: `client.batch() of ${IN_FLIGHT} inserts at a time`,
    open: withConduit(async (client, rows) => {
      for (let at = 0; at < rows.length; at += IN_FLIGHT) {
        const some = rows.slice(at, at + IN_FLIGHT);
        await client.batch(some.map((values) => ({ text: INSERT, values })));
      }
    }),
  },
  {
    name: 'pg-conduit, promises on one connection',
    driver: 'pg-conduit',
    ours: true,
    kind: 'pipelined',
    settings: `Client, ${IN_FLIGHT} callers, a Sync for each insert`,
    open: asQueries('pg-conduit', {}, IN_FLIGHT),
  },
  {
    name: 'pg-conduit, Sync groups',
    driver: 'pg-conduit',
    ours: true,
    kind: 'pipelined',
    settings: `Pool with max: 1, syncGroup: 'all', ${IN_FLIGHT} callers`,
    open: asQueries('pg-conduit', { syncGroup: 'all' }, IN_FLIGHT),
  },
  {
    name: 'pg-conduit, copyRows',
    driver: 'pg-conduit',
    ours: true,
    kind: 'copy',
    settings: 'client.copyRows(), binary COPY',
    open: withConduit((client, rows) => client.copyRows([SCHEMA, 'inserts'], ['id', 'n'], rows)),
  },
  {
    name: 'pg-conduit, one by one',
    driver: 'pg-conduit',
    ours: true,
    kind: 'inTurn',
    settings: 'Client, each insert awaited before the next',
    open: asQueries('pg-conduit', {}, 1),
  },
  {
    name: 'pg, one by one',
    driver: 'pg',
    kind: 'inTurn',
    settings: 'Client, each insert awaited before the next',
    open: asQueries('pg', {}, 1),
  },
  {
    name: 'pg, pipeline: true',
    driver: 'pg-pipeline',
    kind: 'pipelined',
    settings: `one Client with pipeline: true; inserts by ${IN_FLIGHT} callers`,
    open: asQueries('pg-pipeline', {}, IN_FLIGHT),
  },
  {
    name: 'psql, \\copy',
    driver: 'psql',
    limit: true,
    kind: 'copy',
    settings: 'from a file, without the time to start and connect; converts no values',
    open: openPsql,
  },
];

/** @param {number} count @returns {Row[]} */
function makeRows(count) {
  return Array.from({ length: count }, (_, i) => [i + 1, i % 1000]);
}

/**
 * The table holds afterwards what was inserted, and nothing else.
 * @param {Arm} arm
 * @param {Target} target
 * @param {Target} server for everything that is not measured
 * @param {{ rows: number, measured: number, millis?: number }} counts
 */
async function insertAndCheck(arm, target, server, { rows: wanted, measured, millis }) {
  const { insert, end } = await arm.open(target, server);
  const clear = () =>
    withClient(server, async (client) => {
      await client.query(CLEAR_INSERTS);
    });
  // Twice, for a prepared statement whose cost is known.
  for (let i = 0; i < 2; i++) await insert(makeRows(WARM_ROWS[arm.kind]));
  await clear();
  const rows = makeRows(measured);
  let times = 0;
  /** @type {Told[]} */
  const told = [];
  const work = async () => {
    times++;
    const one = await insert(rows);
    if (one) told.push(one);
  };
  const measurement = await timed(work, { operations: measured, wanted, millis });
  await withClient(server, async (client) => {
    const found = (await client.query(COUNT_INSERTS)).rows[0];
    const sum = times * rows.reduce((total, [, n]) => total + n, 0);
    if (found.count !== times * measured || found.sum !== sum) {
      const inserted = times * measured;
      throw new Error(`${inserted} inserts, sum ${sum}; the table holds ${JSON.stringify(found)}`);
    }
  });
  await clear();
  await end();
  if (told.length === 0) return measurement;
  told.sort((a, b) => a.millis - b.millis);
  const { millis: timeMillis, cpuMicros } = told[told.length >> 1];
  return { ...measurement, operations: measured, timeMillis, cpuMicros };
}

module.exports = { INSERTING, insertAndCheck };
