'use strict';

// PostgreSQL's own pgbench as another limit: `pgbench -M prepared` with a script of the case's select.
// One of the programs of ../programs.js.

const { execFileSync } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { ROWS, SELECT_POINT } = require('../tables');
const { runTimed } = require('./timed');

/** Queries of the first run, by which the length of the second one is chosen. */
const FIRST_RUN = 2000;
/** In less, what starting it costs would be most of its CPU. */
const MIN_MILLIS = 500;

/** Found by probe(), which comes first. */
let program = '';

/** @type {import('../programs').Program['probe']} */
function probe({ binDirectory }) {
  const folders = [binDirectory, installedFolder()];
  for (const folder of folders) {
    const candidate = folder && path.join(folder, 'pgbench');
    if (!candidate || !fs.existsSync(candidate)) continue;
    try {
      execFileSync('bash', ['-c', 'time true'], { stdio: 'ignore' });
      const version = execFileSync(candidate, ['--version'], { encoding: 'utf8' });
      program = candidate;
      return {
        version: /\d[\d.]*/.exec(version)?.[0] ?? version.trim(),
        settings:
          '-M prepared, one thread; one query in flight on each of its connections, or pipelines of so many ' +
          'that all of them together have the queries of the case in flight, with one Sync each; it looks at no value',
      };
    } catch (error) {
      return { error: /** @type {Error} */ (error).message.split('\n')[0] };
    }
  }
  return { error: 'no pgbench beside the server, nor where pg_config tells' };
}

function installedFolder() {
  try {
    const options = { encoding: /** @type {const} */ ('utf8') };
    return execFileSync('pg_config', ['--bindir'], { ...options, stdio: 'pipe' }).trim();
  } catch {
    return undefined;
  }
}

/**
 * Point selects under a Sync policy that pgbench has: it sends one at the end of a query or of a pipeline.
 * @type {import('../programs').Program['takesPart']}
 */
function takesPart({ limit, syncGroup }) {
  if (limit === undefined || limit.text !== SELECT_POINT) return false;
  return shapeOf(limit).pipeline === 1 || syncGroup !== 'off';
}

/**
 * As many in flight as the case has, as nearly as its connections can share them.
 * @param {import('../workloads').Limit} limit
 */
function shapeOf({ inFlight, connections = 1 }) {
  const clients = Math.min(connections, inFlight);
  return { clients, pipeline: Math.round(inFlight / clients) };
}

/** @type {import('../programs').Program['run']} */
async function run(one, { target, timing }, signal) {
  const limit = /** @type {import('../workloads').Limit} */ (one.limit);
  const { clients, pipeline } = shapeOf(limit);
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'conduit-bench-'));
  const script = path.join(folder, 'script.sql');
  fs.writeFileSync(script, scriptOf(limit.text, pipeline));
  /** @param {number} queries */
  const runQueries = async (queries) => {
    const each = Math.max(1, Math.round(queries / (clients * pipeline)));
    const found = await runProgram(
      [
        ...['-n', '-M', 'prepared', '-c', String(clients), '-j', '1', '-t', String(each)],
        ...['-f', script, target.connectionString],
      ],
      { password: target.config.password, signal },
    );
    const operations = each * clients * pipeline;
    return { operations, seconds: found.seconds, cpuMicros: found.cpuMicros };
  };
  try {
    const first = await runQueries(FIRST_RUN);
    const seconds = Math.max(MIN_MILLIS, timing.measureMillis) / 1000;
    const extend = (/** @type {typeof first} */ { operations, seconds: took }) =>
      runQueries(first.operations + (seconds * operations) / took);
    let second = await extend(first);
    // Few queries tell little of the rate of many.
    if (second.seconds < seconds / 2) second = await extend(second);
    // What starting and connecting cost is in the CPU of both; in pgbench's own rate it is not.
    const operations = second.operations - first.operations;
    const measurement = {
      operations,
      seconds: (operations * second.seconds) / second.operations,
      cpuMicros: second.cpuMicros - first.cpuMicros,
    };
    return { case: one.name, measurement };
  } catch (error) {
    return { case: one.name, error: /** @type {Error} */ (error).message };
  } finally {
    fs.rmSync(folder, { recursive: true, force: true });
  }
}

/** @param {string} text @param {number} pipeline queries */
function scriptOf(text, pipeline) {
  const select = `\\set id random(1, ${ROWS})\n${text.replace('$1', ':id')};\n`;
  return pipeline === 1 ? select : `\\startpipeline\n${select.repeat(pipeline)}\\endpipeline\n`;
}

/**
 * @param {string[]} args
 * @param {{ password?: string, signal: AbortSignal }} given
 * @returns {Promise<{ seconds: number, cpuMicros: number }>}
 */
async function runProgram(args, given) {
  const { stdout, cpuMicros } = await runTimed(program, args, given);
  const [, done, wanted] = /actually processed: (\d+)\/(\d+)/.exec(stdout) ?? [];
  const [, perSecond] = /^tps = (\S+) \(without initial connection time\)/m.exec(stdout) ?? [];
  if (done !== wanted || !perSecond) throw new Error(stdout.trim());
  return { seconds: Number(done) / Number(perSecond), cpuMicros };
}

module.exports = { isAlone: true, probe, run, takesPart };
