'use strict';

// Rounds of measurements: workload by workload, all drivers in an order that changes, and a progress line.
// Called by run.js and experiments/run.js, which say what is run and how.

const { SingleBar, Presets } = require('cli-progress');

/**
 * @typedef {import('./report').Samples} Samples
 * @typedef {import('./child').Message} Message
 */

/**
 * @template {{ name: string, part?: string }} C
 * @template {{ id: string, cases: C[] }} W
 * @typedef {object} Plan
 * @property {number} rounds
 * @property {W[]} workloads
 * @property {string[]} drivers those that can be run
 * @property {(workload: W, driver: string, round: number) => C[]} casesFor in which it takes part
 * @property {(which: { workload: W, driver: string, cases: C[], places: any },
 *   onMessage: (message: Message) => void) => Promise<void>} run tells of each case
 * @property {(workload: W) => Promise<{ places: any, tearDown: () => Promise<void> }>} [setUp] what a workload
 *   needs around it, in each round
 */

/**
 * Who comes first changes from round to round: a machine that warms up or slows down does it to all.
 * @template T
 * @param {T[]} list
 * @param {number} round
 */
function alternate(list, round) {
  const start = Math.floor(round / 2) % Math.max(1, list.length);
  const turned = [...list.slice(start), ...list.slice(0, start)];
  return round % 2 === 0 ? turned : turned.reverse();
}

/**
 * @template {{ name: string, part?: string }} C
 * @template {{ id: string, cases: C[] }} W
 * @param {Plan<C, W>} plan
 * @param {AbortSignal} signal
 * @returns {Promise<Samples[]>} empty when it was told to end
 */
async function runRounds({ rounds, workloads, drivers, casesFor, run, setUp }, signal) {
  /** @type {Map<string, Samples>} */
  const all = new Map();
  for (const workload of workloads) {
    for (const { name } of workload.cases) {
      for (const driver of drivers) {
        const samples = { workload: workload.id, case: name, driver };
        all.set(Object.values(samples).join('/'), { ...samples, measurements: [] });
      }
    }
  }
  let total = 0;
  for (let round = 0; round < rounds; round++) {
    for (const workload of workloads) {
      for (const driver of drivers) total += casesFor(workload, driver, round).length;
    }
  }
  const bar = process.stderr.isTTY
    ? new SingleBar(
        { format: '{bar} {percentage} %  round {round}  {what}', clearOnComplete: true },
        Presets.shades_classic,
      )
    : undefined;
  bar?.start(total, 0, { round: 1, what: '' });

  /** @param {W} workload @param {number} round @param {any} places */
  const runWorkload = async (workload, round, places) => {
    const parts = [...new Set(workload.cases.map(({ part }) => part))];
    for (const [index, part] of parts.entries()) {
      await runPart(workload, part, { round, turn: round + index, places });
    }
  };

  /**
   * @param {W} workload
   * @param {string | undefined} part
   * @param {{ round: number, turn: number, places: any }} how
   */
  const runPart = async (workload, part, { round, turn, places }) => {
    for (const driver of alternate(drivers, turn)) {
      if (signal.aborted) return;
      /** @param {string} name */
      const samplesOf = (name) =>
        /** @type {Samples} */ (all.get([workload.id, name, driver].join('/')));
      const cases = casesFor(workload, driver, round).filter((one) => one.part === part);
      // What failed or hung once is not tried again: each hang costs many seconds.
      const open = cases.filter(({ name }) => samplesOf(name).error === undefined);
      bar?.increment(cases.length - open.length);
      if (open.length === 0) continue;
      bar?.update({
        round: round + 1,
        what: [workload.id, part, driver].filter(Boolean).join(' '),
      });
      await run({ workload, driver, cases: open, places }, (message) => {
        if (message.case === undefined) return;
        const samples = samplesOf(message.case);
        if (message.measurement) samples.measurements.push(message.measurement);
        else samples.error = message.error;
        bar?.increment();
      });
    }
  };

  try {
    for (let round = 0; round < rounds && !signal.aborted; round++) {
      for (const workload of workloads) {
        const around = await setUp?.(workload);
        try {
          await runWorkload(workload, round, around?.places);
        } finally {
          await around?.tearDown();
        }
      }
    }
  } finally {
    bar?.stop();
  }
  return signal.aborted ? [] : [...all.values()];
}

module.exports = { runRounds };
