'use strict';

// `npm run bench`: every driver alone in its own process, in alternating order, several rounds, on one
// database. This file reads the options, starts the database, plans the rounds and hands the figures to
// report.js; children.js runs the processes.

const path = require('node:path');
const { parseArgs } = require('node:util');
const { startDatabase, toConnectionString } = require('../scripts/database');
const { installOnce } = require('../scripts/install-once');
const { PROGRAMS } = require('./c');
const { probe, runJob } = require('./children');
const { describeMachine, readList, readRounds, runCommand, untilStopped } = require('./command');
const { NAMES, OURS, getDriver } = require('./drivers');
const { LATEST, prepareFigures, writeFigures } = require('./figures');
const { formatReport, summarize } = require('./report');
const { runRounds } = require('./rounds');
const { createTables, dropTables } = require('./tables');
const { FOLDER: TOOLS, TOOL_NAMES, toolVersion } = require('./tools');
const { readSettings } = require('./tools/drivers');
const { WORKLOADS } = require('./workloads');

const FULL = { rounds: 5, firstWarmupMillis: 1500, warmupMillis: 500, measureMillis: 1000 };
const QUICK = { rounds: 2, firstWarmupMillis: 400, warmupMillis: 100, measureMillis: 150 };

/** For the tools, of which some may have 200 clients. */
const MAX_CONNECTIONS = 500;

const USAGE = `npm run bench -- [options]
  --quick            three minutes instead of 70, and rougher figures
  --workload LIST    of ${WORKLOADS.map(({ id }) => id).join(',')} (all)
  --drivers LIST     of ${NAMES.join(',')} (all)
  --tools LIST       in w8, of ${TOOL_NAMES.join(',')} (all)
  --settings JSON    in w8, of pg-conduit: {"clients": 200, "env": {}, "defaults": {}}
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
      tools: { type: 'string' },
      settings: { type: 'string' },
      rounds: { type: 'string' },
      json: { type: 'string', default: LATEST },
      help: { type: 'boolean', default: false },
    },
  });
  const preset = values.quick ? QUICK : FULL;
  const { quick, json, help, ...choices } = values;
  const words = Object.entries(choices).map(
    ([name, value]) => `--${name} ${name === 'settings' ? `'${value}'` : value}`,
  );
  if (quick) words.unshift('--quick');
  const ids = WORKLOADS.map(({ id }) => id);
  const chosen = readList('workload', values.workload, ids);
  return {
    ...preset,
    rounds: readRounds(values.rounds, preset.rounds),
    drivers: readList('drivers', values.drivers, NAMES),
    workloads: WORKLOADS.filter(({ id }) => chosen.includes(id)),
    tools: readList('tools', values.tools, TOOL_NAMES),
    settings: readSettings(values.settings),
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
 * @param {{ quick: boolean, round: number, tools: string[] }} which
 */
function casesFor(workload, driver, { quick, round, tools }) {
  if (workload.drivers && !workload.drivers.includes(driver)) return [];
  const program = PROGRAMS[driver];
  return workload.cases.filter((one) => {
    if (one.tool !== undefined && !tools.includes(one.tool)) return false;
    if (quick && (one.full || (one.once && round > 0))) return false;
    if (program) return program.takesPart(one);
    return !one.needsBatch || getDriver(driver).hasBatch;
  });
}

/**
 * @param {ReturnType<typeof readOptions>} options
 * @param {{ drivers: DriverInfo[], target: import('./tables').Target, database: import('../scripts/database').Database,
 *   signal: AbortSignal }} around
 */
async function measure(options, { drivers, target, database, signal }) {
  const { rounds, workloads, settings } = options;
  const { firstWarmupMillis, warmupMillis, measureMillis } = options;
  const timing = { firstWarmupMillis, warmupMillis, measureMillis };
  /** @type {Record<string, string>} */
  const facts = {};
  const samples = await runRounds(
    {
      rounds,
      workloads,
      drivers: drivers.filter(({ error }) => error === undefined).map(({ name }) => name),
      casesFor: (workload, driver, round) => casesFor(workload, driver, { ...options, round }),
      async setUp({ setUp }) {
        const around = await setUp?.(database.config);
        return {
          places: around?.places,
          async tearDown() {
            Object.assign(facts, await around?.tearDown());
          },
        };
      },
      run({ workload, driver, cases: limits, places }, onMessage) {
        const cases = limits.map(({ name }) => name);
        const job = { driver, target, workload: workload.id, cases, limits, timing };
        const { script, env, patienceMillis } = workload;
        if (script === undefined) return runJob(job, signal, onMessage);
        const own = settings[driver];
        return runJob({ ...job, places, settings: own }, signal, onMessage, {
          script,
          env: { ...env, ...own.env },
          patienceMillis,
        });
      },
    },
    signal,
  );
  return { samples, facts };
}

/** @param {ReturnType<typeof readOptions>} options */
function describeTools({ tools, settings }) {
  const versions = tools.map((name) => `${name} ${toolVersion(name)}`).join(', ');
  const own = Object.entries(settings).map(([driver, { clients, env, defaults }]) => {
    const others = Object.entries({ ...env, ...defaults }).map(([key, value]) => `${key}=${value}`);
    return [`${driver} ${clients}`, ...others].join(', ');
  });
  return { 'W8, tools': versions, 'W8, clients that a tool makes at most': own.join('; ') };
}

/**
 * Beside the tools, which it also serves over TCP, a server of our own has a unix socket for all others.
 * @param {import('../scripts/database').Database} database
 * @returns {import('./tables').Target}
 */
function targetOf({ connectionString, config, binDirectory, socketDirectory }) {
  if (socketDirectory === undefined || process.platform === 'win32') {
    return { connectionString, config, binDirectory };
  }
  const own = { ...config, host: socketDirectory };
  return { connectionString: toConnectionString(own), config: own, binDirectory };
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
  const withTools = options.workloads.some(({ script }) => script !== undefined);
  if (withTools) installOnce(TOOLS);
  const database = await startDatabase({
    listen: withTools,
    settings: {
      shared_buffers: '128MB',
      autovacuum: 'off',
      ...(withTools && { max_connections: MAX_CONNECTIONS }),
    },
  });
  try {
    const target = targetOf(database);
    await createTables(target);
    const drivers = await probeAll(options.drivers, target);
    const { samples, facts } = await measure(options, { drivers, target, database, signal });
    if (signal.aborted) {
      process.exitCode = 130;
      return;
    }
    const machine = {
      ...describeMachine({ ...database, config: target.config }),
      ...(withTools && { places: { ...describeTools(options), ...facts } }),
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
