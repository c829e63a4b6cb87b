'use strict';

// What the live page of `npm start` is fed with: examples/http-server/live/sampler.js and event-stream.js.
// The page is in live-page.test.js. Run by mocha.

const assert = require('node:assert/strict');
const { once } = require('node:events');
const http = require('node:http');
const { EventStream } = require('../examples/http-server/live/event-stream');
const { INTERVAL_MILLIS, Sampler } = require('../examples/http-server/live/sampler');
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
    const sample = await nextSample(sampler);

    const queries = after.queries - before.queries;
    const same = (rate, count) => {
      const share = sample.queries / queries;
      assert.ok(Math.abs(rate / share - count) < 0.01, `${rate} ${count}`);
    };
    assert.ok(sample.queries > 0 && sample.queries <= queries * (1000 / INTERVAL_MILLIS) + 1);
    for (const name of ['syncs', 'flushes', 'wakeups']) {
      same(sample[name], after[name] - before[name]);
    }
    same(sample.hits, after.statementCache.hits - before.statementCache.hits);
    same(sample.misses, after.statementCache.misses - before.statementCache.misses);
    same(sample.failed, 1);
    const { p50, p95, p99 } = sample.latencyMillis;
    assert.ok(p50 > 0 && p50 <= p95 && p95 <= p99 && p99 <= 2 * INTERVAL_MILLIS);
    assert.equal(sample.connections[0].queries, sample.queries);
    assert.equal(sample.connections[0].processId, after.connections[0].processID);

    const idle = await nextSample(sampler);
    assert.equal(idle.queries, 0);
    assert.equal(idle.latencyMillis, null);
    assert.equal(idle.connections[0].inFlight, 0);
    assert.deepEqual(sampler.history, [sample, idle]);
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
    assert.ok(peak >= 1 && peak <= 2 && inFlight > 0 && inFlight < peak, `${inFlight} ${peak}`);
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
    const wait = async (pattern) => {
      let text = '';
      for (;;) {
        const [chunk] = await once(events, 'data');
        text += chunk;
        if (pattern.test(text)) return;
      }
    };
    await wait(/event: hello\ndata: {"greeting":1}\n\n/);
    events.pause();

    const filler = 'x'.repeat(100_000);
    // More than any socket takes.
    for (let round = 0; round < 500; ++round) {
      stream.send('sample', filler);
      if (round % 10 === 0) await new Promise(setImmediate);
    }
    assert.ok(response.writableLength < 5_000_000, `${response.writableLength} bytes are kept`);
    assert.equal(greetings, 1);
    const greeted = wait(/event: hello\ndata: {"greeting":2}\n\n/);
    events.resume();
    await greeted;

    stream.close();
    if (!events.readableEnded) await once(events, 'end');
  });
});
