'use strict';

// The workloads by id, in the order of the report. Read by run.js and child.js.

/**
 * @typedef {import('../drivers').Session} Session
 * @typedef {import('../measure').Timing} Timing
 * @typedef {import('../measure').Measurement} Measurement
 *
 * What c/pipeline.c is to do for a case.
 * @typedef {object} Limit
 * @property {'select' | 'insert'} mode
 * @property {string} text
 * @property {number} [rows] of each result, where that is also the parameter
 * @property {number} inFlight
 * @property {boolean} [burst] the next ones go when all are answered
 * @property {number} [perSync]
 *
 * @typedef {object} Case
 * @property {string} name unique in its workload
 * @property {number} max connections
 * @property {boolean} [needsBatch] only for drivers with batch()
 * @property {boolean} [latencyOnly] throughput is given, so that CPU and throughput say little
 * @property {Limit} [limit]
 * @property {number} unitsPerOperation rows or queries
 * @property {(session: Session, timing: Timing) => Promise<Measurement>} run throws for a wrong answer
 *
 * @typedef {object} Workload
 * @property {string} id
 * @property {string} title
 * @property {string} unit
 * @property {Case[]} cases
 */

/** @type {Workload[]} */
const WORKLOADS = [
  require('./w1-point-select'),
  require('./w2-pool'),
  require('./w3-rows'),
  require('./w4-inserts'),
  require('./w6-mixed-load'),
];

module.exports = { WORKLOADS };
