'use strict';

// The experiments by name, in the order of docs/experiments.md and docs/scaling.md. Read by run.js and child.js.

/**
 * @typedef {import('../tables').Target} Target
 * @typedef {import('../measure').Measurement} Measurement
 * @typedef {import('../drivers').Session} Session
 * @typedef {'tiny' | 'full'} SizeName
 *
 * One way to do what an experiment compares. What the cases of its experiment call it by is beside these.
 * @typedef {object} Arm
 * @property {string} name unique in its experiment
 * @property {string} driver a name of drivers/index.js, whose package it needs
 * @property {string} settings
 * @property {boolean} [ours]
 * @property {boolean} [limit] no driver: what can be reached
 * @property {string} [through] the place that stands between it and the server
 *
 * @typedef {object} Context
 * @property {Target} target the place that the arm goes through, or the server
 * @property {Target} server
 * @property {Record<string, any>} places what setUp() told
 *
 * @template {Arm} A
 * @typedef {object} ArmCase
 * @property {string} name unique in its workload
 * @property {string} [series] of which it is one point
 * @property {number} [x]
 * @property {boolean} [isTimed]
 * @property {boolean} [memoryOnly]
 * @property {number} unitsPerOperation
 * @property {string} [ours] the arm that its ratios are against, where that of the experiment does not take part
 * @property {Record<string, string>} [published] by arm
 * @property {(arm: A) => boolean} [takesPart] without it, every arm does
 * @property {(arm: A, context: Context) => Promise<Measurement>} run throws for a wrong answer
 *
 * @template {Arm} A
 * @typedef {object} ArmWorkload
 * @property {string} id
 * @property {string} title
 * @property {string} unit
 * @property {boolean} [countsAllocations] in its processes
 * @property {ArmCase<A>[]} cases
 * @property {(server: Target) => Promise<Around>} [setUp] in run.js, in each round
 *
 * What a workload has around it. A place is a target without its password, or says why it is not there; `facts` go
 * into the report.
 * @typedef {object} Around
 * @property {Record<string, any>} places
 * @property {Record<string, string>} [facts]
 * @property {() => Promise<void>} tearDown
 *
 * @template {Arm} [A=any]
 * @typedef {object} Experiment
 * @property {string} id
 * @property {string} title
 * @property {string} about the question, and what has been published
 * @property {string} ours the arm that all ratios are against
 * @property {A[]} arms
 * @property {(size: SizeName) => ArmWorkload<A>[]} workloads
 */

/** @type {Experiment[]} */
const EXPERIMENTS = [
  require('./one-connection'),
  require('./transfer'),
  require('./connections'),
  require('./latency-inserts'),
  require('./http-styles'),
  require('./many-processes'),
  require('./fleet'),
  require('./costs'),
  require('./asking-others'),
  require('./staying-awake'),
];

module.exports = { EXPERIMENTS };
