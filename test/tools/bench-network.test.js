'use strict';

// What `npm run bench` measures beside the drivers of Node.js on a unix socket: other networks, a server without a
// database, and anchors of other languages. The figures are too short to mean anything. Run by mocha.

const assert = require('node:assert/strict');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { parse } = require('pg-connection-string');
const { newAnchor } = require('../../bench/anchors/anchor');
const pgx = require('../../bench/anchors/pgx');
const tokioPostgres = require('../../bench/anchors/tokio-postgres');
const noDatabase = require('../../bench/drivers/no-database');
const { Server } = require('../../bench/http/server');
const { verifyRoute } = require('../../bench/http/verify');
const { formatReport, summarize } = require('../../bench/report');
const { openPlaces } = require('../../bench/tools/places');
const { installOnce } = require('../../scripts/install-once');
const { startBench } = require('../support/bench-run');
const { cannotRun } = require('../support/cannot-run');
const { connectionString } = require('../support/connect');
const { itInLong } = require('../support/property');

const ROOT = path.join(__dirname, '..', '..');
const IS_LONG = process.env.PG_CONDUIT_TESTS === 'long';
/** Of a build, which downloads what it needs. */
const BUILD_MILLIS = 20 * 60_000;

installOnce(path.join(ROOT, 'bench'));

describe('npm run bench, further away and beside other languages', function () {
  this.timeout(60_000);

  /** @type {string} */
  let folder;
  /** @type {ReturnType<typeof startBench> | undefined} */
  let run;

  beforeEach(() => {
    folder = fs.mkdtempSync(path.join(os.tmpdir(), 'bench-test-'));
    run = undefined;
  });

  afterEach(() => {
    if (run && run.child.exitCode === null) run.child.kill('SIGKILL');
    fs.rmSync(folder, { recursive: true, force: true });
  });

  /** @param {string} args @param {string} [url] of the database, else it is one of the bench's own */
  async function measure(args, url) {
    const all = `--quick --rounds 1 ${args} --json figures.json`;
    run = startBench(folder, all.split(' '), { PG_CONDUIT_DATABASE_URL: url });
    const [code] = await run.closed;
    assert.equal(code, 0, run.output + run.errors);
    const figures = JSON.parse(fs.readFileSync(path.join(folder, 'figures.json'), 'utf8'));
    for (const { driver, case: name, error, perSecond } of figures.results) {
      assert.equal(error, undefined, `${driver}, ${name}: ${error}`);
      assert.ok(perSecond.median > 0, `${driver}, ${name}`);
    }
    return figures;
  }

  /** @param {{ results: { driver: string }[] }} figures */
  function measured({ results }) {
    return [...new Set(results.map(({ driver }) => driver))];
  }

  itInLong(
    'measures all drivers over TLS, on a server that refuses others, and says so',
    async () => {
      const drivers = ['pg-conduit', 'pg', 'pg-pipeline', 'postgres'];
      const figures = await measure(`--workload w2 --drivers ${drivers} --tls`);
      assert.deepEqual(measured(figures), drivers);
      assert.deepEqual(figures.network, { tcp: true, tls: true, latencyMillis: 0 });
      assert.equal(figures.machine.connection, 'TCP with TLS');
      assert.match(figures.command, /^npm run bench -- --quick --tls --rounds 1 --workload w2 /);
      assert.match(run.output, /W2: .* a pool of 10 \(TCP with TLS\)\n/);
      assert.match(figures.workloads[0].title, /\(TCP with TLS\)$/);
    },
  );

  it('measures over TCP, and says so', async () => {
    const figures = await measure('--workload w2 --drivers pg-conduit --tcp');
    assert.deepEqual(figures.network, { tcp: true, tls: false, latencyMillis: 0 });
    assert.match(run.output, /W2: .* a pool of 10 \(TCP\)\n/);
  });

  itInLong('measures at a distance, through a relay that it tells of', async function () {
    if (process.platform !== 'linux') cannotRun(this, 'the relay is for Linux');
    const figures = await measure(
      '--workload w1 --drivers pg-conduit --latency 20',
      connectionString(),
    );
    assert.deepEqual(figures.network, { tcp: true, tls: false, latencyMillis: 20 });
    const alone = figures.results.find((result) => result.case === '1 in flight');
    assert.ok(alone.p50Micros.median >= 20_000, JSON.stringify(alone.p50Micros));
    assert.match(run.output, /W1: .* one connection \(TCP, 20 ms away\)\n/);
    assert.match(figures.machine.places.Network, /^a query alone takes \d.* through a relay, /);
  });

  it('puts the tools at that distance, in the place of their own', async function () {
    if (process.platform !== 'linux') cannotRun(this, 'the relay is for Linux');
    const { host, port, user, database, password } = parse(connectionString());
    const config = { host, port: Number(port), user, database, password };
    const network = { tcp: true, tls: false, latencyMillis: 8 };
    const { places, tearDown } = await openPlaces({ config }, network);
    const told = await tearDown();
    assert.deepEqual(Object.keys(places), ['near']);
    assert.notEqual(places.near.config.port, config.port);
    assert.equal(new URL(places.near.url).port, String(places.near.config.port));
    const [[name, words]] = Object.entries(told);
    assert.equal(name, 'W8, 8 ms away');
    const [, millis] = /^a query alone takes (\S+) ms, through a relay, /.exec(words) ?? [];
    assert.ok(Number(millis) >= 8, words);
  });

  for (const [args, message] of [
    [['--latency', 'far'], /--latency is "far": give the milliseconds of a round trip/],
    [['--latency', '0'], /--latency is "0"/],
    [['--tls'], /--tls needs a server of the bench: unset PG_CONDUIT_DATABASE_URL/],
  ]) {
    it(`explains its options instead of running with ${args.join(' ')}`, async () => {
      run = startBench(folder, args, { PG_CONDUIT_DATABASE_URL: connectionString() });
      const [code] = await run.closed;
      assert.equal(code, 2, run.output + run.errors);
      assert.match(run.errors, message);
      assert.equal(run.output, '');
    });
  }

  describe('the server without a database', () => {
    for (const route of ['/db', '/queries?n=20', '/updates?n=20', '/fortunes']) {
      it(`answers ${route} as the others do`, async () => {
        const session = await noDatabase.connect({ connectionString: '', config: {}, max: 10 });
        const server = new Server(session);
        await server.start();
        try {
          await verifyRoute(server.url, route, session);
        } finally {
          await server.end();
        }
        assert.equal(server.error, undefined);
      });
    }

    it('is what the throughput of the others is a part of', () => {
      const one = { name: '/db', max: 10, unitsPerOperation: 1, run: assert.fail };
      const workloads = [
        { id: 'w', title: 'W', unit: 'request', bound: 'no-database', cases: [one] },
      ];
      const samples = Object.entries({ 'pg-conduit': 800, pg: 250, 'no-database': 1000 }).map(
        ([driver, operations]) => ({
          workload: 'w',
          case: '/db',
          driver,
          measurements: [{ operations, seconds: 1, cpuMicros: 1000 }],
        }),
      );
      const results = summarize(samples, workloads);
      assert.deepEqual(
        results.map(({ boundPart }) => boundPart),
        [0.8, 0.25, 1],
      );
      const report = formatReport({ machine: {}, drivers: [], results }, workloads);
      assert.match(report, /│ of no-database │/);
      assert.match(report, /│ pg-conduit +│.*│ +80 % │/);
    });
  });

  describe('anchors', () => {
    const PATH = process.env.PATH;

    afterEach(() => {
      process.env.PATH = PATH;
    });

    for (const { OPTIONS: options, sentence } of [
      {
        ...tokioPostgres,
        sentence:
          'cargo is not on the PATH, and tokio-postgres needs it: install Rust (https://rustup.rs)',
      },
      {
        ...pgx,
        sentence: 'go is not on the PATH, and pgx needs it: install Go (https://go.dev/dl)',
      },
    ]) {
      it(`${options.name} is left out with a sentence where ${options.tool} is missing`, () => {
        process.env.PATH = folder;
        const answer = newAnchor(options, folder).probe({ connectionString: '', config: {} });
        assert.deepEqual(answer, { error: sentence });
        const drivers = [{ name: options.name, ...answer }];
        const report = formatReport({ machine: {}, drivers, results: [] }, []);
        assert.ok(report.includes(`  ${options.name} is not available: ${sentence}`), report);
      });

      it(`${options.name} is left out with what ${options.tool} says when it cannot be built`, function () {
        if (process.platform === 'win32') cannotRun(this, 'a script is no program on Windows');
        const tool = path.join(folder, options.tool);
        const script = '#!/bin/sh\necho first >&2\necho there is no network >&2\nexit 1\n';
        fs.writeFileSync(tool, script, { mode: 0o755 });
        process.env.PATH = `${folder}${path.delimiter}${PATH}`;
        const anchor = newAnchor(options, folder);
        assert.deepEqual(anchor.probe({ connectionString: '', config: {} }), {
          error: `${options.tool} could not build it: there is no network`,
        });
        assert.equal(anchor.isBuilt(), false);
      });
    }

    it('take part in the point selects, and are told apart from the drivers', async function () {
      this.timeout(2 * BUILD_MILLIS);
      const anchors = { 'tokio-postgres': tokioPostgres, pgx };
      for (const [name, anchor] of Object.entries(anchors)) {
        // Compiling them takes minutes.
        if (!IS_LONG && !anchor.isBuilt()) cannotRun(this, `npm run bench has not built ${name}`);
        const { error } = anchor.probe({ connectionString: '', config: {} });
        if (error) cannotRun(this, error);
      }
      const names = Object.keys(anchors);
      for (const what of ['w1,w9', 'w2 --tls']) {
        const drivers = ['pg-conduit', ...names];
        const figures = await measure(`--workload ${what} --drivers ${drivers}`);
        assert.deepEqual(measured(figures), drivers);
        assert.deepEqual(figures.anchors, names);
        assert.deepEqual(figures.limits, ['c-limit', 'pgbench']);
        for (const { driver, cpuMicros } of figures.results) {
          assert.ok(cpuMicros.median > 0, driver);
        }
        const versions = figures.drivers.map(({ version }) => version);
        assert.match(versions[1], /^0\.7\.\d+ \(Rust\)$/);
        assert.match(versions[2], /^5\.\d+\.\d+ \(Go\)$/);
      }
    });
  });
});
