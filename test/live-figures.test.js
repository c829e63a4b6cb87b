'use strict';

// What the live page of `npm start` is fed with: examples/http-server/live/sampler.js and event-stream.js.
// The page is in live-page.test.js. Run by mocha.

const assert = require('node:assert/strict');
const { once } = require('node:events');
const http = require('node:http');
const { setTimeout: delay } = require('node:timers/promises');
const { EventStream } = require('../examples/http-server/live/event-stream');
const { Sampler } = require('../examples/http-server/live/sampler');
const { endAll, newPool } = require('./support/connect');
const { listen } = require('./support/ports');

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

  it('are what the pool has counted, and nothing when nothing happens', async () => {
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

  it('see what is in flight between two samples', async () => {
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

  it('keep a connection in its place, which the next one has when it is closed', async () => {
    const pool = newPool({ max: 2 });
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

  it('keeps nothing for one who does not read, and greets him anew when he does', async () => {
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
