'use strict';

// `npm run bench:experiments`, as a process of its own on the run's server, so small that its figures mean nothing: that
// every arm of every experiment runs and is answered right, and that the page has all of it. `npm run test:long` runs all
// of them; this file alone runs one.

const assert = require('node:assert/strict');
const { spawn } = require('node:child_process');
const { once } = require('node:events');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { pathToFileURL } = require('node:url');
const { EXPERIMENTS } = require('../../bench/experiments');
const { installOnce } = require('../../scripts/install-once');
const { findPgBouncer } = require('../../scripts/pgbouncer');
const { launchBrowser } = require('../support/browser');
const { connectionString, endAll, newClient } = require('../support/connect');
const { IS_LONG } = require('../support/property');

const BENCH = path.join(__dirname, '..', '..', 'bench');

/** Experiments, and what the page tells of what has been published of them. @type {Record<string, string>} */
const PUBLISHED = {
  connections: '47 s',
  'http-styles': '214/s',
  'latency-inserts': '36.15 s',
  'one-connection': '182 allocations',
  transfer: '406 / 414 / 414 ms',
};
const CHOSEN = IS_LONG ? EXPERIMENTS : EXPERIMENTS.filter(({ id }) => id === 'asking-others');

installOnce(BENCH);

/** Arms whose means this machine lacks; in CI it has all but pg-native, which npm does not build. */
function mayBeMissing(arm) {
  if (arm.driver === 'pg-native') return /Cannot find module 'pg-native'/;
  if (process.env.CI) return undefined;
  if (arm.driver === 'psql') return /psql/;
  if (arm.through !== 'pgbouncer') return undefined;
  try {
    findPgBouncer();
    return undefined;
  } catch {
    return /No PgBouncer .*apt install pgbouncer/;
  }
}

describe('npm run bench:experiments', function () {
  this.timeout(120_000);

  /** @type {string} */
  let folder;

  before(() => {
    folder = fs.mkdtempSync(path.join(os.tmpdir(), 'experiments-test-'));
  });

  after(() => fs.rmSync(folder, { recursive: true, force: true }));

  afterEach(endAll);

  /** @param {string} script @param {string[]} args */
  async function run(script, args) {
    const child = spawn(process.execPath, [path.join(BENCH, script), ...args], {
      cwd: folder,
      // Without a value a variable is not passed on.
      env: {
        ...process.env,
        PG_CONDUIT_TEST_SERVER: undefined,
        PG_CONDUIT_DATABASE_URL: connectionString(),
      },
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    let output = '';
    let errors = '';
    child.stdout.on('data', (chunk) => (output += chunk));
    child.stderr.on('data', (chunk) => (errors += chunk));
    const [code] = await once(child, 'close');
    return { code, output, errors };
  }

  /** @type {Map<string, ReturnType<typeof run>>} */
  const runs = new Map();

  /** The run of an experiment, of which there is one for all tests. */
  async function runTiny({ id }) {
    const file = `${id}.json`;
    const args = ['--only', id, '--size', 'tiny'];
    const running = runs.get(id) ?? run('experiments/run.js', [...args, '--json', file]);
    runs.set(id, running);
    const { code, output, errors } = await running;
    assert.equal(code, 0, output + errors);
    return { file, args, output };
  }

  for (const experiment of CHOSEN) {
    it(`runs every arm of ${experiment.id}, with correct answers, and leaves no table behind`, async () => {
      const { file, args, output } = await runTiny(experiment);
      assert.ok(output.startsWith(experiment.title), output);
      const { experiments } = JSON.parse(fs.readFileSync(path.join(folder, file), 'utf8'));
      assert.deepEqual(
        experiments.map(({ title, command, ours }) => [title, command, ours]),
        [[experiment.title, `npm run bench:experiments -- ${args.join(' ')}`, experiment.ours]],
      );
      const [{ results, drivers }] = experiments;
      assert.deepEqual(
        drivers.map(({ name }) => name),
        experiment.arms.map(({ name }) => name),
      );
      for (const workload of experiment.workloads('tiny')) {
        for (const one of workload.cases) {
          const arms = experiment.arms.filter((arm) => !one.takesPart || one.takesPart(arm));
          assert.ok(arms.some(({ name }) => name === experiment.ours) || arms.length > 1);
          for (const arm of arms) {
            const what = `${workload.id}, ${one.name}, ${arm.name}`;
            const found = results.filter(
              (result) =>
                result.workload === workload.id &&
                result.case === one.name &&
                result.driver === arm.name,
            );
            assert.equal(found.length, 1, what);
            checkResult(found[0], { arm, one, what, workload });
          }
          for (const name of Object.keys(one.published ?? {})) {
            assert.ok(
              arms.some((arm) => arm.name === name),
              `${one.name} publishes of ${name}`,
            );
          }
        }
      }
      const client = await newClient();
      const { rows } = await client.query(`select to_regnamespace('conduit_bench') as name`);
      assert.equal(rows[0].name, null);
    });
  }

  function checkResult(result, { arm, one, what, workload }) {
    const missing = mayBeMissing(arm);
    if (missing && result.error !== undefined) {
      assert.match(result.error, missing, what);
      return;
    }
    assert.equal(result.error, undefined, what);
    assert.equal(result.measurements.length, 1, what);
    assert.equal(result.published, one.published?.[arm.name], what);
    if (one.memoryOnly) {
      assert.ok(Number.isFinite(result.memoryBytes.median), what);
      if (process.platform !== 'linux') return;
      const counted = workload.countsAllocations ? ['allocations', 'allocatedBytes'] : [];
      for (const key of [...counted, 'serverBytes']) {
        assert.ok(result[key].median > 0, `${what}: ${key}`);
      }
      return;
    }
    const figures = one.isTimed ? [result.timeMillis] : [result.perSecond, result.p99Micros];
    for (const { median } of figures) assert.ok(median > 0, what);
    assert.ok(result.cpuMicros.median >= 0, what);
  }

  for (const fleet of CHOSEN.filter(({ id }) => id === 'fleet')) {
    it('counts the connections of a fleet, and their memory at the server', async () => {
      const { file } = await runTiny(fleet);
      const json = fs.readFileSync(path.join(folder, file), 'utf8');
      const [{ results }] = JSON.parse(json).experiments;
      for (const { through, choices, name } of fleet.arms) {
        if (through !== undefined) continue;
        for (const result of results.filter(({ driver }) => driver === name)) {
          assert.equal(result.connections.median, 2 * choices.max, name);
          if (process.platform === 'linux') {
            assert.ok(result.serverBytes.median > (1 << 20) * result.connections.median, name);
          }
        }
      }
    });
  }

  it('has its figures on the report page, with those that were published', async () => {
    const files = [];
    for (const experiment of CHOSEN) files.push((await runTiny(experiment)).file);
    const made = await run('page/make.js', [...files, '--output', 'page.html']);
    assert.equal(made.code, 0, made.errors);
    const browser = await launchBrowser();
    try {
      const page = await browser.newPage();
      const noise = [];
      page.on('console', (message) => noise.push(message.text()));
      page.on('pageerror', (error) => noise.push(error.stack));
      await page.goto(pathToFileURL(path.join(folder, 'page.html')).href);
      await page.waitForFunction(() =>
        [...document.querySelectorAll('.plot')].every((plot) => plot.querySelector('svg')),
      );
      assert.deepEqual(noise, []);
      const headings = await page.locator('main > section > h2').allInnerTexts();
      assert.deepEqual(
        headings,
        CHOSEN.map(({ title }) => title),
      );
      assert.equal(await page.locator('h1').innerText(), 'Benchmarks of pg-conduit');
      const text = await page.locator('main').innerText();
      for (const { id } of CHOSEN) {
        if (id in PUBLISHED) assert.ok(text.includes(PUBLISHED[id]), PUBLISHED[id]);
      }
      const wide = await page.evaluate(() => document.documentElement.scrollWidth);
      assert.equal(wide, await page.evaluate(() => window.innerWidth));
    } finally {
      await browser.close();
    }
  });

  for (const [args, message] of [
    [['--only', 'transfer,teleport'], /--only names "teleport": it takes one-connection, transfer/],
    [['--size', 'huge'], /--size is "huge": it takes full, tiny/],
    [['--rounds', '0'], /--rounds is "0": give a whole number from 1 on/],
    [['--json', 'missing/figures.json'], /--json names "missing\/figures.json": make a folder /],
  ]) {
    it(`explains its options instead of running with ${args.join(' ')}`, async () => {
      const { code, output, errors } = await run('experiments/run.js', args);
      assert.equal(code, 2, output + errors);
      assert.match(errors, message);
      assert.match(errors, /--only LIST/);
    });
  }
});
