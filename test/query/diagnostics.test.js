'use strict';

// lib/query/diagnostics.js: what the tracing channels publish to their subscribers.

const assert = require('node:assert/strict');
const { AsyncLocalStorage } = require('node:async_hooks');
const { tracingChannel } = require('node:diagnostics_channel');
const { Client } = require('../..');
const { endAll, newClient, newPool } = require('../support/connect');
const { errorOf } = require('../support/outcomes');

describe('tracing channels', () => {
  /** @type {(() => void)[]} */
  const undo = [];

  afterEach(endAll);
  afterEach(() => {
    for (const call of undo.splice(0)) call();
  });

  /** @param {'query' | 'connect' | 'transaction'} name @returns {[string, any][]} what is published */
  function listen(name) {
    const channel = tracingChannel(`pg-conduit:${name}`);
    const events = [];
    const handlers = Object.fromEntries(
      ['start', 'end', 'asyncStart', 'asyncEnd', 'error'].map((event) => [
        event,
        (context) => events.push([event, context]),
      ]),
    );
    channel.subscribe(handlers);
    undo.push(() => channel.unsubscribe(handlers));
    return events;
  }

  const names = (events) => events.map(([name]) => name);

  for (const kind of ['client', 'pool']) {
    it(`publish the text, the result and the duration of a query of a ${kind}`, async () => {
      const one = kind === 'pool' ? newPool({ max: 1 }) : await newClient();
      const events = listen('query');
      const result = await one.query('select $1::int as n, pg_backend_pid() as pid', [7]);
      assert.deepEqual(names(events), ['start', 'end', 'asyncStart', 'asyncEnd']);
      const [, context] = events[0];
      for (const [, other] of events) assert.equal(other, context);
      assert.equal(context.text, 'select $1::int as n, pg_backend_pid() as pid');
      assert.equal(context.rowCount, 1);
      assert.equal(context.result, result);
      assert.equal(context.error, undefined);
      assert.equal(context.processId, result.rows[0].pid);
      assert.equal(context.position, 0);
      assert.ok(context.queuedMillis >= 0 && context.durationMillis >= context.queuedMillis);
      assert.ok(!JSON.stringify(context).includes('"values"'), 'parameters are nobody’s affair');
    });
  }

  it('publish the position of a query in the pipeline', async () => {
    const client = await newClient();
    const events = listen('query');
    await Promise.all([1, 2, 3].map((n) => client.query('select $1::int', [n])));
    const started = events.filter(([name]) => name === 'start');
    assert.deepEqual(
      started.map(([, { position }]) => position),
      [0, 1, 2],
    );
  });

  it('publish errors, including those raised before anything is sent', async () => {
    const pool = newPool({ max: 1 });
    const events = listen('query');
    const failed = await errorOf(pool.query('select 1 / 0'));
    const refused = await errorOf(pool.query('begin'));
    assert.deepEqual(names(events), [
      ...['start', 'end', 'error', 'asyncStart', 'asyncEnd'],
      ...['start', 'end', 'error', 'asyncStart', 'asyncEnd'],
    ]);
    assert.equal(events[2][1].error, failed);
    assert.equal(events[7][1].error, refused);
    assert.equal(events[7][1].processId, 0);
  });

  it('let a subscriber run queries itself', async () => {
    const pool = newPool({ max: 1 });
    await pool.query('select 1');
    const channel = tracingChannel('pg-conduit:query');
    const inner = new Promise((resolve) => {
      const handlers = {
        asyncEnd() {
          channel.unsubscribe(handlers);
          resolve(pool.query('select 2 as n'));
        },
      };
      channel.subscribe(handlers);
    });
    const results = await Promise.all(
      Array.from({ length: 50 }, (_, i) => pool.query('select $1::int as i', [i])),
    );
    assert.deepEqual(
      results.map(({ rows }) => rows[0].i),
      Array.from({ length: 50 }, (_, i) => i),
    );
    assert.deepEqual((await inner).rows, [{ n: 2 }]);
  });

  for (const kind of ['client', 'pool']) {
    it(`publish a batch, streams and COPY of a ${kind}, from start to end`, async () => {
      const one = kind === 'pool' ? newPool({ max: 1 }) : await newClient();
      await one.query('drop table if exists traced; create table traced (i int)');
      const events = listen('query');
      const series = 'select generate_series(1, $1::int) as i';
      const results = await one.batch(['select 1', { text: series, values: [3] }]);
      const stream = one.stream(series, [1000]);
      assert.equal((await stream.toArray()).length, 1000);
      for await (const row of one.stream(series, [10_000_000])) if (row) break;
      await one.copyRows('traced', ['i'], [[1], [2]]);
      await one.copyTo('copy traced to stdout').toArray();
      await errorOf(one.copyTo('copy nowhere to stdout').toArray());
      await errorOf(one.batch(['select 1', 'select 1 / 0']));
      await one.query('drop table traced');
      const ends = events.filter(([name]) => name === 'asyncEnd').map(([, context]) => context);
      const [batch, read, left] = ends;
      assert.deepEqual(
        [batch.text, batch.batchSize, batch.rowCount],
        [`select 1; ${series}`, 2, null],
      );
      assert.equal(batch.result, results);
      assert.deepEqual([read.text, read.batchSize, read.rowCount], [series, undefined, 1000]);
      assert.equal(left.error.name, 'QueryAbortedError');
      const ended = ends
        .slice(3)
        .map(({ text, rowCount, error }) => [
          text.replace(/.*; /s, '').slice(0, 11),
          rowCount,
          error?.code,
        ]);
      assert.deepEqual(ended, [
        ['copy "trace', 2, undefined],
        ['copy traced', 2, undefined],
        ['copy nowher', null, '42P01'],
        ['select 1 / ', null, '22012'],
        ['drop table ', null, undefined],
      ]);
      for (const { processId, durationMillis } of ends) {
        assert.ok(processId > 0 && durationMillis > 0);
      }
    });
  }

  it('carry a store from the start to the end of a query', async () => {
    const client = await newClient();
    const channel = tracingChannel('pg-conduit:query');
    const storage = new AsyncLocalStorage();
    channel.start.bindStore(storage, ({ text }) => `span of ${text}`);
    undo.push(() => channel.start.unbindStore(storage));
    let seen;
    const handlers = { start: () => (seen = storage.getStore()) };
    channel.subscribe(handlers);
    undo.push(() => channel.unsubscribe(handlers));
    await client.query('select 1');
    assert.equal(seen, 'span of select 1');
  });

  it('publish connection attempts, successful and failed', async () => {
    const events = listen('connect');
    await newClient();
    assert.deepEqual(names(events), ['start', 'end', 'asyncStart', 'asyncEnd']);
    assert.ok('user' in events[0][1] && !('password' in events[0][1]));
    const client = new Client({ host: '/nowhere' });
    const error = await errorOf(client.connect());
    assert.deepEqual(names(events.slice(4)), ['start', 'end', 'error', 'asyncStart', 'asyncEnd']);
    assert.equal(events[6][1].error, error);
  });

  it('publish a transaction and its queries', async () => {
    const pool = newPool({ max: 1 });
    const transactions = listen('transaction');
    const queries = listen('query');
    const isolationLevel = 'serializable';
    await pool.transaction((tx) => tx.query('select 1'), { isolationLevel });
    assert.deepEqual(names(transactions), ['start', 'end', 'asyncStart', 'asyncEnd']);
    assert.deepEqual(transactions[0][1].options, { isolationLevel });
    const texts = queries.filter(([name]) => name === 'start').map(([, { text }]) => text);
    assert.ok(texts.includes('select 1'), texts.join());
  });
});
