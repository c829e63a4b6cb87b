'use strict';

// The workloads by id, in the order of the report. Read by run.js and child.js.

/**
 * @typedef {import('../drivers').Session} Session
 * @typedef {import('../measure').Timing} Timing
 * @typedef {import('../measure').Measurement} Measurement
 *
 * What the programs of ../programs.js are to do for a case.
 * @typedef {object} Limit
 * @property {'select' | 'insert'} mode
 * @property {string} text
 * @property {number} [rows] of each result, where that is also the parameter
 * @property {number} inFlight
 * @property {number} [connections] among which these are shared; c-limit has one only
 * @property {boolean} [burst] the next ones go when all are answered
 * @property {number} [perSync] queries behind each Sync, in c-limit
 *
 * @typedef {object} Case
 * @property {string} name unique in its workload
 * @property {number} max connections
 * @property {boolean} [openAll] of these connections, also where the default is to wait for load
 * @property {'off' | 'reads' | 'all'} [syncGroup] Sync policy, for drivers that have more than one
 * @property {boolean} [needsBatch] only for drivers with batch()
 * @property {boolean} [latencyOnly] throughput is given, so that CPU and throughput say little
 * @property {boolean} [memoryOnly] only `memoryBytes` is measured, in a process of its own
 * @property {boolean} [isTimed] what counts is `timeMillis`, and not how often it can be done
 * @property {string} [ours] the driver that its ratios are against, where that is another one than elsewhere
 * @property {Record<string, string>} [published] by driver, what others have told of it
 * @property {boolean} [full] not with --quick
 * @property {boolean} [once] with --quick in the first round only
 * @property {number} [mostRounds] in which it is measured
 * @property {boolean} [isHalved] in half of the time, which its run() sees to, and for programs children.js
 * @property {string} [part] all drivers run the cases of a part, each in a process of its own, before those of the next
 * @property {string} [tool] that it goes through
 * @property {'near' | 'away'} [place] where the tool is
 * @property {string} [group] of cases that are shown beside each other
 * @property {string} [member] its name there
 * @property {string} [series] of which it is one point
 * @property {number} [x] the point: what grows along the series
 * @property {Limit} [limit]
 * @property {number} unitsPerOperation rows, queries or requests
 * @property {(session: Session, timing: Timing, connect: Connect) => Promise<Measurement>} run throws for a
 *   wrong answer
 *
 * Another session, which the case ends itself.
 * @typedef {(max: number) => Promise<Session>} Connect
 *
 * @typedef {object} Workload
 * @property {string} id
 * @property {string} title
 * @property {string} unit
 * @property {Case[]} cases
 * @property {string[]} [drivers] without it, all take part
 * @property {boolean} [inTurns] all drivers run each of its parts at the same time, one of them at a time (turns.js); it
 *   must not hold locks
 * @property {string} [bound] the driver of which the report tells what part of its throughput the others reach
 * @property {string} [script] that is forked in the place of child.js, and gets the places and settings too
 * @property {(network: import('../choices').Choices) => Record<string, string>} [envFor] its processes
 * @property {number} [patienceMillis] that a case may take beside the time that it is meant to take
 * @property {(server: import('../network').Server, network: import('../choices').Choices) =>
 *   Promise<import('../tools/places').Around>} [setUp] in run.js, in each round
 */

/** @type {Workload[]} */
const WORKLOADS = [
  require('./w1-point-select'),
  require('./w2-pool'),
  require('./w3-rows'),
  require('./w4-inserts'),
  require('./w5-http'),
  require('./w6-mixed-load'),
  require('./w7-load'),
  require('./w7-rows'),
  require('./w7-memory'),
  require('./w8-tools'),
  require('./w9-callers'),
  require('./w10-others'),
];

module.exports = { WORKLOADS };
