'use strict';

// `npx pg-conduit check` where it is quick: its arguments, its two forms, a plain server, and one that is not there.
// What is behind poolers and TLS is in test/engines/check.test.js. Run by mocha.

const assert = require('node:assert/strict');
const fs = require('node:fs');
const net = require('node:net');
const path = require('node:path');
const { print } = require('../../bin/check/print');
const { connectionString } = require('../support/connect');
const { check, found, levels, runCommand } = require('../support/check');
const { Observer } = require('../support/outside');
const { deadPort, listen } = require('../support/ports');
const { read, blocks } = require('../support/pages');
const { ROOT } = require('../support/project');

const PASSWORD = 'sésame/ouvre-toi';
const ENCODED = encodeURIComponent(PASSWORD);

describe('npx pg-conduit check', function () {
  this.timeout(60_000);

  it('refuses wrong arguments with exit code 2, and repeats no connection string', async () => {
    const url = `postgresql://u:${ENCODED}@localhost/d`;
    const lines = [
      ['check', 'a', 'b'],
      ['check', '--clean'],
      ['build', '--json'],
      [url],
      ['check', url, '--timeout', 'soon'],
      ['check', url, '--timeout', '0s'],
      ['check', url, '--max', '0'],
      ['check', url, '--processes', 'many'],
      ['check', `"${url}"`],
      ['check', 'mysql://u:p@localhost/d'],
      ['check', url.replace(ENCODED, PASSWORD)],
      ['check', url, '--fast'],
    ];
    const outcomes = await Promise.all(lines.map((args) => runCommand(args)));
    for (const [index, { status, stdout, stderr }] of outcomes.entries()) {
      const args = lines[index];
      assert.equal(status, 2, args.join(' '));
      assert.equal(stdout, '');
      assert.match(stderr, /^pg-conduit: ./);
      assert.ok(!stderr.includes(ENCODED) && !stderr.includes(PASSWORD), stderr);
    }
  });

  it('tells of a plain server that all is well, and what it is', async () => {
    const { status, stdout, stderr } = await runCommand(['check', connectionString()]);
    assert.equal(stderr, '');
    assert.equal(status, 0, stdout);
    assert.match(
      stdout,
      /^.+ \(as given\)\n\nConnecting\n {2}ok {7}\S+: takes writes; connected in /,
    );
    assert.match(stdout, /\nServer\n {2}ok {7}PostgreSQL \d+/);
    assert.match(stdout, /\nPooler\n {2}ok {7}no pooler in between/);
    assert.match(stdout, /ok {7}LISTEN and NOTIFY work/);
    assert.match(stdout, /\nNothing to set\n {2}new Pool\(\{\n/);
    // Nobody looks at colours in a file.
    assert.ok(!stdout.includes('\x1b'));
    for (const line of stdout.split('\n')) assert.ok(line.length <= 100, line);
  });

  it('says the same as JSON, under the keys of the page', async () => {
    const report = await check([connectionString()]);
    assert.equal(report.status, 0);
    assert.equal(report.ok, true);
    assert.equal(report.target.source, 'argument');
    assert.equal(report.server.product, 'PostgreSQL');
    assert.deepEqual(report.pooler, {
      between: false,
      mode: 'none',
      statements: 'kept',
      startupSettings: null,
    });
    assert.deepEqual([report.pipeline.works, report.batch.atomic], [true, true]);
    assert.ok(report.roundTrip.queryMillis > 0);
    assert.equal(report.limits.maxConnections, 200);
    assert.deepEqual(report.advice.options, {});
    assert.equal(levels(report, 'host'), 'ok');
    const [{ code }] = blocks('docs/check.md', 'json');
    const shape = (/** @type {any} */ value, /** @type {string} */ at = '') =>
      value === null || typeof value !== 'object' || Array.isArray(value)
        ? [at]
        : [at, ...Object.keys(value).flatMap((key) => shape(value[key], `${at}.${key}`))];
    const rest = { ...report, settings: null };
    delete rest.status;
    const documented = { ...JSON.parse(code), settings: null };
    const keys = new Set(shape(rest));
    for (const key of shape(documented)) {
      assert.ok(keys.has(key), `${key} is documented, and not there`);
    }
    for (const key of Object.keys(rest)) assert.ok(key in documented, `${key} is not documented`);
  });

  it('has a page that lists each of its findings', () => {
    const page = read('docs/check.md');
    const folder = path.join(ROOT, 'bin', 'check');
    const source = fs
      .readdirSync(folder)
      .map((name) => fs.readFileSync(path.join(folder, name), 'utf8'))
      .join('\n');
    const ids = new Set(
      [...source.matchAll(/(?:add|unseen)\(\s*'([\w.]+)'|\bid = '([\w.]+)'/g)].map(
        ([, first, second]) => first ?? second,
      ),
    );
    assert.ok(ids.size > 20);
    for (const id of ids) assert.ok(page.includes(`\`${id}\``), id);
  });

  it('takes DATABASE_URL, else the variables of libpq, and says which', async () => {
    const url = connectionString();
    assert.equal((await check([], { DATABASE_URL: url })).target.source, 'DATABASE_URL');
    const { searchParams } = new URL(url);
    const env = {
      PGHOST: String(searchParams.get('host')),
      PGPORT: String(searchParams.get('port')),
      PGUSER: String(searchParams.get('user')),
      PGDATABASE: 'postgres',
    };
    const report = await check([], env);
    assert.deepEqual([report.target.source, report.status], ['environment', 0]);
    assert.equal(report.hosts[0].host, env.PGHOST);
  });

  it('tells slips in the connection string, and takes the options in it', async () => {
    const report = await check([`${connectionString()}&idleTimeoutMilis=5&max=7`]);
    assert.match(found(report, 'options')[0].text, /"idleTimeoutMilis"\. Did you mean/);
    assert.deepEqual([report.status, report.limits.max], [0, 7]);
  });

  it('has colours on a terminal only', () => {
    const report = {
      target: { url: 'postgresql://u@h:1/d', source: 'argument' },
      hosts: [],
      counts: { ok: 0, note: 0, warning: 0, problem: 1 },
      findings: [{ id: 'host', level: 'problem', text: 'refused' }],
    };
    const problem = '\x1b[31mproblem  \x1b[0mrefused';
    assert.ok(print(report, { isColoured: true }).includes(problem));
    assert.ok(!print(report, { isColoured: false }).includes('\x1b'));
  });

  it('compares the pools of an application with what the server has', async () => {
    const fits = await check([connectionString(), '--max', '20', '--processes', '2']);
    assert.equal(levels(fits, 'limits.pool'), 'ok');
    const report = await check([connectionString(), '--max', '50', '--processes', '8']);
    assert.deepEqual([report.status, levels(report, 'limits.pool')], [1, 'problem']);
    assert.ok(report.advice.options.max <= 200 / 8, JSON.stringify(report.advice));
    assert.deepEqual(found(report, 'limits.pool')[0].option, { max: report.advice.options.max });
    assert.match(
      report.advice.code,
      new RegExp(`^ {2}max: ${report.advice.options.max}, // `, 'm'),
    );
  });

  it('says in words that nothing listens', async () => {
    const port = await deadPort();
    const url = `postgresql://u:${ENCODED}@127.0.0.1:${port}/d`;
    const { status, stdout } = await runCommand(['check', url]);
    assert.equal(status, 1);
    assert.match(stdout, /problem {2}127\.0\.0\.1:\d+: connect ECONNREFUSED .+: refused: nothing/);
    assert.ok(!stdout.includes(ENCODED) && !stdout.includes(PASSWORD), stdout);
    const report = await check([url]);
    assert.deepEqual([report.ok, report.status, report.server], [false, 1, null]);
    assert.equal(report.hosts[0].error.code, 'ECONNREFUSED');
    assert.ok(!JSON.stringify(report).includes(ENCODED));
  });

  it('says so of a database that is not there, and of a name that nobody knows', async () => {
    const url = new URL(connectionString());
    url.pathname = '/no_such_database';
    assert.equal((await check([url.href])).hosts[0].error.code, '3D000');
    const report = await check(['postgresql://no-such-host.invalid/d']);
    assert.deepEqual([report.status, levels(report, 'host')], [1, 'problem']);
    assert.match(
      found(report, 'host')[0].text,
      /^no-such-host\.invalid:5432: .+ cannot be resolved/,
    );
  });

  it('gives up a server that says nothing, in time', async () => {
    const mute = net.createServer(() => {});
    const port = await listen(mute);
    try {
      const args = [`postgresql://u@127.0.0.1:${port}/d`, '--timeout', '300ms'];
      const report = await check(args);
      assert.deepEqual([report.status, levels(report, 'host')], [1, 'problem']);
      assert.match(found(report, 'host')[0].text, /a firewall that drops packets/);
    } finally {
      mute.close();
    }
  });

  it('needs no rights: what a role may not see it tells so', async () => {
    const observer = await Observer.open();
    await observer.ask('drop role if exists check_few');
    await observer.ask('create role check_few login connection limit 7');
    await observer.ask("alter role check_few set app.secret = 'never printed'");
    await observer.ask("alter role check_few set intervalstyle = 'iso_8601'");
    await observer.ask('revoke all on pg_catalog.pg_foreign_server from public');
    try {
      const url = new URL(connectionString());
      url.searchParams.set('user', 'check_few');
      const report = await check([url.href, '--max', '5']);
      assert.equal(report.status, 0, JSON.stringify(report.findings));
      assert.equal(report.limits.roleLimit, 7);
      assert.match(found(report, 'server.foreign')[0].text, /not seen \(this role is not allowed/);
      assert.equal(levels(report, 'settings.IntervalStyle'), 'warning');
      const [{ text }] = found(report, 'settings.role');
      assert.match(text, /app\.secret \(role\), IntervalStyle \(role\)/);
      assert.ok(!JSON.stringify(report).includes('never printed'));
    } finally {
      await observer.ask('grant select on pg_catalog.pg_foreign_server to public');
      await observer.ask('drop role check_few');
      await observer.close();
    }
  });
});
