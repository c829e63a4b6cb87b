'use strict';

// `npm run bench -- --workload w8`, which measures these tools on this driver and on `pg`, with figures too short to mean
// anything.

const assert = require('node:assert/strict');
const { execFile } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { promisify } = require('node:util');
const { installOnce } = require('../../scripts/install-once');
const { SCHEMA } = require('../../bench/tables');
const { TOOL_NAMES } = require('../../bench/tools');
const { useTool } = require('./support/tool');

const ROOT = path.join(__dirname, '..', '..');
const RUN = path.join(ROOT, 'bench', 'run.js');

installOnce(path.join(ROOT, 'bench'));

describe('npm run bench, through the tools', function () {
  this.timeout(300_000);

  const tool = useTool('bench', { requirers: ['kysely'] });
  const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'bench-tools-test-'));

  after(() => fs.rmSync(folder, { recursive: true, force: true }));

  /** @param {string} args */
  async function run(args) {
    const { stdout } = await promisify(execFile)(
      process.execPath,
      [RUN, ...args.split(' '), '--json', 'figures.json'],
      { cwd: folder, env: { ...process.env, PG_CONDUIT_DATABASE_URL: tool.url } },
    );
    const figures = JSON.parse(fs.readFileSync(path.join(folder, 'figures.json'), 'utf8'));
    return { stdout, figures };
  }

  it('runs every tool with both drivers, and counts connections', async () => {
    const { stdout, figures } = await run('--quick --rounds 1 --workload w8');
    for (const name of TOOL_NAMES) {
      for (const driver of ['pg-conduit', 'pg']) {
        const own = figures.results.filter(
          (result) => result.member === name && result.driver === driver,
        );
        assert.equal(own.length, 3, `${name}, ${driver}`);
        for (const { case: one, error, perSecond, cpuMicros, connections } of own) {
          assert.equal(error, undefined, `${one}, ${driver}: ${error}`);
          assert.ok(perSecond.median > 0 && cpuMicros.median > 0);
          assert.ok(connections.median >= 1 && connections.median <= 10, `${one}, ${driver}`);
        }
      }
    }
    assert.deepEqual([...new Set(figures.results.map(({ driver }) => driver))].sort(), [
      'pg',
      'pg-conduit',
    ]);
    assert.match(stdout, /kysely: point selects, 200 callers, 5 ms away/);
    assert.match(
      figures.machine.places['W8, 5 ms away'],
      /^a query alone takes \d+\.\d ms, through/,
    );
    assert.match(figures.machine.places['W8, tools'], /kysely \d+\.\d+\.\d+/);
  });

  it('gives pg-conduit other settings, and leaves pg as it is', async () => {
    const settings = '{"clients":12,"defaults":{"max":3}}';
    const args = `--quick --rounds 1 --workload w8 --tools knex --settings ${settings}`;
    const { figures } = await run(args);
    /** @param {string} member @param {string} driver */
    const mostOf = (member, driver) =>
      Math.max(
        ...figures.results
          .filter((result) => result.member === member && result.driver === driver)
          .map(({ connections }) => connections.max),
      );
    assert.equal(mostOf('knex', 'pg-conduit'), 12);
    assert.equal(mostOf('knex', 'pg'), 10);
    assert.ok(figures.command.endsWith(`--settings '${settings}'`), figures.command);
    assert.match(JSON.stringify(figures.machine.places), /pg-conduit 12, max=3; pg 10/);
  });

  it('leaves no table behind', async () => {
    const pg = require('pg');
    const client = new pg.Client(tool.url);
    await client.connect();
    const { rows } = await client.query('select to_regnamespace($1) as name', [SCHEMA]);
    await client.end();
    assert.equal(rows[0].name, null);
  });
});
