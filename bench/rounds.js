'use strict';

// Rounds of measurements: workload by workload, all drivers in an order that changes, and a progress line.
// Called by run.js and experiments/run.js, which say what is run and how.

const { SingleBar, Presets } = require('cli-progress');
const { Turns } = require('./turns');

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
 * @property {(which: { workload: W, driver: string, cases: C[], places: any, turns?: Turns },
 *   onMessage: (message: Message) => void) => Promise<void>} run tells of each case
 * @property {(workload: W, driver: string) => boolean} [takesTurns] whether it runs beside others
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
async function runRounds(plan, signal) {
  const { rounds, workloads, drivers, casesFor, run, setUp, takesTurns = () => false } = plan;
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
    /** @param {string} driver @param {string} name */
    const samplesOf = (driver, name) =>
      /** @type {Samples} */ (all.get([workload.id, name, driver].join('/')));
    /** @param {{ driver: string, cases: C[] }} one @param {Turns} [turns] */
    const runDriver = async ({ driver, cases }, turns) => {
      if (signal.aborted) return;
      await run({ workload, driver, cases, places, turns }, (message) => {
        if (message.case === undefined) return;
        const samples = samplesOf(driver, message.case);
        if (message.measurement) samples.measurements.push(message.measurement);
        else samples.error = message.error;
        bar?.increment();
      });
    };
    /** @param {string} [driver] none: all of them */
    const show = (driver) => {
      const what = [workload.id, part, driver].filter(Boolean).join(' ');
      bar?.update({ round: round + 1, what });
    };

    /** @type {{ driver: string, cases: C[] }[]} */
    const open = [];
    for (const driver of alternate(drivers, turn)) {
      const cases = casesFor(workload, driver, round).filter((one) => one.part === part);
      // What failed or hung once is not tried again: each hang costs many seconds.
      const left = cases.filter(({ name }) => samplesOf(driver, name).error === undefined);
      bar?.increment(cases.length - left.length);
      if (left.length > 0) open.push({ driver, cases: left });
    }
    const members = open.filter(({ driver }) => takesTurns(workload, driver));
    if (members.length > 0) {
      show();
      const turns = new Turns(members.length);
      await Promise.all(members.map((one) => runDriver(one, turns)));
      await turns.end();
    }
    for (const one of open) {
      if (members.includes(one)) continue;
      show(one.driver);
      await runDriver(one);
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
