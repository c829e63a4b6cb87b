'use strict';

// What `npm start` runs, examples/http-server/start.js, as a process of its own, and the routes of
// its server. Run by mocha.

const assert = require('node:assert/strict');
const { spawn } = require('node:child_process');
const { once } = require('node:events');
const fs = require('node:fs');
const os = require('node:os');
const path = require('node:path');
const { setTimeout: delay } = require('node:timers/promises');

const START = path.join(__dirname, '..', 'examples', 'http-server', 'start.js');

describe('npm start', function () {
  this.timeout(60_000);

  /** Where the server's folder goes, so that what is left of it can be seen. */
  let folder;
  let child;

  beforeEach(() => {
    folder = fs.mkdtempSync(path.join(os.tmpdir(), 'start-test-'));
    fs.chmodSync(folder, 0o755);
    child = undefined;
  });

  afterEach(() => {
    if (child && child.exitCode === null) child.kill('SIGKILL');
    fs.rmSync(folder, { recursive: true, force: true, maxRetries: 10 });
  });

  function start(...args) {
    // Without a value a variable is not passed on.
    const env = { ...process.env, TMPDIR: folder, DATABASE_URL: undefined, PGHOST: undefined };
    child = spawn(process.execPath, [START, ...args], {
      env,
      stdio: ['ignore', 'pipe', 'pipe'],
    });
    child.output = '';
    child.errors = '';
    child.stdout.on('data', (chunk) => (child.output += chunk));
    child.stderr.on('data', (chunk) => (child.errors += chunk));
    child.closed = once(child, 'close');
  }

  async function outputContains(pattern) {
    while (!pattern.test(child.output)) {
      assert.equal(child.exitCode, null, `it ended early: ${child.output}${child.errors}`);
      await delay(20);
    }
    return child.output.match(pattern);
  }

  it('loads itself, prints a table and ends with code 0 and without a trace with --once', async () => {
    start('--once', '--seconds', '1', '--port', '0');
    const [code] = await child.closed;
    assert.equal(code, 0, child.output + child.errors);
    assert.equal(child.errors, '');
    for (const row of ['requests/s', 'latency p50', 'latency p99', 'queries for each flush']) {
      assert.match(child.output, new RegExp(`${row}\\s+│\\s+[\\d,.]+`));
    }
    assert.match(child.output, /errors\s+│\s+0 /);
    assert.match(child.output, /connections used\s+│\s+[1-4] of 4/);
    assert.deepEqual(fs.readdirSync(folder), []);
  });

  it('serves its routes until it is told to end, and then cleans up', async () => {
    start('--seconds', '1', '--connections', '2', '--port', '0');
    const [, url] = await outputContains(/Still serving (\S+)/);

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

    child.kill('SIGINT');
    const [code] = await child.closed;
    assert.equal(code, 0, child.output + child.errors);
    assert.equal(child.errors, '');
    assert.deepEqual(fs.readdirSync(folder), []);
  });

  it('ends cleanly when it is told to in the middle of the load', async () => {
    start('--seconds', '30', '--port', '0');
    await outputContains(/GET \/db for 30 s/);
    await delay(200);
    child.kill('SIGTERM');
    const [code] = await child.closed;
    assert.equal(code, 0, child.output + child.errors);
    assert.deepEqual(fs.readdirSync(folder), []);
  });

  it('explains its options when it gets one that it does not know', async () => {
    start('--sconds', '1');
    const [code] = await child.closed;
    assert.equal(code, 2);
    assert.match(child.errors, /--sconds[^]*--seconds N/);
  });
});
