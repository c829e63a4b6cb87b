'use strict';

// Statements that wait at the server without using it, as those of a coordinator do whose workers are on other machines,
// and now and then for long: of many callers on few connections, whom does one hold up? One of the experiments of index.js.

const { getDriver } = require('../drivers');
const { closedLoop, newRandom } = require('../measure');

const CONNECTIONS = 8;
const CALLERS = [16, 64, 512];

/** In ms: what a read waits, what a write waits, and what one write in twenty waits, whose worker is busy. */
const READ = 0.8;
const WRITE = 2;
const LATE = 30;
const WRITE_PART = 0.3;
const LATE_PART = 0.05;

const SIZES = {
  full: { warmupMillis: 1000, measureMillis: 5000 },
  tiny: { warmupMillis: 20, measureMillis: 40 },
};

const SELECT = 'select pg_sleep($1::float8) as read';
/** Another text, as an INSERT would be. */
const INSERT = 'select pg_sleep($1::float8) as written';

/** @type {import('.').Arm[]} */
const ARMS = ['pg-conduit', 'pg', 'pg-pipeline', 'postgres'].map((driver) => ({
  name: driver,
  driver,
  settings: `a pool of ${CONNECTIONS}`,
  ...(driver === 'pg-conduit' && { ours: true }),
}));

/** @type {import('.').Experiment} */
module.exports = {
  id: 'asking-others',
  title: 'A server that asks others',
  about:
    'What do many callers get from a server whose statements wait for other servers, one write in twenty for much longer than the others?',
  ours: 'pg-conduit',
  arms: ARMS,
  workloads: (size) => [
    {
      id: 'mixed',
      title: `${100 * (1 - WRITE_PART)} % reads that wait ${READ} ms, writes that wait ${WRITE} ms or, one in twenty, ${LATE} ms; ${CONNECTIONS} connections`,
      unit: 'query',
      cases: CALLERS.map((callers) => ({
        name: `${callers} callers`,
        series: 'callers',
        x: callers,
        unitsPerOperation: 1,
        async run(arm, { target }) {
          const driver = getDriver(arm.driver);
          driver.load();
          const session = await driver.connect({ ...target, max: CONNECTIONS, openAll: true });
          const random = newRandom(callers);
          const query = () => {
            if (random() >= WRITE_PART) return session.query(SELECT, [READ / 1000]);
            const millis = random() < LATE_PART ? LATE : WRITE;
            return session.query(INSERT, [millis / 1000]);
          };
          const measured = await closedLoop(query, {
            ...SIZES[size],
            inFlight: callers,
            latency: true,
          });
          await session.end();
          return measured;
        },
      })),
    },
  ],
};
