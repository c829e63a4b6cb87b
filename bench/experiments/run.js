'use strict';

// `npm run bench:experiments`: published comparisons that this driver came from, and what many processes need, each arm
// alone in its own process, in alternating order, several rounds, on one database. This file reads the options, starts
// the database and hands the figures on; index.js has the experiments.

const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { parseArgs } = require('node:util');
const { startDatabase } = require('../../scripts/database');
const { probe, runJob } = require('../children');
const { describeMachine, readList, readRounds, runCommand, untilStopped } = require('../command');
const { EXPERIMENTS: LATEST, prepareFigures, writeFigures } = require('../figures');
const { formatReport, summarize } = require('../report');
const { runRounds } = require('../rounds');
const { createTables, dropTables } = require('../tables');
const { EXPERIMENTS } = require('.');
const { countingEnvironment } = require('./allocations');
const psql = require('./psql');

/**
 * @typedef {import('.').Experiment} Experiment
 * @typedef {import('.').SizeName} SizeName
 * @typedef {import('../tables').Target} Target
 * @typedef {import('../report').DriverInfo} DriverInfo
 */

const PRODUCT = 'pg-conduit';
const CHILD = path.join(__dirname, 'child.js');
/** @type {Record<SizeName, { rounds: number, limitMillis: number }>} */
const SIZES = {
  full: { rounds: 3, limitMillis: 180_000 },
  tiny: { rounds: 1, limitMillis: 30_000 },
};
/** For one connection each of so many callers, and of the users beside them. */
const MAX_CONNECTIONS = 800;

const USAGE = `npm run bench:experiments -- [options]
  --only LIST        of ${EXPERIMENTS.map(({ id }) => id).join(',')} (all)
  --size SIZE        ${Object.keys(SIZES).join(' or ')} (full, an hour); tiny shows that it runs, and nothing else
  --rounds N         how often each arm is measured (${SIZES.full.rounds}, of size tiny ${SIZES.tiny.rounds})
  --json FILE        where all figures go (${path.relative('.', LATEST)}); bench:report reads them
  --help`;

function readOptions() {
  const { values } = parseArgs({
    options: {
      only: { type: 'string' },
      size: { type: 'string', default: 'full' },
      rounds: { type: 'string' },
      json: { type: 'string', default: LATEST },
      help: { type: 'boolean', default: false },
    },
  });
  const { only, rounds, json, help } = values;
  if (values.size !== 'full' && values.size !== 'tiny') {
    throw new Error(`--size is "${values.size}": it takes ${Object.keys(SIZES).join(', ')}`);
  }
  /** @type {SizeName} */
  const size = values.size;
  const ids = EXPERIMENTS.map(({ id }) => id);
  const chosen = readList('only', only, ids);
  const words = Object.entries({ only, size, rounds })
    .filter(([, value]) => value !== undefined && value !== 'full')
    .map(([name, value]) => `--${name} ${value}`);
  return {
    experiments: EXPERIMENTS.filter(({ id }) => chosen.includes(id)),
    size,
    rounds: readRounds(rounds, SIZES[size].rounds),
    json,
    help,
    command: ['npm run bench:experiments', ...(words.length > 0 ? ['--', ...words] : [])].join(' '),
  };
}

/**
 * What the packages that the arms need are here.
 * @param {Experiment} experiment
 * @param {Target} target
 * @returns {Promise<DriverInfo[]>}
 */
async function probeArms({ arms }, target) {
  /** @type {Map<string, Awaited<ReturnType<typeof probe>>>} */
  const found = new Map();
  for (const { driver } of arms) {
    if (found.has(driver)) continue;
    found.set(driver, driver === 'psql' ? psql.probe(target) : await probe(driver, target));
  }
  return arms.map(({ name, driver, settings, ours }) => ({
    name,
    ours,
    ...found.get(driver),
    settings,
  }));
}

/**
 * @param {Experiment} experiment
 * @param {{ size: SizeName, rounds: number, target: Target, folder: string, signal: AbortSignal }} how
 */
async function runExperiment(experiment, { size, rounds, target, folder, signal }) {
  const started = performance.now();
  const drivers = await probeArms(experiment, target);
  const workloads = experiment.workloads(size);
  const missing = drivers.filter(({ error }) => error !== undefined);
  /** @type {Record<string, string>} */
  const facts = {};
  const counting = countingEnvironment(folder);

  /** @param {import('.').ArmWorkload<any>} workload @param {string} name */
  const casesFor = (workload, name) => {
    const arm = experiment.arms.find((one) => one.name === name);
    return workload.cases.filter(({ takesPart }) => !takesPart || takesPart(arm));
  };
  const samples = await runRounds(
    {
      rounds,
      workloads,
      drivers: drivers.filter(({ error }) => error === undefined).map(({ name }) => name),
      casesFor,
      async setUp(workload) {
        const around = await workload.setUp?.(target);
        Object.assign(facts, around?.facts);
        return around ?? { places: {}, tearDown: async () => {} };
      },
      run({ workload, driver, cases, places }, onMessage) {
        const timing = { firstWarmupMillis: 0, warmupMillis: 0, measureMillis: 0 };
        const names = cases.map(({ name }) => name);
        const which = {
          driver,
          target,
          workload: workload.id,
          cases: names,
          limits: cases,
          timing,
        };
        const job = { ...which, experiment: experiment.id, size, places };
        const { limitMillis } = SIZES[size];
        const env = workload.countsAllocations ? counting : {};
        return runJob(job, signal, onMessage, { script: CHILD, env, limitMillis });
      },
    },
    signal,
  );
  // An arm that cannot be run has its row all the same.
  for (const { name: driver, error } of missing) {
    for (const workload of workloads) {
      for (const one of casesFor(workload, driver)) {
        samples.push({ workload: workload.id, case: one.name, driver, measurements: [], error });
      }
    }
  }
  return {
    drivers,
    workloads,
    results: summarize(samples, workloads, experiment.ours),
    places: facts,
    seconds: Math.round((performance.now() - started) / 1000),
  };
}

async function main() {
  const { experiments, size, rounds, json, help, command } = readOptions();
  if (help) {
    console.log(USAGE);
    return;
  }
  prepareFigures(json);
  const signal = untilStopped();
  const database = await startDatabase({
    settings: { shared_buffers: '128MB', autovacuum: 'off', max_connections: MAX_CONNECTIONS },
  });
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'conduit-bench-'));
  try {
    const { connectionString, config, binDirectory } = database;
    const target = { connectionString, config, binDirectory };
    await createTables(target);
    /** @type {import('../figures').Figures[]} */
    const all = [];
    for (const experiment of experiments) {
      const { drivers, workloads, results, places, seconds } = await runExperiment(experiment, {
        size,
        rounds,
        target,
        folder,
        signal,
      });
      if (signal.aborted) {
        process.exitCode = 130;
        return;
      }
      const { title, about, ours, arms } = experiment;
      const quick = size === 'tiny';
      const machine = { ...describeMachine(database), quick, rounds, seconds, places };
      all.push({
        date: new Date().toISOString(),
        command,
        machine,
        title,
        about,
        product: PRODUCT,
        ours,
        limits: arms.filter(({ limit }) => limit).map(({ name }) => name),
        workloads: workloads.map(({ id, title: name, unit, cases }) => ({
          id,
          title: name,
          unit,
          cases: cases.map((one) => ({ name: one.name, ours: one.ours })),
        })),
        drivers,
        results,
      });
      // Each as soon as it is there: the next one may be interrupted.
      writeFigures(json, { experiments: all });
      console.log(`${title}\n\n${formatReport({ machine, drivers, results }, workloads, ours)}\n`);
      if (results.some(({ driver, error }) => driver === ours && error)) process.exitCode = 1;
    }
    const file = json === LATEST ? '' : ` -- ${json}`;
    console.log(`As a page: npm run bench:report${file}`);
  } finally {
    fs.rmSync(folder, { recursive: true, force: true });
    // A server of our own takes its tables with it.
    if (database.source === 'environment') await dropTables(database);
    await database.stop();
  }
}

runCommand(main, USAGE);
