'use strict';

// What serves and feeds the live page of `npm start`: examples/http-server/live/. The page itself is in
// live-page.test.js. Run by mocha.

const assert = require('node:assert/strict');
const { once } = require('node:events');
const fs = require('node:fs');
const http = require('node:http');
const os = require('node:os');
const path = require('node:path');
const { setTimeout: delay } = require('node:timers/promises');
const { EventStream } = require('../../examples/http-server/live/event-stream');
const { Sampler } = require('../../examples/http-server/live/sampler');
const { endAll, newPool } = require('../support/connect');
const { ExampleServer } = require('../support/example-server');
const { listen } = require('../support/ports');

describe('the figures of the live page', () => {
  /** @type {Sampler | undefined} */
  let sampler;

  afterEach(async () => {
    sampler?.stop();
    sampler = undefined;
    await endAll();
  });

  /** @param {Sampler} of */
  const nextSample = async (of) => (await once(of, 'sample'))[0];

  it('are those of the pool, and zero when nothing happens', async () => {
    const pool = newPool({ max: 1 });
    await pool.query('select 1');
    sampler = new Sampler(pool);
    const before = pool.stats();
    // A second time the cache knows it.
    for (let round = 0; round < 2; ++round) {
      await Promise.all(Array.from({ length: 50 }, (_, i) => pool.query('select $1::int', [i])));
    }
    await assert.rejects(pool.query('select 1 / $1::int', [0]));
    const after = pool.stats();

    const counts = { queries: after.queries - before.queries };
    for (const name of ['syncs', 'flushes', 'wakeups']) counts[name] = after[name] - before[name];
    for (const name of ['hits', 'misses']) {
      counts[name] = after.statementCache[name] - before.statementCache[name];
    }
    counts.failed = 1;
    const told = Object.fromEntries(Object.keys(counts).map((name) => [name, 0]));
    while (told.queries < counts.queries - 0.5) {
      const sample = await nextSample(sampler);
      for (const name of Object.keys(told)) told[name] += sample[name] * sample.seconds;
      if (sample.latencyMillis !== null) {
        const { p50, p95, p99 } = sample.latencyMillis;
        assert.ok(p50 > 0 && p50 <= p95 && p95 <= p99, `${p50} ${p95} ${p99}`);
      }
      assert.equal(sample.connections[0].queries, sample.queries);
      assert.equal(sample.connections[0].processId, after.connections[0].processID);
    }
    // Rates are rounded.
    for (const name of Object.keys(told)) told[name] = Math.round(told[name]);
    assert.deepEqual(told, counts);

    const idle = await nextSample(sampler);
    assert.equal(idle.queries, 0);
    assert.equal(idle.latencyMillis, null);
    assert.equal(idle.connections[0].inFlight, 0);
    assert.equal(sampler.history.at(-1), idle);
  });

  it('include what was in flight between two samples', async () => {
    const pool = newPool({ max: 1 });
    await pool.query('select 1');
    sampler = new Sampler(pool);
    await nextSample(sampler);
    const slow = Promise.all([pool.query('select pg_sleep(0.15)'), pool.query('select 2')]);
    const sample = await nextSample(sampler);
    await slow;
    const [{ inFlight, peak }] = sample.connections;
    assert.ok(peak >= 1 && peak <= 2 && inFlight > 0 && inFlight <= peak, `${inFlight} ${peak}`);
  });

  it('keep the place of a connection, which a new one takes when it is closed', async () => {
    const pool = newPool({ max: 2, multiplex: 'off' });
    const [first, second] = [await pool.connect(), await pool.connect()];
    sampler = new Sampler(pool);
    const [one, two] = (await nextSample(sampler)).connections;
    assert.notEqual(one.processId, two.processId);
    first.release(true);
    const { connections } = await nextSample(sampler);
    assert.equal(connections[0], null);
    assert.equal(connections[1].processId, two.processId);
    const third = await pool.connect();
    const [next, same] = (await nextSample(sampler)).connections;
    assert.ok(![one.processId, two.processId].includes(next.processId));
    assert.equal(same.processId, two.processId);
    second.release();
    third.release();
  });
});

describe('the stream of events of the live page', () => {
  /** @type {http.Server} */
  let server;
  /** @type {http.ServerResponse} */
  let response;
  let greetings = 0;
  const stream = new EventStream(() => ({ greeting: ++greetings }));

  after(() => {
    stream.close();
    server.closeAllConnections();
    server.close();
  });

  it('buffers nothing for a reader that does not read, and begins again when it does', async () => {
    server = http.createServer((_request, answer) => {
      response = answer;
      stream.add(answer);
    });
    const port = await listen(server);
    const request = http.get({ port, host: '127.0.0.1', agent: false });
    /** @type {[http.IncomingMessage]} */
    const [events] = await once(request, 'response');
    events.setEncoding('utf8');
    let text = '';
    events.on('data', (chunk) => (text = (text + chunk).slice(-1000)));
    const wait = async (name, data) => {
      while (!text.includes(`event: ${name}\ndata: ${JSON.stringify(data)}\n\n`)) await delay(1);
    };
    await wait('hello', { greeting: 1 });
    events.pause();

    const filler = 'x'.repeat(100_000);
    const fill = async () => {
      stream.send('sample', filler);
      await delay(1);
    };
    // The system takes some megabytes for him.
    let last = 0;
    for (let rounds = 0; rounds < 50; ++rounds) {
      await fill();
      if (greetings !== last || !response.writableNeedDrain) rounds = 0;
      last = greetings;
    }
    const { writableLength } = response;
    assert.ok(writableLength < 1_000_000, `${writableLength} bytes are kept`);
    for (let round = 0; round < 100; ++round) await fill();
    assert.equal(response.writableLength, writableLength);
    assert.equal(greetings, last);

    events.resume();
    await wait('hello', { greeting: last + 1 });
    stream.send('sample', 1);
    await wait('sample', 1);

    stream.close();
    if (!events.readableEnded) await once(events, 'end');
  });
});

describe('the live page over HTTP', function () {
  this.timeout(60_000);

  /** @type {string} */
  let folder;
  /** @type {ExampleServer} */
  let server;
  /** @type {string} */
  let url;

  before(async () => {
    folder = fs.mkdtempSync(path.join(os.tmpdir(), 'live-server-test-'));
    fs.chmodSync(folder, 0o755);
    const many = ['--seconds', '9999', '--connections', '9999'];
    server = new ExampleServer(folder, '--no-load', '--port', '0', ...many);
    url = await server.url();
  });

  after(async () => {
    server?.kill();
    await server?.closed;
    fs.rmSync(folder, { recursive: true, force: true, maxRetries: 10 });
  });

  /** @param {string} where @param {http.RequestOptions} [options] */
  function ask(where, options) {
    return new Promise((resolve, reject) => {
      const request = http.request(url + where, { agent: false, ...options }, (response) => {
        response.resume();
        response.on('end', () => resolve(response));
      });
      request.on('error', reject);
      request.end();
    });
  }

  const press = async (headers, where = '/live/load?route=/db') =>
    (await ask(where, { method: 'POST', headers })).statusCode;

  it('allows the browser no other hosts, and no scripts but its own files', async () => {
    const { headers } = await ask('/');
    const policy = headers['content-security-policy'];
    for (const part of policy.split('; ')) {
      assert.match(part, /^(?:default-src 'none'|\w+-src 'self'|[\w-]+ 'none')$/);
    }
    assert.equal(headers['x-content-type-options'], 'nosniff');
  });

  it('serves only the files of the page', async () => {
    for (const where of ['/', '/live/live.mjs', '/live/uplot.js', '/live/uplot.css']) {
      assert.equal((await ask(where)).statusCode, 200, where);
    }
    for (const where of [
      '/live/',
      '/live/constructor',
      '/live/..%2fstart.js',
      '/live/%2e%2e/start.js',
      '/start.js',
    ]) {
      assert.equal((await ask(where)).statusCode, 404, where);
    }
    assert.equal((await ask('/', { method: 'POST' })).statusCode, 405);
    assert.equal((await ask('/live/load')).statusCode, 405);
  });

  it('starts a load only for its own page on this machine', async () => {
    const { port } = new URL(url);
    for (const headers of [
      {},
      { origin: 'http://example.com' },
      { origin: 'null' },
      { origin: `http://127.0.0.1:${Number(port) + 1}` },
      { host: 'example.com', origin: 'http://example.com' },
      { host: `example.com:${port}`, origin: `http://example.com:${port}` },
    ]) {
      assert.equal(await press(headers), 403, JSON.stringify(headers));
    }
    for (const route of ['', '/live/events', 'http://example.com/', '/db?']) {
      const where = `/live/load?route=${encodeURIComponent(route)}`;
      assert.equal(await press({ origin: url }, where), 400, route);
    }
    const { load } = await server.greeting();
    assert.equal(load.running, undefined);
  });

  it('starts one load at a time, limited whatever the options are, which ends with the server', async () => {
    const headers = { origin: url };
    assert.equal(await press(headers), 202);
    assert.equal(await press(headers), 409);
    const host = new URL(url).host.replace('127.0.0.1', 'localhost');
    assert.equal(await press({ host, origin: `http://${host}` }), 409);
    const { button, load } = await server.greeting();
    assert.deepEqual(button, { seconds: 60, connections: 256 });
    const { leftMillis, ...running } = load.running;
    assert.deepEqual(running, { route: '/db', ...button });
    assert.ok(leftMillis <= 60_000);
    assert.equal(await server.end(), 0, server.errors);
  });
});
