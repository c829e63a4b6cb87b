'use strict';

// Many random point reads over connections that are made anew, kept, used in turn, in parallel, or shared; and what making
// one costs. One of the experiments of index.js.

const { getDriver } = require('../drivers');
const { newRandom } = require('../measure');
const { selectPoint } = require('../workloads/point-select');
const { share, timed } = require('./timed');

/**
 * @typedef {import('.').Session} Session
 * @typedef {(max: number, syncGroup?: 'reads') => Promise<Session>} Connect
 *
 * @typedef {object} Way
 * @property {(connect: Connect, read: (session: Session) => Promise<void>, reads: number) => Promise<void>} run
 * @property {boolean} [connects] for each read, so that fewer are made
 *
 * @typedef {import('.').Arm & Way} Arm
 */

const SIZES = {
  full: { reads: 50_000, connecting: 1000, openings: 300 },
  tiny: { reads: 200, connecting: 5, openings: 3 },
};
const CONNECTIONS = 10;
const IN_FLIGHT = 256;

/** @param {number} count */
function numbers(count) {
  return Array.from({ length: count }, (_, i) => i);
}

/** @type {Record<string, Way['run']>} */
const WAYS = {
  async connecting(connect, read, reads) {
    for (let i = 0; i < reads; i++) {
      const session = await connect(1);
      await read(session);
      await session.end();
    }
  },
  async kept(connect, read, reads) {
    const session = await connect(1);
    for (let i = 0; i < reads; i++) await read(session);
    await session.end();
  },
  async inTurn(connect, read, reads) {
    const sessions = await Promise.all(numbers(CONNECTIONS).map(() => connect(1)));
    for (let i = 0; i < reads; i++) await read(sessions[i % CONNECTIONS]);
    await Promise.all(sessions.map((session) => session.end()));
  },
  async inParallel(connect, read, reads) {
    const sessions = await Promise.all(numbers(CONNECTIONS).map(() => connect(1)));
    const left = numbers(reads).values();
    await Promise.all(sessions.map((session) => share(1, left, () => read(session))));
    await Promise.all(sessions.map((session) => session.end()));
  },
  async pipelined(connect, read, reads) {
    const session = await connect(1, 'reads');
    await share(IN_FLIGHT, numbers(reads), () => read(session));
    await session.end();
  },
};

/** @type {[string, string, string][]} */
const KINDS = [
  ['pipelined', 'one pipelined', `one connection with ${IN_FLIGHT} callers`],
  ['connecting', 'connecting each time', 'a connection for each read, one after the other'],
  ['kept', 'one kept', 'one connection, a read after the other'],
  ['inTurn', 'ten in turn', `${CONNECTIONS} connections used in turn, a read after the other`],
  ['inParallel', 'ten in parallel', `${CONNECTIONS} connections, each a read after the other`],
];

/** @type {Arm[]} */
const ARMS = ['pg-conduit', 'pg', 'pg-pipeline'].flatMap((driver) => {
  // A connection of `pg` takes one query at a time, so that none is pipelined there.
  const possible = KINDS.filter(
    ([way]) => driver === 'pg-conduit' || (way === 'pipelined') === (driver === 'pg-pipeline'),
  );
  return possible.map(([way, name, settings]) => ({
    name: `${driver}, ${name}`,
    driver,
    ours: driver === 'pg-conduit',
    settings,
    connects: way === 'connecting',
    run: WAYS[way],
  }));
});

/** @param {Arm} arm @param {import('.').Context} context @returns {Connect} */
function connector({ driver: name }, { target }) {
  const driver = getDriver(name);
  driver.load();
  return (max, syncGroup) => driver.connect({ ...target, max, syncGroup });
}

/** @type {import('.').Experiment<Arm>} */
module.exports = {
  id: 'connections',
  title: 'Connections: made anew, kept, shared',
  about:
    'How long do so many random point reads take over connections that are made anew for each, kept, used in turn, in ' +
    'parallel, or shared? Statements are prepared on connections that are kept.',
  ours: ARMS[0].name,
  arms: ARMS,
  workloads(size) {
    const { reads, connecting, openings } = SIZES[size];
    return [
      {
        id: 'reads',
        title: 'Random point reads',
        unit: 'read',
        cases: [
          {
            name: `${reads.toLocaleString('en')} reads`,
            isTimed: true,
            unitsPerOperation: 1,
            published: {
              'pg, connecting each time': '47 s',
              'pg, one kept': '15 s',
              'pg, ten in turn': '15 s',
              'pg, ten in parallel': '3 s',
            },
            async run(arm, context) {
              const connect = connector(arm, context);
              const random = newRandom(3);
              const read = (/** @type {Session} */ session) => selectPoint(session, random);
              const operations = arm.connects ? connecting : reads;
              await arm.run(connect, read, Math.ceil(operations / 20));
              return timed(() => arm.run(connect, read, operations), { operations, wanted: reads });
            },
          },
        ],
      },
      {
        id: 'opening',
        title: 'Making a connection and closing it, without a query',
        unit: 'connection',
        cases: [
          {
            name: 'one connection',
            isTimed: true,
            unitsPerOperation: 1,
            takesPart: ({ connects }) => Boolean(connects),
            ours: 'pg-conduit, connecting each time',
            async run(arm, context) {
              const connect = connector(arm, context);
              const open = async (/** @type {number} */ count) => {
                for (let i = 0; i < count; i++) await (await connect(1)).end();
              };
              await open(Math.ceil(openings / 10));
              const all = await timed(() => open(openings), { operations: openings });
              return { ...all, timeMillis: Number(all.timeMillis) / openings };
            },
          },
        ],
      },
    ];
  },
};
