'use strict';

// What the processes in which something is measured have in common: one job, as JSON in the only argument, a message
// for each case, and the end at the first one that fails. Used by child.js and experiments/child.js, which
// children.js forks.

/**
 * @typedef {import('./child').Message} Message
 */

/** @param {Message} message */
function send(message) {
  return new Promise((resolve) => {
    process.send?.(message, resolve);
  });
}

/**
 * @template {{ name: string }} C
 * @param {C[]} cases
 * @param {(one: C) => Promise<import('./measure').Measurement>} run
 */
async function runCases(cases, run) {
  for (const one of cases) {
    try {
      await send({ case: one.name, measurement: await run(one) });
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

/** @param {(job: any) => Promise<void>} main */
function serveJob(main) {
  main(JSON.parse(process.argv[2]))
    .catch((error) => send({ error: firstLine(error) }))
    // Whatever a driver keeps open after a failure is not waited for.
    .finally(() => process.exit());
}

module.exports = { runCases, send, serveJob };
