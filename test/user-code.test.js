'use strict';

// Code of the user's that runs inside the driver: listeners, callbacks, parsers, hooks. Whenever it throws, and
// whatever it asks for, nothing is lost, nothing is done twice, and nobody else notices.

const assert = require('node:assert/strict');
const { once } = require('node:events');
const { tracingChannel } = require('node:diagnostics_channel');
const { finished } = require('node:stream/promises');
const { setImmediate: turn } = require('node:timers/promises');
const Cursor = require('pg-cursor');
const QueryStream = require('pg-query-stream');
const conduit = require('..');
const { Client, ParameterError, ResultError, types } = conduit;
const { endAll, newClient, newPool, resetSchema } = require('./support/connect');
const { errorOf, outcomeOf } = require('./support/outcomes');
const { collectUncaught } = require('./support/uncaught');

const { INT4 } = types.builtins;
const TEN_ROWS = 'select i from generate_series(1, 10) as i';
/** More than a stream keeps for whoever reads. */
const MANY_ROWS = 'select i from generate_series(1, 1500) as i';
const MANY = Array.from({ length: 1500 }, (_, index) => index + 1);
const TEN = MANY.slice(0, 10);
const WIDE = `select repeat('x', 1000) from generate_series(1, 4000)`;

const MOMENTS = {
  first: (/** @type {number} */ call) => call === 1,
  'in the middle': (/** @type {number} */ call) => call === 3,
  last: (/** @type {number} */ call, /** @type {number} */ calls) => call === calls,
  'each time': () => true,
};

/** What is called so many times, and throws at its moments. */
class Thrower {
  calls = 0;
  /** @type {Error[]} */
  thrown = [];

  /** @param {(call: number, calls: number) => boolean} isMoment @param {number} expected calls */
  constructor(isMoment, expected) {
    this.isMoment = isMoment;
    this.expected = expected;
  }

  call = () => {
    ++this.calls;
    if (!this.isMoment(this.calls, this.expected)) return;
    const error = new Error(`thrown by call ${this.calls}`);
    this.thrown.push(error);
    throw error;
  };
}

/** Others, on the same connections and in the same deliveries, whose groups fail now and then. */
class Neighbours {
  #pool;
  #isOver = false;
  #sent = 0;

  /** @param {import('..').Pool} pool */
  constructor(pool) {
    this.#pool = pool;
    this.#done = this.#run();
  }

  #done;

  async #run() {
    const pool = this.#pool;
    while (!this.#isOver) {
      /** @type {Promise<any>[]} */
      const round = [];
      for (let each = 0; each < 6; ++each) {
        const n = ++this.#sent;
        round.push(
          pool.query('insert into marks (n) values ($1) returning n', [n]).then(({ rows }) => {
            assert.deepEqual(rows, [{ n }]);
          }),
          pool.query('select $1::int as n, $2::text as t', [n, `é${n}`]).then(({ rows }) => {
            assert.deepEqual(rows, [{ n, t: `é${n}` }]);
          }),
        );
      }
      // Its group is undone, and the others in it are sent again.
      const text = `insert into marks (n) values (0) -- ${this.#sent % 30}`;
      round.push(errorOf(pool.query(text)));
      await Promise.all(round);
    }
  }

  async check() {
    this.#isOver = true;
    await this.#done;
    const { rows } = await this.#pool.query('select n::int from marks where n > 0 order by n');
    assert.deepEqual(
      rows.map(({ n }) => n),
      Array.from({ length: this.#sent }, (_, index) => index + 1),
    );
  }
}

/** @param {number[]} found @param {number[]} expected */
function assertRows(found, expected) {
  assert.deepEqual(found, expected);
}

/** @param {import('stream').Readable} stream @returns {any[]} what it gives, while a listener of ours throws */
function collect(stream, call) {
  const rows = [];
  stream.on('data', (row) => {
    rows.push(row.i ?? row);
    call();
  });
  return rows;
}

/**
 * @typedef {{ pool: import('..').Pool, client: Client, call: () => void }} Environment
 *
 * Where code of the user's is called `calls` times, and what must be true whatever it throws.
 * @type {Record<string, { calls: number, atLeast?: boolean, run: (environment: Environment) => Promise<void> }>}
 */
const PLACES = {
  "a listener for the 'data' of a stream": {
    calls: 10,
    async run({ pool, call }) {
      const stream = pool.stream(TEN_ROWS);
      const rows = collect(stream, call);
      await finished(stream);
      assertRows(rows, TEN);
    },
  },
  "a listener for the 'data' of a stream that has had to wait": {
    calls: 1500,
    async run({ pool, call }) {
      const stream = pool.stream(MANY_ROWS, [], { batchSize: 16 });
      await once(stream, 'readable');
      stream.removeAllListeners('readable');
      const rows = collect(stream, call);
      stream.resume();
      await finished(stream);
      assertRows(rows, MANY);
    },
  },
  "listeners for the 'end' and 'close' of a stream": {
    calls: 2,
    async run({ pool, call }) {
      const stream = pool.stream(TEN_ROWS);
      const rows = [];
      stream.on('data', ({ i }) => rows.push(i));
      // As in any emitter, who comes behind a listener that throws is not called.
      const done = finished(stream);
      for (const event of ['end', 'close']) stream.on(event, call);
      await done;
      await turn();
      assertRows(rows, TEN);
    },
  },
  "a listener for the 'error' of a stream": {
    calls: 1,
    async run({ pool, call }) {
      const stream = pool
        .stream('select 1 / (5 - i) as i from generate_series(1, 10) as i')
        .resume();
      let error;
      stream.on('error', (reason) => {
        error = reason;
        call();
      });
      await once(stream, 'close');
      assert.equal(error.code, '22012');
    },
  },
  "a listener for the 'readable' of a stream": {
    calls: 1,
    atLeast: true,
    async run({ pool, call }) {
      const stream = pool.stream(MANY_ROWS, [], { batchSize: 64 });
      const rows = [];
      stream.on('readable', () => {
        for (let row = stream.read(); row !== null; row = stream.read()) rows.push(row.i);
        call();
      });
      await finished(stream);
      assertRows(rows, MANY);
    },
  },
  'a listener of a stream of a client': {
    calls: 10,
    async run({ client, call }) {
      const stream = client.stream(TEN_ROWS);
      const after = client.query('select 11 as i');
      const rows = collect(stream, call);
      await finished(stream);
      assertRows(rows, TEN);
      assert.deepEqual((await after).rows, [{ i: 11 }]);
    },
  },
  "a listener for the 'data' of copyTo()": {
    calls: 3,
    atLeast: true,
    async run({ pool, call }) {
      const stream = pool.copyTo(`copy (${WIDE}) to stdout`);
      let bytes = 0;
      stream.on('data', (chunk) => {
        bytes += chunk.length;
        call();
      });
      await finished(stream);
      assert.equal(bytes, 4000 * 1001);
    },
  },
  'callbacks of write() of copyFrom()': {
    calls: 50,
    async run({ pool, call }) {
      const stream = pool.copyFrom('copy copied from stdin');
      for (let i = 0; i < 50; ++i) stream.write(`${i}\n`, i % 2 === 0 ? 'utf8' : call, call);
      stream.end();
      await finished(stream);
      assert.equal(stream.rowCount, 50);
    },
  },
  "listeners for 'drain', 'finish' and 'close' of copyFrom(), and the callback of its end": {
    calls: 4,
    atLeast: true,
    async run({ pool, call }) {
      const stream = pool.copyFrom('copy copied from stdin');
      const done = finished(stream);
      for (const event of ['finish', 'close']) stream.on(event, call);
      const line = `${'1'.repeat(9)}\n`;
      for (let i = 0; i < 4; ++i) {
        if (stream.write(line.repeat(200_000))) continue;
        await new Promise((resolve) => {
          stream.once('drain', () => {
            resolve(undefined);
            call();
          });
        });
      }
      stream.end(line, call);
      await done;
      await turn();
      assert.equal(stream.rowCount, 800_001);
    },
  },
  "listeners for 'row' and 'end' of a Query": {
    calls: 11,
    async run({ client, call }) {
      const query = new conduit.Query(TEN_ROWS);
      const rows = [];
      query.on('row', ({ i }) => {
        rows.push(i);
        call();
      });
      const ended = new Promise((resolve) => {
        query.on('end', () => {
          resolve(undefined);
          call();
        });
      });
      client.query(query);
      await ended;
      assertRows(rows, TEN);
    },
  },
  'callbacks of pg-cursor': {
    calls: 5,
    async run({ client, call }) {
      const cursor = client.query(new Cursor(TEN_ROWS));
      const found = [];
      for (let part = 0; part < 4; ++part) {
        await new Promise((resolve) => {
          cursor.read(4, (error, rows) => {
            resolve(undefined);
            found.push(...rows.map(({ i }) => i));
            call();
          });
        });
      }
      await new Promise((resolve) => {
        cursor.close(() => {
          resolve(undefined);
          call();
        });
      });
      assertRows(found, TEN);
    },
  },
  'the handlers of a submittable': {
    calls: 13,
    async run({ client, call }) {
      const rows = [];
      const done = new Promise((resolve) => {
        client.query({
          submit(connection) {
            connection.on('rowDescription', () => {});
            connection.parse({ text: TEN_ROWS });
            connection.bind({ values: [] });
            connection.describe({ type: 'P' });
            connection.execute({});
            connection.sync();
          },
          handleRowDescription: call,
          handleDataRow({ fields: [i] }) {
            rows.push(Number(i));
            call();
          },
          handleCommandComplete: call,
          handleReadyForQuery() {
            resolve(undefined);
            call();
          },
          handleError: assert.fail,
        });
      });
      await done;
      assertRows(rows, TEN);
    },
  },
  'what hears the messages of a submittable without rows': {
    calls: 2,
    async run({ client, call }) {
      /** @type {any} */
      let error;
      await new Promise((resolve) => {
        client.query({
          submit(connection) {
            connection.on('noData', call);
            connection.parse({ text: 'set application_name to default' });
            connection.bind({ values: [] });
            connection.execute({});
            connection.sync();
          },
          handleReadyForQuery() {
            resolve(undefined);
            call();
          },
          handleError(reason) {
            error = reason;
          },
        });
      });
      assert.equal(error, undefined);
    },
  },
  "a listener for the 'data' of pg-query-stream": {
    calls: 10,
    async run({ client, call }) {
      // Its own machinery is Node's, which does not go on: what is asked for is that the client does.
      const stream = client.query(new QueryStream(TEN_ROWS));
      for await (const { i } of stream) {
        assert.ok(TEN.includes(i));
        try {
          call();
        } catch (error) {
          process.nextTick(() => {
            throw error;
          });
        }
      }
    },
  },
  'a listener for notices': {
    calls: 10,
    async run({ client, call }) {
      client.on('notice', call);
      await client.query(`do $$ begin for i in 1..10 loop raise notice '%', i; end loop; end $$`);
      await turn();
      client.off('notice', call);
    },
  },
  'a listener for notifications': {
    calls: 10,
    async run({ client, call }) {
      client.on('notification', call);
      await client.query('listen shouts');
      await client.query(`select pg_notify('shouts', i::text) from generate_series(1, 10) as i`);
      await client.query('unlisten shouts');
      await turn();
      client.off('notification', call);
    },
  },
  'a handler of pool.listen()': {
    calls: 10,
    async run({ pool, call }) {
      const payloads = [];
      const others = [];
      await pool.listen('whispers', (payload) => {
        payloads.push(Number(payload));
        call();
      });
      await pool.listen('whispers', (payload) => others.push(Number(payload)));
      for (const i of TEN) await pool.notify('whispers', String(i));
      while (others.length < 10) await turn();
      assertRows(payloads, TEN);
      assertRows(others, TEN);
    },
  },
  'callbacks of queries': {
    calls: 10,
    async run({ pool, call }) {
      const found = [];
      for (const i of TEN) {
        pool.query('select $1::int as i', [i], (error, { rows }) => {
          found.push(rows[0].i);
          call();
        });
      }
      while (found.length < 10) await turn();
      assertRows(
        found.sort((a, b) => a - b),
        TEN,
      );
    },
  },
  'subscribers of the tracing channel for queries': {
    calls: 8,
    async run({ client, call }) {
      const mine = (/** @type {any} */ { text }) => text.endsWith('-- traced');
      const handlers = Object.fromEntries(
        ['start', 'end', 'asyncStart', 'asyncEnd', 'error'].map((name) => [
          name,
          (context) => mine(context) && call(),
        ]),
      );
      const channel = tracingChannel('pg-conduit:query');
      channel.subscribe(handlers);
      try {
        assert.deepEqual((await client.query('select 1 as i -- traced')).rows, [{ i: 1 }]);
        assert.deepEqual((await client.query('select 2 as i -- traced')).rows, [{ i: 2 }]);
        await turn();
      } finally {
        channel.unsubscribe(handlers);
      }
    },
  },
  "listeners for the pool's events, and its log": {
    calls: 14,
    async run({ call }) {
      const pool = newPool({ max: 1, log: call });
      const removed = new Promise((resolve) => {
        pool.once('remove', resolve);
      });
      for (const event of ['connect', 'acquire', 'release', 'remove', 'error']) {
        pool.on(event, call);
      }
      const client = await pool.connect();
      assert.deepEqual((await client.query('select 1 as i')).rows, [{ i: 1 }]);
      client.release();
      const { rows } = await pool.query('select pg_backend_pid() as pid');
      // Ended by the server while nothing is in flight.
      const killer = await newClient();
      await killer.query('select pg_terminate_backend($1)', [rows[0].pid]);
      await removed;
      const again = await pool.connect();
      assert.deepEqual((await again.query('select 2 as i')).rows, [{ i: 2 }]);
      again.release();
      await pool.end();
      await turn();
      assert.equal(pool.totalCount, 0);
    },
  },
  "listeners for a client's 'connect', 'drain' and 'end'": {
    calls: 3,
    async run({ call }) {
      const client = new Client({ connectionString: process.env.PG_CONDUIT_TEST_URL });
      for (const event of ['connect', 'end']) client.on(event, call);
      await client.connect();
      const drained = new Promise((resolve) => {
        client.once('drain', () => {
          resolve(undefined);
          call();
        });
      });
      assert.deepEqual((await client.query('select 1 as i')).rows, [{ i: 1 }]);
      await drained;
      await client.end();
      await turn();
    },
  },
};

describe('code of the user', () => {
  before(resetSchema);
  beforeEach(async () => {
    const client = await newClient();
    await client.query('drop table if exists marks, copied');
    await client.query('create table marks (n int primary key); insert into marks values (0)');
    await client.query('create table copied (i bigint)');
  });
  afterEach(endAll);

  for (const [place, { calls, atLeast = false, run }] of Object.entries(PLACES)) {
    describe(`that throws in ${place}`, () => {
      for (const [moment, isMoment] of Object.entries(MOMENTS)) {
        if (calls === 1 && moment !== 'each time') continue;
        if (atLeast && moment === 'last') continue;
        it(`${moment} is an uncaught exception each time, and nobody else notices`, async () => {
          const pool = newPool({ max: 3, syncGroup: 'all' });
          const client = await newClient();
          const thrower = new Thrower(isMoment, calls);
          const neighbours = new Neighbours(pool);
          const uncaught = await collectUncaught(async () => {
            await run({ pool, client, call: thrower.call });
            await neighbours.check();
          });
          if (atLeast) assert.ok(thrower.calls >= calls, `${thrower.calls} calls`);
          else assert.equal(thrower.calls, calls);
          assert.deepEqual(new Set(uncaught), new Set(thrower.thrown));
          assert.equal(uncaught.length, thrower.thrown.length);
          assert.deepEqual((await client.query('select 12 as i')).rows, [{ i: 12 }]);
          assert.deepEqual((await pool.query('select 13 as i')).rows, [{ i: 13 }]);
        });
      }
    });
  }
});
