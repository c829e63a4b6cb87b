'use strict';

// Many single-row INSERTs, far away and near, in every way that there is to send them; COPY beside them; and many SELECTs
// of one page, as an ORM makes them. One of the experiments of index.js, the ways are those of inserting.js.

const { getDriver } = require('../drivers');
const { MAX_ROWS, SELECT_INTEGERS, SELECT_POINT, checkRows, expectedPoint } = require('../tables');
const { INSERTING, insertAndCheck } = require('./inserting');
const { withLatency } = require('./places');
const { timed } = require('./timed');

/** @typedef {import('./inserting').Arm} InsertArm */
/**
 * @typedef {object} Selecting
 * @property {Partial<import('../drivers').ConnectChoices>} [choices]
 * @property {'pool' | 'single'} [waits] for a round trip before the next query, on each of so many connections
 *
 * @typedef {import('.').Arm & Selecting} SelectArm
 */
/** @typedef {InsertArm & SelectArm} Arm */

const SIZES = {
  full: {
    roundTripMillis: 320,
    far: { inserts: 500, inTurn: 10 },
    near: { inserts: 10_000, inTurn: 10_000, millis: 500 },
    many: { rows: 1_000_000, inTurn: 20_000, pipelined: 200_000 },
    parents: 1000,
    farParents: { pool: 200, single: 10 },
  },
  tiny: {
    roundTripMillis: 4,
    far: { inserts: 20, inTurn: 4 },
    near: { inserts: 40, inTurn: 40, millis: 0 },
    many: { rows: 2000, inTurn: 40, pipelined: 400 },
    parents: 20,
    farParents: { pool: 10, single: 2 },
  },
};

/** @type {SelectArm[]} */
const SELECTING = [
  {
    name: 'pg-conduit, Pool',
    driver: 'pg-conduit',
    ours: true,
    settings: 'Pool, defaults',
    choices: { max: 10, openAll: false },
  },
  {
    name: 'pg-conduit, one shared connection',
    driver: 'pg-conduit',
    ours: true,
    settings: 'Pool with max: 1',
    choices: { max: 1, syncGroup: 'reads' },
  },
  {
    name: 'pg, Pool',
    driver: 'pg',
    settings: 'Pool with max: 10, the default',
    choices: { max: 10 },
    waits: 'pool',
  },
  {
    name: 'pg, one connection',
    driver: 'pg',
    settings: 'Client',
    choices: { max: 1 },
    waits: 'single',
  },
  {
    name: 'pg, pipeline: true',
    driver: 'pg-pipeline',
    settings: 'one Client with pipeline: true',
    choices: { max: 1 },
  },
];

/** Of a name that both lists have, one arm does both. */
const ARMS = /** @type {Arm[]} */ ([
  ...INSERTING.map((arm) => ({
    ...arm,
    ...SELECTING.find(({ name }) => name === arm.name),
    ...arm,
  })),
  ...SELECTING.filter(({ name }) => INSERTING.every((arm) => arm.name !== name)),
]);

/** @param {Arm} arm */
const inserts = (arm) => arm.open !== undefined;
/** @param {Arm} arm */
const selects = (arm) => arm.choices !== undefined;

/**
 * A list, and one query for each of its members, as the lazy relations of an ORM make them.
 * @param {import('.').Session} session
 * @param {number} count
 */
async function loadWithRelations(session, count) {
  const parents = await session.query(SELECT_INTEGERS, [count]);
  checkRows(parents, count, expectedPoint);
  const loaded = await Promise.all(
    parents.map(async (parent) => ({
      ...parent,
      relation: (await session.query(SELECT_POINT, [MAX_ROWS - parent.id]))[0],
    })),
  );
  checkRows(
    loaded.map(({ relation }) => relation),
    count,
    (id) => expectedPoint(MAX_ROWS - id),
  );
}

/**
 * @param {Arm} arm
 * @param {import('.').Target} target
 * @param {number} parents
 * @param {number} [wanted] where fewer are measured
 */
async function measureRelations({ driver: name, choices }, target, parents, wanted = parents) {
  const driver = getDriver(name);
  driver.load();
  const session = await driver.connect({ max: 1, ...target, ...choices });
  // As often as a statement must be used to be prepared on each connection.
  for (let i = 0; i < 3; i++) await loadWithRelations(session, Math.ceil(parents / 10));
  const work = () => loadWithRelations(session, parents);
  const measurement = await timed(work, { operations: parents + 1, wanted: wanted + 1 });
  await session.end();
  return measurement;
}

/** @type {import('.').Experiment<Arm>} */
module.exports = {
  id: 'latency-inserts',
  title: 'Many inserts, far and near',
  about:
    'How long do many single-row INSERTs take, one by one or sent together, over a slow network and over a unix ' +
    'socket? And how far is all of it from COPY? Prepared statements everywhere, and connections that are open.',
  ours: ARMS[0].name,
  arms: ARMS,
  workloads(size) {
    const { roundTripMillis, far, near, many, parents, farParents } = SIZES[size];
    const common = { isTimed: true, unitsPerOperation: 1 };
    const format = (/** @type {number} */ count) => count.toLocaleString('en');
    return [
      {
        id: 'far',
        title: `A round trip of ${roundTripMillis} ms`,
        unit: 'query',
        setUp: (server) => withLatency(server, roundTripMillis),
        cases: [
          {
            ...common,
            name: `${far.inserts} inserts`,
            takesPart: inserts,
            published: {
              'pg, one by one': '167.0 s',
              'pg-conduit, batch': '1.2 s, 120x',
            },
            run: (arm, { places, server }) =>
              insertAndCheck(arm, places.latency, server, {
                rows: far.inserts,
                measured: arm.kind === 'inTurn' ? far.inTurn : far.inserts,
              }),
          },
          {
            ...common,
            name: `${format(parents + 1)} selects of an ORM`,
            takesPart: selects,
            ours: SELECTING[0].name,
            run: (arm, { places }) =>
              measureRelations(
                arm,
                places.latency,
                arm.waits === undefined ? parents : farParents[arm.waits],
                parents,
              ),
          },
        ],
      },
      {
        id: 'near',
        title: 'Over a unix socket',
        unit: 'query',
        cases: [
          {
            ...common,
            name: `${format(near.inserts)} inserts`,
            takesPart: inserts,
            published: { 'pg-conduit, batch': '1.5x' },
            run: (arm, { server }) =>
              insertAndCheck(arm, server, server, {
                rows: near.inserts,
                measured: near.inserts,
                millis: near.millis,
              }),
          },
          {
            ...common,
            name: `${format(parents + 1)} selects of an ORM`,
            takesPart: selects,
            ours: SELECTING[0].name,
            run: (arm, { server }) => measureRelations(arm, server, parents),
          },
          {
            ...common,
            name: `${format(many.rows)} rows`,
            takesPart: inserts,
            published: {
              'pg, one by one': '36.15 s',
              'pg-conduit, batch': '23.7 s',
              'psql, \\copy': '1.74 s',
            },
            run: (arm, { server }) =>
              insertAndCheck(arm, server, server, {
                rows: many.rows,
                measured: { inTurn: many.inTurn, pipelined: many.pipelined, copy: many.rows }[
                  arm.kind
                ],
              }),
          },
        ],
      },
    ];
  },
};
