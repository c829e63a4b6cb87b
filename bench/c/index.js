'use strict';

// The programs that are measured beside the drivers, by name: what can be reached without JavaScript.
// Read by children.js, which runs them, and run.js.

/**
 * @typedef {object} Program
 * @property {(target: import('../tables').Target) => import('../child').Loaded | { error: string }} probe
 * @property {(one: import('../workloads').Case) => boolean} takesPart
 * @property {(one: import('../workloads').Case, job: import('../child').Job, signal: AbortSignal) =>
 *   Promise<import('../child').Message>} run
 */

/** @type {Record<string, Program>} */
const PROGRAMS = {
  'c-limit': require('./limit'),
  pgbench: require('./pgbench'),
};

module.exports = { PROGRAMS };
