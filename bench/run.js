'use strict';

// `npm run bench`: every driver alone in its own process, in alternating order, several rounds, on one
// database. This file reads the options, starts the database, plans the rounds and hands the figures to
// report.js; children.js runs the processes.

const os = require('node:os');
const path = require('node:path');
const { parseArgs } = require('node:util');
const { SingleBar, Presets } = require('cli-progress');
const { startDatabase } = require('../scripts/database');
const { PROGRAMS } = require('./c');
const { probe, runJob } = require('./children');
const { NAMES, OURS, getDriver } = require('./drivers');
const { LATEST, prepareFigures, writeFigures } = require('./figures');
const { formatReport, summarize } = require('./report');
const { createTables, dropTables } = require('./tables');
const { WORKLOADS } = require('./workloads');

const FULL = { rounds: 5, firstWarmupMillis: 1500, warmupMillis: 500, measureMillis: 1000 };
const QUICK = { rounds: 2, firstWarmupMillis: 400, warmupMillis: 100, measureMillis: 150 };

const USAGE = `npm run bench -- [options]
  --quick            less than two minutes, and rougher figures
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
  const rounds = values.rounds === undefined ? preset.rounds : Number(values.rounds);
  if (!Number.isInteger(rounds) || rounds < 1) {
    throw new Error(`--rounds is "${values.rounds}": give a whole number from 1 on`);
  }
  const { quick, json, help, ...choices } = values;
  const words = Object.entries(choices).map(([name, value]) => `--${name} ${value}`);
  if (quick) words.unshift('--quick');
  const ids = WORKLOADS.map(({ id }) => id);
  const chosen = readList('workload', values.workload, ids);
  return {
    ...preset,
    rounds,
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
 * @param {string} option
 * @param {string | undefined} text
 * @param {string[]} known
 */
function readList(option, text, known) {
  if (text === undefined) return known;
  const names = text.split(',').map((name) => name.trim());
  const stranger = names.find((name) => !known.includes(name));
  if (stranger !== undefined) {
    throw new Error(`--${option} names "${stranger}": it takes ${known.join(', ')}`);
  }
  return known.filter((name) => names.includes(name));
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
async function measure(
  { quick, rounds, workloads, firstWarmupMillis, warmupMillis, measureMillis },
  drivers,
  target,
  signal,
) {
  /** @type {Map<string, Samples>} */
  const all = new Map();
  for (const workload of workloads) {
    for (const { name } of workload.cases) {
      for (const driver of drivers) {
        const samples = { workload: workload.id, case: name, driver: driver.name };
        all.set(Object.values(samples).join('/'), { ...samples, measurements: [] });
      }
    }
  }
  const usable = drivers.filter(({ error }) => error === undefined);
  let total = 0;
  for (let round = 0; round < rounds; round++) {
    for (const workload of workloads) {
      for (const { name } of usable) total += casesFor(workload, name, { quick, round }).length;
    }
  }
  const bar = process.stderr.isTTY
    ? new SingleBar(
        { format: '{bar} {percentage} %  round {round}  {what}', clearOnComplete: true },
        Presets.shades_classic,
      )
    : undefined;
  bar?.start(total, 0, { round: 1, what: '' });

  try {
    for (let round = 0; round < rounds; round++) {
      for (const workload of workloads) {
        for (const { name: driver } of alternate(usable, round)) {
          if (signal.aborted) return [];
          /** @param {string} name */
          const samplesOf = (name) =>
            /** @type {Samples} */ (all.get([workload.id, name, driver].join('/')));
          const cases = casesFor(workload, driver, { quick, round });
          // What failed or hung once is not tried again: each hang costs many seconds.
          const open = cases.filter(({ name }) => samplesOf(name).error === undefined);
          bar?.update({ round: round + 1, what: `${workload.id} ${driver}` });
          const job = {
            driver,
            target,
            workload: workload.id,
            cases: open.map(({ name }) => name),
            limits: open,
            timing: { firstWarmupMillis, warmupMillis, measureMillis },
          };
          await runJob(job, signal, (message) => {
            if (message.case === undefined) return;
            const samples = samplesOf(message.case);
            if (message.measurement) samples.measurements.push(message.measurement);
            else samples.error = message.error;
            bar?.increment();
          });
          bar?.increment(cases.length - open.length);
        }
      }
    }
  } finally {
    bar?.stop();
  }
  return [...all.values()];
}

async function main() {
  const options = readOptions();
  if (options.help) {
    console.log(USAGE);
    return;
  }
  prepareFigures(options.json);
  const stop = new AbortController();
  process.once('SIGINT', () => stop.abort());
  process.once('SIGTERM', () => stop.abort());

  const started = performance.now();
  const database = await startDatabase({
    settings: { shared_buffers: '128MB', autovacuum: 'off' },
  });
  try {
    const { connectionString, config, binDirectory } = database;
    const target = { connectionString, config, binDirectory };
    await createTables(target);
    const drivers = await probeAll(options.drivers, target);
    const samples = await measure(options, drivers, target, stop.signal);
    if (stop.signal.aborted) {
      process.exitCode = 130;
      return;
    }
    const machine = {
      node: process.version,
      platform: `${process.platform}-${process.arch}`,
      cpu: `${os.cpus().length} x ${os.cpus()[0]?.model ?? 'unknown'}`,
      memoryBytes: os.totalmem(),
      server: database.version ?? database.source,
      connection: database.config.host.startsWith('/') ? 'a unix socket' : 'TCP',
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

main().catch((error) => {
  const mistake = error.code?.startsWith('ERR_PARSE_ARGS') || /^--/.test(error.message);
  console.error(mistake ? `${error.message}\n\n${USAGE}` : error);
  process.exitCode = mistake ? 2 : 1;
});
