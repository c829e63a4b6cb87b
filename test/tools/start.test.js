'use strict';

// What `npm start` runs, examples/http-server/start.js, as a process of its own, and the routes of
// its server. Its page is in live-page.test.js. Run by mocha.

const assert = require('node:assert/strict');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { setTimeout: delay } = require('node:timers/promises');
const { Client } = require('pg');
const { startDatabase } = require('../../scripts/database');
const { ExampleServer, START } = require('../support/example-server');
const { Program, killAll } = require('../support/program');

describe('npm start', function () {
  this.timeout(60_000);

  /** @type {string} */
  let folder;
  /** @type {ExampleServer | undefined} */
  let server;

  beforeEach(() => {
    folder = fs.mkdtempSync(path.join(os.tmpdir(), 'start-test-'));
    fs.chmodSync(folder, 0o755);
    server = undefined;
  });

  afterEach(() => {
    server?.kill();
    killAll();
    fs.rmSync(folder, { recursive: true, force: true, maxRetries: 10 });
  });

  it('with --once loads itself and pg, prints both results and the factor, and ends with code 0, leaving nothing behind', async () => {
    server = new ExampleServer(folder, '--once', '--seconds', '2', '--max', '3', '--port', '0');
    const [code] = await server.closed;
    const { output, errors } = server;
    assert.equal(code, 0, output + errors);
    assert.equal(errors, '');
    assert.match(output, /│\s+│ pg-conduit │\s+pg │/);
    /** @param {string} row @param {string} unit */
    const read = (row, unit) => {
      const cell = `│\\s+([\\d,.]+)${unit} `;
      const [, ...cells] = output.match(new RegExp(`│ ${row}\\s+${cell}${cell}│`)) ?? [];
      return cells.map((text) => Number(text.replaceAll(',', '')));
    };
    const rates = read('requests/s', '');
    const costs = read('CPU a request', ' µs');
    for (const figures of [rates, costs, read('latency p50', ' ms'), read('latency p99', ' ms')]) {
      assert.ok(figures.length === 2 && figures.every((figure) => figure > 0), output);
    }
    assert.deepEqual(read('errors', ''), [0, 0]);
    const [ours, theirs] = read('connections at the server', '');
    assert.ok(ours >= 1 && ours <= 3, output);
    assert.equal(theirs, 3);
    assert.match(output, /sent [\d.]+ queries in one write .* [\d.]+ answers in one wake-up/);
    const line =
      /^pg-conduit answers ([\d.]+)x the requests per second of pg, with (\d+) % of its CPU for each\.$/m;
    const [times, percent] = output.match(line)?.slice(1).map(Number) ?? [];
    assert.ok(Math.abs((times * rates[1]) / rates[0] - 1) < 0.05, output);
    assert.ok(Math.abs(percent - (100 * costs[0]) / costs[1]) < 3, output);
    assert.deepEqual(fs.readdirSync(folder), []);
  });

  it('serves the same on pg, in another process', async () => {
    server = new ExampleServer(folder, '--no-load', '--port', '0');
    const [, url] = await server.prints(/The same on pg [\d.]+: (\S+)/);
    assert.deepEqual(Object.keys(await (await fetch(url)).json()), ['id', 'randomnumber']);
    assert.notEqual(new URL(url).port, new URL(await server.url()).port);
    assert.equal(await server.end(), 0, server.errors);
    await assert.rejects(fetch(url));
    assert.deepEqual(fs.readdirSync(folder), []);
  });

  it('serves its routes until it gets a signal, and then cleans up', async () => {
    server = new ExampleServer(folder, '--seconds', '1', '--connections', '2', '--port', '0');
    const [, url] = await server.prints(/Still serving (\S+)/);

    const db = await (await fetch(`${url}/db`)).json();
    assert.deepEqual(Object.keys(db), ['id', 'randomnumber']);
    assert.equal((await (await fetch(`${url}/queries?n=20`)).json()).length, 20);
    assert.equal((await (await fetch(`${url}/queries?n=nonsense`)).json()).length, 1);
    assert.equal((await (await fetch(`${url}/queries?n=1000`)).json()).length, 500);
    const updates = await Promise.all(
      Array.from({ length: 10 }, async () => (await fetch(`${url}/updates?n=20`)).json()),
    );
    for (const worlds of updates) assert.equal(worlds.length, 20);
    const fortunes = await (await fetch(`${url}/fortunes`)).text();
    assert.match(fortunes, /&lt;script&gt;/);
    assert.doesNotMatch(fortunes, /<script>/);
    assert.match(fortunes, /フレームワークのベンチマーク/);
    assert.equal((await fetch(`${url}/constructor`)).status, 404);

    const code = await server.end('SIGINT');
    assert.equal(code, 0, server.output + server.errors);
    assert.equal(server.errors, '');
    assert.deepEqual(fs.readdirSync(folder), []);
  });

  it('ends cleanly on a signal in the middle of the load', async () => {
    server = new ExampleServer(folder, '--seconds', '30', '--port', '0');
    await server.prints(/GET \/db for 30 s/);
    await delay(200);
    const code = await server.end();
    assert.equal(code, 0, server.output + server.errors);
    assert.deepEqual(fs.readdirSync(folder), []);
  });

  it('only lists its options with --help', async () => {
    server = new ExampleServer(folder, '--help');
    const [code] = await server.closed;
    assert.equal(code, 0);
    for (const name of ['once', 'no-load', 'seconds', 'connections', 'max', 'port']) {
      assert.match(server.output, new RegExp(`^  --${name} `, 'm'));
    }
  });

  it('uses no database that is configured for another program, and prints which one it uses', async () => {
    const elsewhere = { PGHOST: 'db.invalid', PGDATABASE: 'shop' };
    const url = 'postgresql://ann:geheim@db.invalid/shop';
    const program = new Program([START, '--no-load', '--port', '0'], {
      env: {
        ...elsewhere,
        DATABASE_URL: url,
        PG_CONDUIT_DATABASE_URL: undefined,
        TMPDIR: folder,
      },
    });
    await program.printed(/^Still serving/m);
    const output = await program.stop();
    assert.match(
      output,
      /^PostgreSQL [\d.]+ \(\w+\), database "postgres" on \S+, port \d+: a throw-/m,
    );
    assert.doesNotMatch(output, /geheim|db\.invalid|shop/);
  });

  it('uses the given database, leaves nothing in it, and prints no password', async () => {
    const database = await startDatabase({ own: true, listen: true });
    try {
      const { port } = database.config;
      const url = `postgresql://postgres:geheim@127.0.0.1:${port}/postgres`;
      const program = new Program([START, '--no-load', '--port', '0'], {
        env: { DATABASE_URL: undefined, PG_CONDUIT_DATABASE_URL: url },
      });
      await program.printed(/^Still serving/m);
      const output = await program.stop();
      const place = `database "postgres" on 127.0.0.1, port ${port}: that of PG_CONDUIT_DATABASE_URL`;
      assert.ok(output.includes(`(environment), ${place}\n`), output);
      assert.doesNotMatch(output, /geheim/);
      const client = new Client(database.config);
      await client.connect();
      const { rows } = await client.query("select 1 from pg_namespace where nspname !~ '^pg_'");
      await client.end();
      // public and information_schema
      assert.equal(rows.length, 2);
    } finally {
      await database.stop();
    }
  });

  for (const [args, reason] of [
    [['--sconds', '1'], '--sconds'],
    [['--seconds', 'many'], '--seconds is "many"'],
    [['--once', '--no-load'], '--once ends after the load'],
  ]) {
    it(`explains its options when it gets ${args.join(' ')}`, async () => {
      server = new ExampleServer(folder, ...args);
      const [code] = await server.closed;
      assert.equal(code, 2);
      assert.match(server.errors, new RegExp(`${reason}[^]*--seconds N`));
    });
  }
});
