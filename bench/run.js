'use strict';

// `npm run bench`: every driver alone in its own process, in alternating order, several rounds, on one
// database. This file reads the options, starts the database, plans the rounds and hands the figures to
// report.js; children.js runs the processes.

const path = require('node:path');
const { parseArgs } = require('node:util');
const { startDatabase } = require('../scripts/database');
const { PROGRAMS } = require('./c');
const { probe, runJob } = require('./children');
const { describeMachine, readList, readRounds, runCommand, untilStopped } = require('./command');
const { NAMES, OURS, getDriver } = require('./drivers');
const { LATEST, prepareFigures, writeFigures } = require('./figures');
const { formatReport, summarize } = require('./report');
const { runRounds } = require('./rounds');
const { createTables, dropTables } = require('./tables');
const { WORKLOADS } = require('./workloads');

const FULL = { rounds: 5, firstWarmupMillis: 1500, warmupMillis: 500, measureMillis: 1000 };
const QUICK = { rounds: 2, firstWarmupMillis: 400, warmupMillis: 100, measureMillis: 150 };

const USAGE = `npm run bench -- [options]
  --quick            two minutes instead of 40, and rougher figures
  --workload LIST    of ${WORKLOADS.map(({ id }) => id).join(',')} (all)
  --drivers LIST     of ${NAMES.join(',')} (all)
  --rounds N         how often each driver is measured (${FULL.rounds}, with --quick ${QUICK.rounds})
  --json FILE        where all figures go (${path.relative('.', LATEST)}); bench:report reads them
  --help`;

/**
 * @typedef {import('./workloads').Workload} Workload
 * @typedef {import('./report').Samples} Samples
 * @typedef {import('./report').DriverInfo} DriverInfo
 */

function readOptions() {
  const { values } = parseArgs({
    options: {
      quick: { type: 'boolean', default: false },
      workload: { type: 'string' },
      drivers: { type: 'string' },
      rounds: { type: 'string' },
      json: { type: 'string', default: LATEST },
      help: { type: 'boolean', default: false },
    },
  });
  const preset = values.quick ? QUICK : FULL;
  const { quick, json, help, ...choices } = values;
  const words = Object.entries(choices).map(([name, value]) => `--${name} ${value}`);
  if (quick) words.unshift('--quick');
  const ids = WORKLOADS.map(({ id }) => id);
  const chosen = readList('workload', values.workload, ids);
  return {
    ...preset,
    rounds: readRounds(values.rounds, preset.rounds),
    drivers: readList('drivers', values.drivers, NAMES),
    workloads: WORKLOADS.filter(({ id }) => chosen.includes(id)),
    quick,
    json,
    help,
    /** All but the name of the file, for whoever wants the same run again. */
    command: ['npm run bench', ...(words.length > 0 ? ['--', ...words] : [])].join(' '),
  };
}

/**
 * @param {string[]} names
 * @param {import('./tables').Target} target
 */
async function probeAll(names, target) {
  /** @type {DriverInfo[]} */
  const drivers = [];
  for (const name of names) drivers.push({ name, ...(await probe(name, target)) });
  return drivers;
}

/**
 * @param {Workload} workload
 * @param {string} driver
 * @param {{ quick: boolean, round: number }} which
 */
function casesFor(workload, driver, { quick, round }) {
  const program = PROGRAMS[driver];
  return workload.cases.filter((one) => {
    if (quick && (one.full || (one.once && round > 0))) return false;
    if (program) return program.takesPart(one);
    return !one.needsBatch || getDriver(driver).hasBatch;
  });
}

/**
 * @param {ReturnType<typeof readOptions>} options
 * @param {DriverInfo[]} drivers
 * @param {import('./tables').Target} target
 * @param {AbortSignal} signal
 * @returns {Promise<Samples[]>}
 */
function measure(
  { quick, rounds, workloads, firstWarmupMillis, warmupMillis, measureMillis },
  drivers,
  target,
  signal,
) {
  const timing = { firstWarmupMillis, warmupMillis, measureMillis };
  return runRounds(
    {
      rounds,
      workloads,
      drivers: drivers.filter(({ error }) => error === undefined).map(({ name }) => name),
      casesFor: (workload, driver, round) => casesFor(workload, driver, { quick, round }),
      run({ workload, driver, cases: limits }, onMessage) {
        const cases = limits.map(({ name }) => name);
        const job = { driver, target, workload: workload.id, cases, limits, timing };
        return runJob(job, signal, onMessage);
      },
    },
    signal,
  );
}

async function main() {
  const options = readOptions();
  if (options.help) {
    console.log(USAGE);
    return;
  }
  prepareFigures(options.json);
  const signal = untilStopped();
  const started = performance.now();
  const database = await startDatabase({
    settings: { shared_buffers: '128MB', autovacuum: 'off' },
  });
  try {
    const { connectionString, config, binDirectory } = database;
    const target = { connectionString, config, binDirectory };
    await createTables(target);
    const drivers = await probeAll(options.drivers, target);
    const samples = await measure(options, drivers, target, signal);
    if (signal.aborted) {
      process.exitCode = 130;
      return;
    }
    const machine = {
      ...describeMachine(database),
      quick: options.quick,
      rounds: options.rounds,
      measureMillis: options.measureMillis,
      seconds: Math.round((performance.now() - started) / 1000),
    };
    const results = summarize(samples, options.workloads);
    writeFigures(options.json, {
      date: new Date().toISOString(),
      command: options.command,
      machine,
      ours: OURS,
      limits: Object.keys(PROGRAMS),
      workloads: options.workloads.map(({ cases, ...workload }) => ({
        ...workload,
        cases: cases.map(({ name, latencyOnly }) => ({ name, latencyOnly })),
      })),
      drivers,
      results,
    });
    console.log(formatReport({ machine, drivers, results }, options.workloads));
    const file = options.json === LATEST ? '' : ` -- ${options.json}`;
    console.log(`\nAs a page: npm run bench:report${file}`);
    if (results.some(({ driver, error }) => driver === OURS && error)) process.exitCode = 1;
  } finally {
    // A server of our own takes its tables with it.
    if (database.source === 'environment') await dropTables(database);
    await database.stop();
  }
}

runCommand(main, USAGE);
