'use strict';

// W8: what the driver brings to those who use it through an ORM or a query builder, near the server and at a distance. Each
// tool runs with `pg` and with pg-conduit in its place. Run by ../tools/child.js.

const path = require('node:path');
const { OURS } = require('../drivers');
const { closedLoop, newRandom } = require('../measure');
const { ROWS, SCHEMA, expectedPoint } = require('../tables');
const { TOOL_NAMES } = require('../tools');
const { ROUND_TRIP_MILLIS, openPlaces } = require('../tools/places');
const { inTurn } = require('../turn-clock');

const DRIVERS = [OURS, 'pg'];
const CALLERS = 200;
/** It takes long, and the factors are large. */
const MOST_ROUNDS = 3;
/** Loading a tool, opening its connections, and the last round of as many callers as wait for the slowest. */
const PATIENCE_MILLIS = 20_000;

/**
 * @typedef {import('../tools').ToolSession} ToolSession
 * @typedef {import('../tools').Statements} Statements
 * @typedef {{ last: number, sum: number }} Inserted the last id, and the sum of `n`
 *
 * @typedef {object} ToolCase
 * @property {string} tool
 * @property {'near' | 'away'} place
 * @property {string} shape what is done in both places
 * @property {(session: ToolSession, client: import('pg').Client, timing: import('.').Timing & { driver: string }) =>
 *   Promise<import('.').Measurement>} runTool the client is for what the workload itself asks
 */

const COUNT_INSERTS = `select count(*)::int as count, coalesce(sum(n), 0)::float8 as sum from ${SCHEMA}.inserts
  where id > $1 and id <= $2`;
const LAST_INSERTED = `select coalesce(max(id), $1) as last from ${SCHEMA}.inserts where id between $1 and $2`;
/** Ids of one process: all of them fit into an int4. */
const RANGE = Math.floor(2 ** 31 / (TOOL_NAMES.length * DRIVERS.length));

/** @param {string} tool @param {string} driver @returns {number} the least of the ids that it may insert */
function rangeOf(tool, driver) {
  return (TOOL_NAMES.indexOf(tool) * DRIVERS.length + DRIVERS.indexOf(driver)) * RANGE;
}

/** @param {import('pg').Client} client @param {number} first of the range @returns {Promise<number>} */
async function lastInserted(client, first) {
  const { rows } = await client.query(LAST_INSERTED, [first, first + RANGE - 1]);
  return rows[0].last;
}

/** @param {() => number} random */
function anyId(random) {
  return 1 + Math.floor(random() * ROWS);
}

/** @param {Statements} on @param {() => number} random */
async function selectPoint(on, random) {
  const id = anyId(random);
  const row = await on.point(id);
  if (row?.id !== id || row.n !== expectedPoint(id).n) {
    throw new Error(`Asked for row ${id} and got ${JSON.stringify(row)}`);
  }
}

/** @param {Statements} on @param {Inserted} inserted */
async function insert(on, inserted) {
  const id = ++inserted.last;
  const n = id % 1000;
  inserted.sum += n;
  await on.insert(id, n);
}

/**
 * Between BEGIN and COMMIT, or whatever the tool sends for these, each one awaited before the next.
 * @param {ToolSession} session
 * @param {() => number} random
 * @param {Inserted} inserted
 */
async function runTransaction(session, random, inserted) {
  await session.transaction(async (on) => {
    const id = anyId(random);
    const n = anyId(random);
    await selectPoint(on, random);
    await insert(on, inserted);
    await on.update(id, n);
    const found = await on.world(id);
    if (found !== n) throw new Error(`Wrote ${n} into row ${id} and read ${found}`);
  });
}

/** @type {{ name: string, callers: number, run: typeof runTransaction }[]} */
const SHAPES = [
  { name: 'point selects', callers: CALLERS, run: selectPoint },
  { name: 'single inserts', callers: CALLERS, run: (session, _, made) => insert(session, made) },
  { name: 'transactions of four statements', callers: CALLERS, run: runTransaction },
  { name: 'transactions of four statements', callers: 1, run: runTransaction },
];
const PLACES = { near: 'near', away: `${ROUND_TRIP_MILLIS} ms away` };

/**
 * @param {string} tool
 * @param {'near' | 'away'} place
 * @param {typeof SHAPES[number]} shape
 * @returns {import('.').Case & ToolCase}
 */
function newCase(tool, place, { name, callers, run }) {
  const shape = `${name}, ${callers === 1 ? '1 caller' : `${callers} callers`}`;
  const group = `${shape}, ${PLACES[place]}`;
  return {
    name: `${tool}: ${group}`,
    group,
    member: tool,
    part: tool,
    tool,
    place,
    shape,
    max: 1,
    once: true,
    mostRounds: MOST_ROUNDS,
    full: callers === 1 || place === 'near',
    unitsPerOperation: 1,
    run() {
      throw new Error('tools/child.js runs it');
    },
    async runTool(session, client, { driver, warmupMillis, measureMillis }) {
      const random = newRandom(8);
      // Other processes insert into the same table.
      const before = await inTurn(() => lastInserted(client, rangeOf(tool, driver)));
      const inserted = { last: before, sum: 0 };
      const operation = () => run(session, random, inserted);
      const timing = { warmupMillis, measureMillis };
      const measurement = await closedLoop(operation, { ...timing, inFlight: callers });
      const { rows } = await inTurn(() => client.query(COUNT_INSERTS, [before, inserted.last]));
      const [{ count, sum }] = rows;
      const expected = inserted.last - before;
      if (count !== expected || sum !== inserted.sum) {
        throw new Error(`${expected} inserts, sum ${inserted.sum}; the table has ${count}, ${sum}`);
      }
      return measurement;
    },
  };
}

const ALL = /** @type {const} */ (['near', 'away']).flatMap((place) =>
  SHAPES.map((shape) => ({ place, shape })),
);

/** @type {import('.').Workload & { cases: (import('.').Case & ToolCase)[] }} */
module.exports = {
  id: 'w8',
  title: `W8: through the tools, near the server and ${ROUND_TRIP_MILLIS} ms away`,
  unit: 'operation',
  drivers: DRIVERS,
  inTurns: true,
  script: path.join(__dirname, '..', 'tools', 'child.js'),
  // What the tools do with TLS by default differs, and some do not pass on who has signed the certificate.
  envFor: ({ tls }) => ({ PGSSLMODE: tls ? 'no-verify' : 'disable' }),
  patienceMillis: PATIENCE_MILLIS,
  setUp: openPlaces,
  cases: TOOL_NAMES.flatMap((tool) => ALL.map(({ place, shape }) => newCase(tool, place, shape))),
};
