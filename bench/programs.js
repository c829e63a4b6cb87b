'use strict';

// What is measured beside the drivers, by name: limits, which show what can be reached without JavaScript, and anchors,
// which are drivers of other languages. Read by children.js, which runs them, and run.js.

/**
 * @typedef {object} Program
 * @property {(target: import('./tables').Target) => import('./child').Loaded | { error: string }} probe builds it, if
 *   that is needed
 * @property {(one: import('./workloads').Case) => boolean} takesPart
 * @property {(one: import('./workloads').Case, job: import('./child').Job, signal: AbortSignal,
 *   turns?: import('./turns').Turns) => Promise<import('./child').Message>} run
 * @property {boolean} [isAlone] it takes no turns with others (turns.js), behind which it is run
 */

/** @type {Record<string, Program>} */
const LIMITS = {
  'c-limit': require('./c/limit'),
  pgbench: require('./c/pgbench'),
};

/** @type {Record<string, Program>} */
const ANCHORS = {
  'tokio-postgres': require('./anchors/tokio-postgres'),
  pgx: require('./anchors/pgx'),
};

const PROGRAMS = { ...LIMITS, ...ANCHORS };

module.exports = { ANCHORS, LIMITS, PROGRAMS };
