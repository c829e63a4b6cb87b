'use strict';

// Many processes, as a fleet of web servers is: how many connections a server then holds, what they cost it, and how long
// callers wait. One of the experiments of index.js.

const { withMembers } = require('./members');
const { withPgBouncer } = require('./places');

/**
 * @typedef {import('.').Context} Context
 * @typedef {import('./members').Members} Members
 * @typedef {import('../measure').Measurement} Measurement
 * @typedef {import('.').Arm & { choices: import('./member').Job['choices'] }} Arm
 */

const SIZES = {
  full: { processes: 50, callers: 200, warmMillis: 2000, millis: 10_000 },
  tiny: { processes: 2, callers: 3, warmMillis: 20, millis: 200 },
};
const THINK_MILLIS = { full: 2000, tiny: 10 };
const POOL = 10;
const POOLED = 20;
const SLOW_MILLIS = 50;
const SLOW_PART = 0.01;

/** @type {Arm[]} */
const ARMS = [
  ['pg-conduit', 1, ''],
  ['pg-conduit', 2, ''],
  ['pg-conduit', 4, ''],
  ['pg', 1, ''],
  ['pg', POOL, ''],
  ['pg-pipeline', 1, ''],
  ['postgres', POOL, ''],
  ['pg', POOL, 'pgbouncer'],
].map(([driver, max, through]) => ({
  name: `${driver}, ${max} each${through && ', through PgBouncer'}`,
  driver: String(driver),
  ours: driver === 'pg-conduit',
  settings: `${max === 1 ? 'a Client' : `a Pool with max: ${max}`} in each process`,
  ...(through && { through: String(through) }),
  // Names of prepared statements are those of a session, and PgBouncer 1.18 mixes sessions.
  choices: { max: Number(max), openAll: true, ...(through && { prepare: false }) },
}));

/**
 * @param {Arm} arm
 * @param {Context} context
 * @param {{ processes: number, callers: number }} size
 * @param {(members: Members) => Promise<Measurement>} measure
 */
function withFleet(
  { driver, choices, through },
  { target, server, places },
  { processes, callers },
  measure,
) {
  const job = { driver, target, choices, callers, slowMillis: SLOW_MILLIS };
  const poolers = through === undefined ? [] : [places[through].pid];
  return withMembers({ count: processes, kind: 'processes', job, server, poolers }, measure);
}

/** @type {import('.').Experiment<Arm>} */
module.exports = {
  id: 'fleet',
  title: 'A fleet of processes',
  about:
    'How many connections does a server hold, in how much memory, and how long do callers wait, when many processes with ' +
    'many callers each ask it? Everything, server and fleet, is on one machine.',
  ours: ARMS[0].name,
  arms: ARMS,
  workloads(size) {
    const { processes, callers, warmMillis, millis } = SIZES[size];
    const thinkMillis = THINK_MILLIS[size];
    const all = `${(processes * callers).toLocaleString('en')} callers in ${processes} processes`;
    /** @param {number} slowPart */
    const thinking = (slowPart) => (/** @type {Arm} */ arm, /** @type {Context} */ context) =>
      withFleet(arm, context, SIZES[size], async (members) => {
        await members.measure({ what: 'work', millis: warmMillis, thinkMillis, slowPart: 0 });
        return members.measure({ what: 'work', millis, thinkMillis, slowPart });
      });
    return [
      {
        id: 'thinking',
        title: `${all}, each with a point select every ${thinkMillis / 1000} s`,
        unit: 'query',
        cases: [
          { name: 'point selects', unitsPerOperation: 1, run: thinking(0) },
          {
            name: `one in ${1 / SLOW_PART} takes ${SLOW_MILLIS} ms at the server`,
            unitsPerOperation: 1,
            run: thinking(SLOW_PART),
          },
        ],
        setUp: (server) => withPgBouncer(server, { poolMode: 'transaction', poolSize: POOLED }),
      },
      {
        id: 'burst',
        title: `${all}, one point select each, all at once`,
        unit: 'query',
        cases: [
          {
            name: 'at once',
            isTimed: true,
            unitsPerOperation: 1,
            run: (arm, context) =>
              withFleet(arm, context, SIZES[size], async (members) => {
                await members.measure({ what: 'burst' });
                const measured = await members.measure({ what: 'burst' });
                return { ...measured, timeMillis: measured.seconds * 1000 };
              }),
          },
        ],
        setUp: (server) => withPgBouncer(server, { poolMode: 'transaction', poolSize: POOLED }),
      },
    ];
  },
};
