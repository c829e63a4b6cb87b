'use strict';

// The package in the place of `pg`, by one line of package.json: npm gives it to each tool that depends on `pg` 8,
// and tracers instrument it, since its version is of that line.

const assert = require('node:assert/strict');
const { execFileSync } = require('node:child_process');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { startDatabase } = require('../../scripts/database');
const { pack } = require('./support/packed');

const SOURCE = path.join(__dirname, 'as-pg');

describe('a project with the package in the place of pg', function () {
  // Some 250 packages are installed.
  this.timeout(600_000);

  /** @type {string} */
  let project;
  /** @type {Awaited<ReturnType<typeof startDatabase>>} */
  let database;

  before(async () => {
    project = fs.mkdtempSync(path.join(os.tmpdir(), 'conduit-as-pg-'));
    for (const name of fs.readdirSync(SOURCE)) {
      fs.copyFileSync(path.join(SOURCE, name), path.join(project, name));
    }
    const file = path.join(project, 'package.json');
    const own = JSON.parse(fs.readFileSync(file, 'utf8'));
    own.dependencies.pg = `file:${pack().file}`;
    fs.writeFileSync(file, JSON.stringify(own));
    npm('install', '--no-audit', '--no-fund');
    database = await startDatabase({ own: true });
  });

  after(async () => {
    await database?.stop();
    fs.rmSync(project, { recursive: true, force: true });
  });

  /** @param {string[]} args */
  function npm(...args) {
    return execFileSync('npm', [...args, '--loglevel=error'], { cwd: project, encoding: 'utf8' });
  }

  it('has one pg, which all tools have, without overrides', () => {
    const found = new Map();
    /** @param {any} node @param {string} parent */
    const visit = ({ dependencies = {} }, parent) => {
      for (const [name, child] of Object.entries(dependencies)) {
        if (name === 'pg') found.set(parent, child);
        visit(/** @type {any} */ (child), name);
      }
    };
    visit(JSON.parse(npm('ls', 'pg', '--all', '--json')), 'project');
    const tools =
      'connect-pg-simple drizzle-orm graphile-worker pg-boss pg-cursor pg-promise pg-query-stream typeorm';
    assert.deepEqual([...found.keys()].sort(), [...tools.split(' '), 'project'].sort());
    const { version } = require('../../package.json');
    for (const [tool, pg] of found) assert.equal(pg.version, version, tool);
    const folders = fs
      .readdirSync(project, { recursive: true })
      .filter((name) => String(name).endsWith(path.join('node_modules', 'pg', 'package.json')));
    assert.equal(folders.length, 1, String(folders));
  });

  for (const [tracer, program] of [
    ['OpenTelemetry', 'opentelemetry.js'],
    ['Datadog', 'datadog.js'],
    ['Elastic', 'elastic.js'],
  ]) {
    it(`gets a span of each query from ${tracer}`, () => {
      const { host, port, user, database: name } = database.config;
      const output = execFileSync(process.execPath, [program], {
        cwd: project,
        encoding: 'utf8',
        env: {
          ...process.env,
          PGHOST: host,
          PGPORT: String(port),
          PGUSER: user,
          PGDATABASE: name,
        },
      });
      assert.deepEqual(JSON.parse(output), ['select 1 as one', 'select 2 as two']);
    });
  }
});
