'use strict';

// The process in which one driver is measured. Forked by children.js; serve-job.js is what it has in common with others.

const { getDriver } = require('./drivers');
const { runCases, send, serveJob } = require('./serve-job');
const { takeTurns } = require('./turn-clock');
const { WORKLOADS } = require('./workloads');

/**
 * @typedef {import('./measure').Timing} Timing
 * @typedef {import('./measure').Measurement} Measurement
 *
 * @typedef {object} Job
 * @property {string} driver
 * @property {import('./tables').Target} target
 * @property {string} workload
 * @property {string[]} cases
 * @property {Timing & { firstWarmupMillis: number }} timing
 * @property {boolean} [takesTurns] with the processes of other drivers (turns.js)
 *
 * @typedef {{ version: string, settings: string }} Loaded
 *
 * What child.js sends: once that the driver could be loaded, then one for each case; and, if it takes turns, that it has
 * nothing in flight any more.
 * @typedef {{ loaded?: Loaded, case?: string, measurement?: Measurement, error?: string, hasPaused?: boolean }} Message
 */

/** @param {Job} job */
async function main({ driver: name, target, workload: id, cases: names, timing, takesTurns }) {
  if (takesTurns) takeTurns();
  const driver = getDriver(name);
  await send({ loaded: { version: driver.load(), settings: driver.settings } });
  const cases = WORKLOADS.find((workload) => workload.id === id)?.cases ?? [];
  // The first case of a process pays for compiling the JavaScript that all of them run.
  let { firstWarmupMillis: warmupMillis } = timing;
  const chosen = cases.filter((candidate) => names.includes(candidate.name));
  await runCases(chosen, async (one) => {
    const { max, openAll, syncGroup } = one;
    /** @param {number} connections */
    const connect = (connections) =>
      driver.connect({ ...target, max: connections, openAll, syncGroup });
    const session = await connect(max);
    const measurement = await one.run(session, { ...timing, warmupMillis }, connect);
    warmupMillis = timing.warmupMillis;
    await session.end();
    return measurement;
  });
}

serveJob(main);
