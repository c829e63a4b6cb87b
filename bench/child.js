'use strict';

// The process in which one driver is measured. Forked by children.js with one job, as JSON in the only
// argument; it sends a message for each case and ends at the first one that fails.

const { getDriver } = require('./drivers');
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
 *
 * @typedef {{ version: string, settings: string }} Loaded
 *
 * What child.js sends: once that the driver could be loaded, then one for each case.
 * @typedef {{ loaded?: Loaded, case?: string, measurement?: Measurement, error?: string }} Message
 */

/** @param {Message} message */
function send(message) {
  return new Promise((resolve) => {
    process.send?.(message, resolve);
  });
}

/** @param {Job} job */
async function main({ driver: name, target, workload: id, cases: names, timing }) {
  const driver = getDriver(name);
  await send({ loaded: { version: driver.load(), settings: driver.settings } });
  const cases = WORKLOADS.find((workload) => workload.id === id)?.cases ?? [];
  // The first case of a process pays for compiling the JavaScript that all of them run.
  let { firstWarmupMillis: warmupMillis } = timing;
  for (const one of cases.filter((candidate) => names.includes(candidate.name))) {
    try {
      const { max, openAll, syncGroup } = one;
      /** @param {number} connections */
      const connect = (connections) =>
        driver.connect({ ...target, max: connections, openAll, syncGroup });
      const session = await connect(max);
      const measurement = await one.run(session, { ...timing, warmupMillis }, connect);
      warmupMillis = timing.warmupMillis;
      await session.end();
      await send({ case: one.name, measurement });
    } catch (error) {
      await send({ case: one.name, error: firstLine(error) });
      return;
    }
  }
}

/** @param {unknown} error */
function firstLine(error) {
  return (error instanceof Error ? error.message : String(error)).split('\n')[0];
}

/** @type {Job} */
const job = JSON.parse(process.argv[2]);
main(job)
  .catch((error) => send({ error: firstLine(error) }))
  // Whatever a driver keeps open after a failure is not waited for.
  .finally(() => process.exit());
