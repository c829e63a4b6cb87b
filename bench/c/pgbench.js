'use strict';

// PostgreSQL's own pgbench as another limit: `pgbench -M prepared` with a script of the case's select.
// One of the programs of index.js.

const { execFileSync } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { ROWS, SELECT_POINT } = require('../tables');
const { runTimed } = require('./timed');

/** Queries of the first run, by which the length of the second one is chosen. */
const FIRST_RUN = 2000;

/** Found by probe(), which comes first. */
let program = '';

/** @type {import('.').Program['probe']} */
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
          'queries with one Sync; it looks at no value',
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
 * @type {import('.').Program['takesPart']}
 */
function takesPart({ limit }) {
  if (limit === undefined || limit.text !== SELECT_POINT) return false;
  const { inFlight, connections = 1, perSync = 1 } = limit;
  return inFlight === connections || perSync > 1;
}

/** @type {import('.').Program['run']} */
async function run(one, { target, timing }, signal) {
  const limit = /** @type {import('../workloads').Limit} */ (one.limit);
  const { connections = 1, perSync = 1 } = limit;
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'conduit-bench-'));
  const script = path.join(folder, 'script.sql');
  fs.writeFileSync(script, scriptOf(limit));
  /** @param {number} queries */
  const runQueries = async (queries) => {
    const each = Math.max(1, Math.round(queries / (connections * perSync)));
    const found = await runProgram(
      [
        ...['-n', '-M', 'prepared', '-c', String(connections), '-j', '1', '-t', String(each)],
        ...['-f', script, target.connectionString],
      ],
      { password: target.config.password, signal },
    );
    const operations = each * connections * perSync;
    return { operations, seconds: found.seconds, cpuMicros: found.cpuMicros };
  };
  try {
    const first = await runQueries(FIRST_RUN);
    const perSecond = first.operations / first.seconds;
    const second = await runQueries(first.operations + (perSecond * timing.measureMillis) / 1000);
    // What starting and connecting cost is in both.
    const measurement = {
      operations: second.operations - first.operations,
      seconds: second.seconds - first.seconds,
      cpuMicros: second.cpuMicros - first.cpuMicros,
    };
    return { case: one.name, measurement };
  } catch (error) {
    return { case: one.name, error: /** @type {Error} */ (error).message };
  } finally {
    fs.rmSync(folder, { recursive: true, force: true });
  }
}

/** @param {import('../workloads').Limit} limit */
function scriptOf({ text, perSync = 1 }) {
  const select = `\\set id random(1, ${ROWS})\n${text.replace('$1', ':id')};\n`;
  return perSync === 1 ? select : `\\startpipeline\n${select.repeat(perSync)}\\endpipeline\n`;
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

module.exports = { probe, run, takesPart };
