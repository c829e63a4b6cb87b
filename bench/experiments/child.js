'use strict';

// The process in which one arm of an experiment is measured. Forked by ../children.js, told what to do by run.js.

const { runCases, serveJob } = require('../serve-job');
const { EXPERIMENTS } = require('.');

/**
 * @typedef {object} ArmJob beside what every job has; `driver` is the arm
 * @property {string} experiment
 * @property {import('.').SizeName} size
 * @property {Record<string, any>} places
 */

/** @param {import('../child').Job & ArmJob} job */
async function main({ experiment: id, driver, target: server, workload, cases, size, places }) {
  const experiment = EXPERIMENTS.find((one) => one.id === id);
  const arm = experiment?.arms.find(({ name }) => name === driver);
  const found = experiment?.workloads(size).find((one) => one.id === workload);
  if (!arm || !found) throw new Error(`There is no ${id}, ${workload}, ${driver}`);
  const chosen = found.cases.filter(({ name }) => cases.includes(name));
  await runCases(chosen, (one) => {
    const target = arm.through === undefined ? server : places[arm.through];
    if (target.error) throw new Error(target.error);
    return one.run(arm, { target, server, places });
  });
}

serveJob(main);
