'use strict';

// `npm run bench`: every driver alone in its own process, in alternating order, several rounds, on one
// database. This file reads the options, starts the database, plans the rounds and hands the figures to
// report.js; children.js runs the processes.

const path = require('node:path');
const { parseArgs } = require('node:util');
const { installOnce } = require('../scripts/install-once');
const { probe, runJob } = require('./children');
const { describeNetwork, readChoices } = require('./choices');
const { describeMachine, readList, readRounds, runCommand, untilStopped } = require('./command');
const { NAMES, OURS, getDriver } = require('./drivers');
const { LATEST, prepareFigures, writeFigures } = require('./figures');
const { openNetwork } = require('./network');
const { ANCHORS, LIMITS, PROGRAMS } = require('./programs');
const { formatReport, summarize } = require('./report');
const { runRounds } = require('./rounds');
const { createTables, dropTables } = require('./tables');
const { FOLDER: TOOLS, TOOL_NAMES, toolVersion } = require('./tools');
const { readSettings } = require('./tools/drivers');
const { CAN_STOP } = require('./turns');
const { WORKLOADS } = require('./workloads');

const FULL = { rounds: 5, firstWarmupMillis: 4000, warmupMillis: 500, measureMillis: 1000 };
const QUICK = { rounds: 2, firstWarmupMillis: 400, warmupMillis: 100, measureMillis: 150 };

/** For the tools, of which some may have 200 clients. */
const MAX_CONNECTIONS = 500;

const USAGE = `npm run bench -- [options]
  --quick            four minutes instead of 100, and rougher figures
  --workload LIST    of ${WORKLOADS.map(({ id }) => id).join(',')} (all)
  --drivers LIST     of ${NAMES.join(',')} (all)
  --tools LIST       in w8, of ${TOOL_NAMES.join(',')} (all)
  --settings JSON    in w8, of pg-conduit: {"clients": 200, "env": {}, "defaults": {}}
  --tcp              not over the unix socket of the bench's server
  --tls              over TCP with TLS
  --latency MS       that a round trip takes longer, over TCP; in w8 in the place of its own latency
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
      tcp: { type: 'boolean', default: false },
      tls: { type: 'boolean', default: false },
      latency: { type: 'string' },
      rounds: { type: 'string' },
      json: { type: 'string', default: LATEST },
      help: { type: 'boolean', default: false },
    },
  });
  const preset = values.quick ? QUICK : FULL;
  const { quick, json, help, tcp, tls, ...choices } = values;
  const words = Object.entries(choices).map(
    ([name, value]) => `--${name} ${name === 'settings' ? `'${value}'` : value}`,
  );
  for (const [name, isSet] of Object.entries({ tls, tcp })) if (isSet) words.unshift(`--${name}`);
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
    network: readChoices(values),
    quick,
    json,
    help,
    /** All but the name of the file, for whoever wants the same run again. */
    command: ['npm run bench', ...(words.length > 0 ? ['--', ...words] : [])].join(' '),
  };
}

/**
 * Those that have something to do: a program may have to be built first.
 * @param {ReturnType<typeof readOptions>} options
 * @param {import('./tables').Target} target
 */
async function probeAll(options, target) {
  /** @type {DriverInfo[]} */
  const drivers = [];
  for (const name of options.drivers) {
    const isWanted = options.workloads.some(
      (workload) => casesFor(workload, name, { ...options, round: 0 }).length > 0,
    );
    if (isWanted) drivers.push({ name, ...(await probe(name, target)) });
  }
  return drivers;
}

/**
 * @param {Workload} workload
 * @param {string} driver
 * @param {{ quick: boolean, round: number, tools: string[], network: import('./choices').Choices }} which
 */
function casesFor(workload, driver, { quick, round, tools, network }) {
  if (workload.drivers && !workload.drivers.includes(driver)) return [];
  const program = PROGRAMS[driver];
  const only = program ? undefined : getDriver(driver).workloads;
  if (only && !only.includes(workload.id)) return [];
  return workload.cases.filter((one) => {
    if (one.tool !== undefined && !tools.includes(one.tool)) return false;
    if (one.place === 'away' && network.latencyMillis > 0) return false;
    if (one.mostRounds !== undefined && round >= one.mostRounds) return false;
    if (quick && (one.full || (one.once && round > 0))) return false;
    if (program) return program.takesPart(one);
    return !one.needsBatch || getDriver(driver).hasBatch;
  });
}

/**
 * @param {ReturnType<typeof readOptions>} options
 * @param {{ drivers: DriverInfo[], target: import('./tables').Target, server: import('./network').Server,
 *   signal: AbortSignal }} around
 */
async function measure(options, { drivers, target, server, signal }) {
  const { rounds, workloads, settings, network } = options;
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
        const around = await setUp?.(server, network);
        return {
          places: around?.places,
          async tearDown() {
            Object.assign(facts, await around?.tearDown());
          },
        };
      },
      takesTurns: ({ inTurns = false }, driver) =>
        CAN_STOP && inTurns && PROGRAMS[driver]?.isAlone !== true,
      run({ workload, driver, cases: limits, places, turns }, onMessage) {
        const cases = limits.map(({ name }) => name);
        const job = { driver, target, workload: workload.id, cases, limits, timing };
        const { script, envFor, patienceMillis } = workload;
        if (script === undefined) return runJob(job, signal, onMessage, { turns });
        const own = settings[driver];
        return runJob({ ...job, places, settings: own }, signal, onMessage, {
          script,
          env: { ...envFor?.(network), ...own.env },
          patienceMillis,
          turns,
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
  const { database, server, target, ownTarget, disconnect, stop } = await openNetwork(
    options.network,
    {
      listen: withTools,
      settings: {
        shared_buffers: '128MB',
        autovacuum: 'off',
        ...(withTools && { max_connections: MAX_CONNECTIONS }),
      },
    },
  );
  try {
    await createTables(ownTarget);
    const drivers = await probeAll(options, target);
    const { samples, facts } = await measure(options, { drivers, target, server, signal });
    if (signal.aborted) {
      process.exitCode = 130;
      return;
    }
    const connection = describeNetwork(options.network, target.config);
    const machine = {
      ...describeMachine(database),
      connection,
      places: { ...(await disconnect()), ...(withTools && describeTools(options)), ...facts },
      quick: options.quick,
      rounds: options.rounds,
      measureMillis: options.measureMillis,
      seconds: Math.round((performance.now() - started) / 1000),
    };
    const results = summarize(samples, options.workloads);
    // What was measured elsewhere than usual says so wherever it is shown.
    const workloads = options.workloads.map((workload) => ({
      ...workload,
      title: options.network.tcp ? `${workload.title} (${connection})` : workload.title,
    }));
    writeFigures(options.json, {
      date: new Date().toISOString(),
      command: options.command,
      machine,
      ours: OURS,
      network: options.network,
      limits: [...Object.keys(LIMITS), ...workloads.flatMap(({ bound }) => bound ?? [])],
      anchors: Object.keys(ANCHORS),
      workloads: workloads.map(({ cases, ...workload }) => ({
        ...workload,
        cases: cases.map(({ name, latencyOnly }) => ({ name, latencyOnly })),
      })),
      drivers,
      results,
    });
    console.log(formatReport({ machine, drivers, results }, workloads));
    const file = options.json === LATEST ? '' : ` -- ${options.json}`;
    console.log(`\nAs a page: npm run bench:report${file}`);
    if (results.some(({ driver, error }) => driver === OURS && error)) process.exitCode = 1;
  } finally {
    // A server of our own takes its tables with it.
    if (database.source === 'environment') await dropTables(ownTarget);
    await stop();
  }
}

runCommand(main, USAGE);
