'use strict';

// One caller, one query after the other: what it brings, and what it costs, that the event loop stays awake for an answer
// (`busyPollMicros`). One of the experiments of index.js.

const { closedLoop } = require('../measure');

/**
 * @typedef {object} Way
 * @property {number} [micros] undefined: `pg`
 *
 * @typedef {import('.').Arm & Way} Arm
 */

const SIZES = {
  full: { warmupMillis: 500, measureMillis: 2000 },
  tiny: { warmupMillis: 20, measureMillis: 40 },
};

/** A statement that counts so far is answered after about so many us, to one who stays awake. */
const STATEMENTS = [
  { micros: 30, count: 1 },
  { micros: 50, count: 300 },
  { micros: 70, count: 700 },
  { micros: 140, count: 1500 },
];
const TEXT = 'select count(*)::int as n from generate_series(1, $1::int)';

const OURS = 'pg-conduit';

/** @type {Arm[]} */
const ARMS = [
  {
    name: OURS,
    driver: 'pg-conduit',
    ours: true,
    settings: 'busyPollMicros: 100, the default',
    micros: 100,
  },
  ...[0, 50, 200].map((micros) => ({
    name: `pg-conduit, ${micros} µs`,
    driver: 'pg-conduit',
    settings: `busyPollMicros: ${micros}`,
    micros,
  })),
  { name: 'pg', driver: 'pg', settings: 'a Client' },
];

/** @param {Arm} arm @param {import('.').Target} target */
async function connect({ micros }, { connectionString, config: { password } }) {
  // One of them only: each driver is alone in its process.
  const { Client } = micros === undefined ? require('pg') : require('../..');
  const client = new Client({ connectionString, password, busyPollMicros: micros });
  await client.connect();
  return client;
}

/** @type {import('.').Experiment<Arm>} */
module.exports = {
  id: 'staying-awake',
  title: 'Staying awake for an answer',
  about: 'One query after the other: for how long is it worth it not to sleep?',
  ours: OURS,
  arms: ARMS,
  workloads: (size) => [
    {
      id: 'statements',
      title: 'One caller, of a server on the same machine',
      unit: 'query',
      cases: STATEMENTS.map(({ micros, count }) => ({
        name: `answered after ${micros} µs`,
        series: 'µs to the answer',
        x: micros,
        unitsPerOperation: 1,
        async run(arm, { target }) {
          const client = await connect(arm, target);
          const config = { name: 'count', text: TEXT, values: [count] };
          const query = async () => {
            const { rows } = await client.query(config);
            if (rows[0].n !== count) throw new Error(`${rows[0].n} instead of ${count}`);
          };
          const measured = await closedLoop(query, { ...SIZES[size], inFlight: 1, latency: true });
          await client.end();
          return measured;
        },
      })),
    },
  ],
};
