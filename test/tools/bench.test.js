'use strict';

// `npm run bench`, as a process of its own on the run's server, with figures too short to mean anything,
// and what it makes of figures. Run by mocha.

const assert = require('node:assert/strict');
const { fork } = require('node:child_process');
const { createHash, randomBytes } = require('node:crypto');
const { once } = require('node:events');
const fs = require('node:fs');
const net = require('node:net');
const os = require('node:os');
const path = require('node:path');
const { setTimeout: delay } = require('node:timers/promises');
const { startRelay } = require('../../bench/c/relay');
const { formatReport, summarize } = require('../../bench/report');
const { installOnce } = require('../../scripts/install-once');
const { startBench } = require('../support/bench-run');
const { cannotRun } = require('../support/cannot-run');
const { connectionString, endAll, newClient } = require('../support/connect');
const { itInLong } = require('../support/property');

const ROOT = path.join(__dirname, '..', '..');
const BREAK = path.join(__dirname, '..', 'support', 'fixtures', 'broken-drivers.js');
const SLOW = path.join(__dirname, '..', 'support', 'fixtures', 'slow-http.js');

installOnce(path.join(ROOT, 'bench'));

describe('npm run bench', function () {
  this.timeout(60_000);

  /** @type {string} */
  let folder;
  /** @type {import('node:child_process').ChildProcess | undefined} */
  let child;

  beforeEach(() => {
    folder = fs.mkdtempSync(path.join(os.tmpdir(), 'bench-test-'));
    child = undefined;
  });

  afterEach(async () => {
    if (child && child.exitCode === null) child.kill('SIGKILL');
    fs.rmSync(folder, { recursive: true, force: true });
    await endAll();
  });

  /** @param {string[]} args @param {Record<string, string>} [env] */
  function start(args, env) {
    const run = startBench(folder, args, { PG_CONDUIT_DATABASE_URL: connectionString(), ...env });
    child = run.child;
    return run;
  }

  function readFigures() {
    return JSON.parse(fs.readFileSync(path.join(folder, 'figures.json'), 'utf8'));
  }

  it('prints a table, writes all figures to a file and leaves no table behind', async () => {
    const args = '--quick --rounds 1 --workload w1 --drivers pg-conduit,pg,c-limit';
    const run = start([...args.split(' '), '--json', 'figures.json']);
    const [code] = await run.closed;
    assert.equal(code, 0, run.output + run.errors);
    assert.match(run.output, /W1: point select/);
    assert.match(run.output, /│ 1 in flight\s+│ pg-conduit\s+│\s+1\.00 │\s+1\.00 │\s+[\d.,]+ \(/);
    assert.match(run.output, /npm run bench:report -- figures\.json/);

    const figures = readFigures();
    assert.ok(Date.parse(figures.date) > Date.now() - 60_000);
    assert.equal(figures.command, `npm run bench -- ${args}`);
    const { machine } = figures;
    assert.equal(machine.node, process.version);
    assert.equal(machine.rounds, 1);
    assert.equal(machine.quick, true);
    assert.equal(figures.ours, 'pg-conduit');
    assert.deepEqual(
      figures.workloads.map(({ id, unit }) => [id, unit]),
      [['w1', 'query']],
    );
    const cases = figures.workloads[0].cases.map(({ name }) => name);
    assert.equal(cases[0], '1 in flight');
    const names = ['pg-conduit', 'pg', 'c-limit'];
    assert.deepEqual(
      figures.drivers.map(({ name }) => name),
      names,
    );
    // A quick run leaves some cases out.
    const measured = cases.filter((one) => figures.results.some((result) => result.case === one));
    assert.ok(measured.length > 1);
    for (const name of names) {
      const { version, error } = figures.drivers.find((driver) => driver.name === name);
      // The program in C needs what not every machine has, and says so.
      if (name === 'c-limit' && error) continue;
      assert.match(version, /\d/);
      const own = figures.results.filter(({ driver }) => driver === name);
      assert.deepEqual(
        own.map((result) => result.case),
        measured,
      );
      for (const result of own) {
        assert.equal(result.error, undefined, `${name}, ${result.case}: ${result.error}`);
        for (const { median, min, max } of [result.cpuMicros, result.perSecond]) {
          assert.ok(min > 0 && min === median && median === max);
        }
        assert.ok(result.cpuRatio > 0 && result.throughputRatio > 0);
        assert.equal(result.measurements.length, 1);
        assert.ok(result.measurements[0].operations > 0);
      }
      const { p50Micros, p99Micros } = own[0];
      if (name !== 'c-limit') assert.ok(p50Micros.median <= p99Micros.median);
    }
    const client = await newClient();
    const { rows } = await client.query(`select to_regnamespace('conduit_bench') as name`);
    assert.equal(rows[0].name, null);
  });

  itInLong(
    'continues with the other drivers when one cannot be loaded, is wrong, hangs or crashes',
    async () => {
      const args = '--quick --rounds 1 --workload w3 --drivers pg-conduit,pg-native,postgres';
      const run = start([...args.split(' '), '--json', 'figures.json'], {
        NODE_OPTIONS: `--require ${JSON.stringify(BREAK)}`,
      });
      const [code] = await run.closed;
      assert.equal(code, 0, run.output + run.errors);
      assert.match(run.output, /pg-native is not available: pg-native is broken\n/);
      assert.match(run.output, /│ postgres\s+│ +failed: 0 rows instead of 10000/);

      const { drivers, results } = readFigures();
      assert.equal(drivers[1].error, 'pg-native is broken');
      assert.deepEqual(
        results.filter(({ error }) => error).map((one) => [one.driver, one.case, one.error]),
        [
          ['postgres', '10,000 rows x 9 mixed columns', '0 rows instead of 10000'],
          ['postgres', '100 rows x 9 mixed columns', 'no answer in 7 s'],
          ['postgres', '10,000 rows x 2 integers', 'ended by SIGKILL: a driver has crashed'],
        ],
      );
      const ours = results.filter(({ driver }) => driver === 'pg-conduit');
      assert.ok(ours.length >= 3);
      for (const result of ours) assert.ok(result.perSecond.median > 0, result.error);
    },
  );

  it('warms up until a driver answers, however short the warm-up is set', async () => {
    child = fork(SLOW, { stdio: ['ignore', 'ignore', 'pipe', 'ipc'] });
    let errors = '';
    child.stderr.on('data', (chunk) => (errors += chunk));
    const [measurement] = await Promise.race([once(child, 'message'), once(child, 'close')]);
    assert.ok(measurement?.operations >= 64, errors);
  });

  it('ends soon on a signal, without figures and leaving nothing behind', async () => {
    const run = start(['--workload', 'w6', '--drivers', 'pg-conduit', '--json', 'figures.json']);
    const client = await newClient();
    for (let isMeasuring = false; !isMeasuring;) {
      assert.equal(child.exitCode, null, run.output + run.errors);
      const { rows } = await client.query(
        `select count(*)::int as n from pg_stat_activity where query = 'select pg_sleep(0.05)'`,
      );
      isMeasuring = rows[0].n > 0;
    }
    child.kill('SIGINT');
    const [code] = await run.closed;
    assert.equal(code, 130, run.output + run.errors);
    assert.equal(fs.existsSync(path.join(folder, 'figures.json')), false);
    const { rows } = await client.query(`select to_regnamespace('conduit_bench') as name`);
    assert.equal(rows[0].name, null);
  });

  for (const [args, message] of [
    [['--sconds', '1'], /--sconds/],
    [['surplus'], /surplus/],
    [['--workload', 'w1,w99'], /--workload names "w99": it takes w1, /],
    [['--drivers', 'pg,oracle'], /--drivers names "oracle": it takes pg-conduit, pg, /],
    [['--tools', 'kysely,hibernate'], /--tools names "hibernate": it takes drizzle, kysely, /],
    [['--settings', 'clients=200'], /--settings is not JSON: write it like \{"clients": 200, /],
    [['--settings', '{"callers":1}'], /--settings names "callers": write it like \{"clients"/],
    [['--rounds', '0'], /--rounds is "0": give a whole number from 1 on/],
    [['--rounds', 'many'], /--rounds is "many"/],
    [['--json', 'missing/figures.json'], /--json names "missing\/figures.json": make a folder /],
  ]) {
    it(`explains its options instead of running with ${args.join(' ')}`, async () => {
      const run = start(args);
      const [code] = await run.closed;
      assert.equal(code, 2, run.output + run.errors);
      assert.match(run.errors, message);
      assert.match(run.errors, /--quick .*\n.*--workload LIST/);
      assert.equal(run.output, '');
    });
  }

  describe('the relay between the tools and the server', () => {
    /** @type {net.Server} */
    let server;
    /** @type {Awaited<ReturnType<typeof startRelay>> | undefined} */
    let relay;

    before(function () {
      if (process.platform !== 'linux') cannotRun(this, 'the relay is for Linux');
    });

    afterEach(async () => {
      await relay?.end();
      relay = undefined;
      server.close();
    });

    /** @param {(socket: net.Socket) => void} serve @param {number} delayMillis */
    async function connect(serve, delayMillis) {
      server = net.createServer({ allowHalfOpen: true }, serve).listen(0, '127.0.0.1');
      await once(server, 'listening');
      const { port } = /** @type {net.AddressInfo} */ (server.address());
      relay = await startRelay({ host: '127.0.0.1', port }, delayMillis);
      const socket = net.connect({ host: '127.0.0.1', port: relay.port, allowHalfOpen: true });
      await once(socket, 'connect');
      return socket;
    }

    it('delays data in both directions, and reports how busy and late it was', async () => {
      const socket = await connect((peer) => peer.pipe(peer), 20);
      const sentAt = performance.now();
      socket.write('x');
      const [bytes] = await once(socket, 'data');
      assert.equal(String(bytes), 'x');
      assert.ok(performance.now() - sentAt >= 39);
      socket.end();
      await once(socket, 'end');
      const report = await relay.end();
      relay = undefined;
      assert.equal(report.passed, 4); // a byte and the end, each way
      assert.ok(report.lateMillis >= 0 && report.busiestPart <= 1, JSON.stringify(report));
    });

    it('loses nothing when one side reads slowly, and passes on the end after the last byte', async () => {
      const sent = randomBytes(20_000_000);
      const socket = await connect((peer) => peer.end(sent), 1);
      await delay(50);
      const hash = createHash('sha256');
      for await (const bytes of socket) hash.update(bytes);
      assert.equal(hash.digest('hex'), createHash('sha256').update(sent).digest('hex'));
      socket.end();
    });

    it('closes one side when the other is gone', async () => {
      const socket = await connect((peer) => peer.on('error', () => {}).resetAndDestroy(), 1);
      socket.on('error', () => {}).resume();
      await once(socket, 'end');
      socket.destroy();
    });
  });

  describe('summarize()', () => {
    const WORKLOADS = [
      {
        id: 'w',
        title: 'W: a workload',
        unit: 'row',
        cases: [{ name: 'a case', max: 1, unitsPerOperation: 10, run: assert.fail }],
      },
    ];

    /** @param {number} micros for each row @param {number} perSecond rows @param {number} [p99Micros] */
    function measurement(micros, perSecond, p99Micros) {
      const seconds = 2;
      const operations = (perSecond * seconds) / 10;
      return { operations, seconds, cpuMicros: micros * operations * 10, p99Micros };
    }

    /** @param {string} driver @param {any[]} measurements @param {string} [error] */
    function samples(driver, measurements, error) {
      return { workload: 'w', case: 'a case', driver, measurements, ...(error && { error }) };
    }

    it('returns medians and ranges of the cost of a row, of odd and even numbers of rounds', () => {
      const [odd, even] = summarize(
        [
          samples('pg', [measurement(7, 100), measurement(5, 300), measurement(9, 200)]),
          samples('postgres', [measurement(4, 100), measurement(2, 200)]),
        ],
        WORKLOADS,
      );
      assert.deepEqual(odd.cpuMicros, { median: 7, min: 5, max: 9 });
      assert.deepEqual(odd.perSecond, { median: 200, min: 100, max: 300 });
      assert.equal(odd.p99Micros, undefined);
      assert.deepEqual(even.cpuMicros, { median: 3, min: 2, max: 4 });
      assert.deepEqual(even.perSecond, { median: 150, min: 100, max: 200 });
    });

    it('returns ratios above 1 where pg-conduit is better', () => {
      const [ours, worse, better] = summarize(
        [
          samples('pg-conduit', [measurement(4, 1000, 50)]),
          samples('pg', [measurement(8, 250, 200)]),
          samples('postgres', [measurement(1, 2000, 25)]),
        ],
        WORKLOADS,
      );
      const ratios = ({ cpuRatio, throughputRatio, p99Ratio }) => [
        cpuRatio,
        throughputRatio,
        p99Ratio,
      ];
      assert.deepEqual(ratios(ours), [1, 1, 1]);
      assert.deepEqual(ratios(worse), [2, 4, 4]);
      assert.deepEqual(ratios(better), [0.25, 0.5, 0.5]);
    });

    it('returns no figures for a failed case, even if an earlier round succeeded', () => {
      const [ours, failed] = summarize(
        [
          samples('pg-conduit', [measurement(4, 1000)]),
          samples('pg', [measurement(8, 250)], 'it broke'),
        ],
        WORKLOADS,
      );
      assert.equal(failed.error, 'it broke');
      for (const name of ['cpuMicros', 'perSecond', 'cpuRatio', 'throughputRatio']) {
        assert.equal(failed[name], undefined, name);
      }
      assert.equal(ours.cpuRatio, 1);
    });

    it('returns no ratios where pg-conduit has failed', () => {
      const [, other] = summarize(
        [samples('pg-conduit', [], 'it broke'), samples('pg', [measurement(8, 250)])],
        WORKLOADS,
      );
      assert.equal(other.cpuMicros.median, 8);
      assert.equal(other.cpuRatio, undefined);
    });

    it('leaves out what was not measured', () => {
      assert.deepEqual(summarize([samples('c-limit', [])], WORKLOADS), []);
    });

    it('has its figures in the table', () => {
      const results = summarize(
        [
          samples('pg-conduit', [measurement(4, 1000)]),
          samples('pg', [measurement(8, 250)]),
          samples('postgres', [], 'it broke'),
        ],
        WORKLOADS,
      );
      const drivers = [
        { name: 'pg-conduit', version: '1', settings: 'some' },
        { name: 'pg-native', error: 'not there' },
      ];
      const report = formatReport({ machine: {}, drivers, results }, WORKLOADS);
      assert.match(report, /pg-conduit 1: some/);
      assert.match(report, /pg-native is not available: not there/);
      assert.match(
        report,
        /│ pg +│ +2\.00 │ +4\.00 │ 8\.00 \(8\.00 to 8\.00\) │ +250 \(250 to 250\) │/,
      );
      assert.match(report, /│ postgres +│ +failed: it broke +│/);
    });
  });
});
