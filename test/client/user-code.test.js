'use strict';

// User code that runs inside the driver: listeners, callbacks, parsers, hooks. Whenever it throws, and
// whatever it calls, nothing is lost, nothing is done twice, and no other caller is affected.

const assert = require('node:assert/strict');
const { once } = require('node:events');
const { tracingChannel } = require('node:diagnostics_channel');
const { finished } = require('node:stream/promises');
const { setImmediate: turn } = require('node:timers/promises');
const Cursor = require('pg-cursor');
const QueryStream = require('pg-query-stream');
const conduit = require('../..');
const { Client, ParameterError, ResultError, types } = conduit;
const { blockThread } = require('../support/blocked');
const { endAll, newClient, newPool, resetSchema } = require('../support/connect');
const { errorOf, outcomeOf } = require('../support/outcomes');
const { collectUncaught } = require('../support/uncaught');

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

  /** @param {import('../..').Pool} pool */
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
 * @typedef {{ pool: import('../..').Pool, client: Client, call: () => void }} Environment
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
  "a listener for the 'data' of a stream that was paused": {
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
        if (stream.write(line.repeat(50_000))) continue;
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
      assert.equal(stream.rowCount, 200_001);
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
  'the handlers of a submittable without rows': {
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

describe('user code', () => {
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
        it(`raises one uncaught exception for each throw, without affecting others: throwing ${moment}`, async () => {
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

/**
 * What a parser, asked in the middle of a delivery, may ask of the driver in its turn. Each gives a promise.
 * @type {Record<string, (environment: { pool: import('../..').Pool, client: any }) => any>}
 */
const REQUESTS = {
  'a query of the pool': ({ pool }) => pool.query('select 1 as i'),
  'a query of its client': ({ client }) => client.query('select 1 as i'),
  'queries of both': ({ pool, client }) =>
    Promise.all(TEN.map(() => [pool.query('select 1 as i'), client.query('select 1 as i')]).flat()),
  'a batch': ({ pool }) => pool.batch(['select 1 as i', 'select 2 as i']),
  'a transaction': ({ pool }) => pool.transaction((tx) => tx.query('select 1 as i')),
  'a transaction of its client': ({ client }) =>
    client.transaction((/** @type {any} */ tx) => tx.query('select 1 as i')),
  'a checkout': async ({ pool }) => (await pool.connect()).release(),
  'a stream': ({ pool }) => pool.stream(TEN_ROWS).toArray(),
  'a COPY': ({ pool }) => pool.copyRows('copied', ['i'], [[1], [2]]),
  'a notification': ({ pool }) => pool.notify('whispers', 'x'),
  'a subscription': async ({ pool }) => (await pool.listen('whispers', () => {})).unlisten(),
  'a cancel request': ({ client }) => client.cancel(),
  'a query that is aborted at once': ({ client }) => {
    const controller = new AbortController();
    const outcome = outcomeOf(client.query({ text: 'select 1', signal: controller.signal }));
    controller.abort();
    return outcome;
  },
};

describe('a listener that throws', () => {
  before(resetSchema);
  afterEach(endAll);

  it('never makes statements of other callers run twice', async () => {
    const client = await newClient();
    await client.query('drop table if exists twice; create table twice (n int, check (n > 0))');
    const pool = newPool({ max: 1, syncGroup: 'all' });
    const rounds = Array.from({ length: 40 }, (_, index) => index + 1);
    const failing = (/** @type {number} */ round) =>
      `insert into twice (n) values ($1) -- ${round}`;
    // Known to be cheap, and fails once: its group is undone, and each member sent again.
    for (const round of rounds) {
      for (const n of [1, 2, 3]) await pool.query(failing(round), [n]);
    }
    await client.query('truncate twice');
    const outcomes = [];
    await collectUncaught(async () => {
      for (const round of rounds) {
        const stream = client.stream(
          'select i from pg_sleep(0.004), generate_series(1, 10) as i order by i',
        );
        const done = finished(stream);
        stream.on('data', ({ i }) => {
          if (i % 5 === 0) throw new Error('thrown by a listener');
        });
        for (let each = 0; each < 8; ++each) {
          const n = each === 5 ? -1 : 8 * round + each;
          const text = each === 5 ? failing(round) : 'insert into twice (n) values ($1)';
          outcomes.push(outcomeOf(pool.query(text, [n])).then(({ error }) => [n, error]));
        }
        // Everything is sent, and all of the answers come in one delivery.
        await turn();
        blockThread(15);
        await done;
      }
      await Promise.all(outcomes);
    });
    const { rows } = await client.query('select n, count(*)::int as times from twice group by n');
    const times = new Map(rows.map((row) => [row.n, row.times]));
    for (const [n, error] of await Promise.all(outcomes)) {
      assert.equal(error?.code, n > 0 ? undefined : '23514');
      assert.equal(times.get(n), n > 0 ? 1 : undefined);
    }
  });
});

describe('a parser', () => {
  before(resetSchema);
  beforeEach(async () => {
    const client = await newClient();
    await client.query('drop table if exists marks, copied');
    await client.query('create table marks (n int primary key); insert into marks values (0)');
    await client.query('create table copied (i bigint)');
  });
  afterEach(endAll);

  for (const [request, ask] of Object.entries(REQUESTS)) {
    for (const row of [1, 5, 10]) {
      it(`of row ${row} may start ${request}`, async () => {
        const pool = newPool({ max: 2, syncGroup: 'all' });
        const client = await pool.connect();
        const neighbours = new Neighbours(pool);
        for (let repeat = 0; repeat < 5; ++repeat) {
          const asked = [];
          client.setTypeParser(INT4, (/** @type {string} */ text) => {
            const i = Number(text);
            if (asked.length === 0 && i === row) {
              asked.push(undefined);
              asked[0] = ask({ pool, client });
            }
            return i;
          });
          const answers = [TEN_ROWS, 'select 0 as i', TEN_ROWS].map((text) => client.query(text));
          const rows = (await Promise.all(answers)).map((result) => result.rows.map(({ i }) => i));
          assert.deepEqual(rows, [TEN, [0], TEN]);
          assert.equal(asked.length, 1);
          await asked[0];
        }
        client.release();
        await neighbours.check();
      });
    }
  }

  it('may release its client, after the queries that it has sent', async () => {
    for (const broken of [false, true]) {
      const pool = newPool({ max: 1 });
      const client = await pool.connect();
      const last = [];
      client.setTypeParser(INT4, (/** @type {string} */ text) => {
        if (last.length === 0) {
          last.push(outcomeOf(client.query('begin')));
          client.release(broken);
        }
        return Number(text);
      });
      const answers = [TEN_ROWS, 'select 0 as i'].map((text) => outcomeOf(client.query(text)));
      const after = pool.query("select pg_current_xact_id_if_assigned() as id, 'x' as x");
      await Promise.all([...answers, ...last]);
      // Nobody gets it with the transaction open.
      assert.equal((await after).rows.length, 1);
      await pool.query('create temp table if not exists nobody (i int)').catch(() => {});
      assert.deepEqual((await pool.query("select 'y' as y")).rows, [{ y: 'y' }]);
    }
  });

  it('may end its pool, which finishes earlier calls', async () => {
    const pool = newPool({ max: 2 });
    let calls = 0;
    const more = [];
    const mine = {
      getTypeParser: (/** @type {number} */ oid, /** @type {any} */ format) => {
        const parser = types.getTypeParser(oid, format);
        if (oid !== INT4) return parser;
        return (/** @type {string} */ text) => {
          if (++calls === 2) {
            more.push(pool.query('select 1 as i'), pool.end());
            more.push(errorOf(pool.query('select 2 as i')));
          }
          return parser(text);
        };
      },
    };
    const answers = TEN.map(() => pool.query({ text: TEN_ROWS, types: mine }));
    for (const { rows } of await Promise.all(answers)) assert.equal(rows.length, 10);
    const [{ rows }, , refusal] = await Promise.all(more);
    assert.deepEqual(rows, [{ i: 1 }]);
    assert.equal(refusal.code, 'ERR_PG_CONDUIT_POOL_ENDED');
    assert.equal(pool.totalCount, 0);
  });

  it('may end its client and destroy its stream', async () => {
    const client = await newClient();
    let calls = 0;
    /** @type {any} */
    let stream = undefined;
    client.setTypeParser(INT4, (/** @type {string} */ text) => {
      if (++calls === 3) stream.destroy();
      return Number(text);
    });
    stream = client.stream(TEN_ROWS);
    await once(stream, 'close');
    client.setTypeParser(INT4, Number);
    assert.deepEqual((await client.query('select 2 as i')).rows, [{ i: 2 }]);
    const ended = [];
    client.setTypeParser(INT4, (/** @type {string} */ text) => {
      if (ended.length === 0) ended.push(errorOf(client.query("select 'last' as t")), client.end());
      return Number(text);
    });
    // It has its answer.
    const before = client.query('select 3 as i');
    assert.deepEqual((await before).rows, [{ i: 3 }]);
    assert.equal((await ended[0]).message, 'Connection terminated');
    await ended[1];
  });

  it('does not delay other queries after a listener has destroyed its stream', async () => {
    const client = await newClient();
    for (const rows of [1, 5, 10]) {
      const stream = client.stream(TEN_ROWS, [], { batchSize: 2 });
      let count = 0;
      stream.on('data', () => {
        if (++count === rows) stream.destroy();
      });
      await once(stream, 'close');
      const startedAt = performance.now();
      assert.deepEqual((await client.query('select 2 as i')).rows, [{ i: 2 }]);
      assert.ok(performance.now() - startedAt < 1500);
    }
  });

  const STRANGE = {
    undefined,
    'a string': 'a string',
    'a symbol': Symbol('x'),
    'an object without a prototype': Object.create(null),
    'an object with a message that throws': {
      get message() {
        throw new Error('nobody asked');
      },
    },
    'a proxy that throws': new Proxy(
      {},
      {
        get: () => assert.fail('asked'),
        getPrototypeOf: () => assert.fail('asked'),
      },
    ),
    'a frozen error of the driver': Object.freeze(new ResultError('from elsewhere')),
  };
  for (const [what, thrown] of Object.entries(STRANGE)) {
    it(`may throw ${what}, which rejects only its query`, async () => {
      const pool = newPool({ max: 1, syncGroup: 'all' });
      const neighbours = new Neighbours(pool);
      const throwing = {
        getTypeParser: (/** @type {number} */ oid, /** @type {any} */ format) =>
          oid === INT4
            ? () => {
                throw thrown;
              }
            : types.getTypeParser(oid, format),
      };
      for (let repeat = 0; repeat < 4; ++repeat) {
        const [error, batchError] = await Promise.all([
          errorOf(pool.query({ text: TEN_ROWS, types: throwing })),
          errorOf(pool.batch(['select 1 as i', { text: TEN_ROWS, types: throwing }])),
        ]);
        for (const each of [error, batchError]) {
          assert.ok(each instanceof ResultError);
          assert.equal(each.outcome, 'unknown');
          assert.notEqual(each, thrown);
        }
      }
      const stream = pool.stream({ text: TEN_ROWS, types: throwing });
      assert.ok((await errorOf(stream.toArray())) instanceof ResultError);
      await neighbours.check();
    });
  }
});

describe('an object of the option types', () => {
  afterEach(endAll);

  for (const phase of ['unprepared', 'prepared']) {
    for (const kind of ['query', 'batch', 'text of several statements']) {
      it(`that sends queries itself while a ${kind}, ${phase}, is written does not mix them up`, async () => {
        const client = await newClient();
        const one = { text: 'select $1::int as i', values: [7] };
        const two = { text: 'select $1::int as i, $2::text as t', values: [8, 'eight'] };
        const inner = [];
        let depth = 0;
        const asking = {
          getTypeParser: (/** @type {number} */ oid, /** @type {any} */ format) => {
            if (++depth < 4) {
              inner.push(client.query(two), client.batch([one, two]));
              // A text of several statements would be what it cancels.
              if (kind === 'query' || kind === 'batch') inner.push(client.cancel());
              // Looked at below, when the query is done.
              for (const promise of inner) promise.catch(() => {});
            }
            return types.getTypeParser(oid, format);
          },
        };
        for (let warm = 0; phase === 'prepared' && warm < 5; ++warm) await client.query(one);
        const given = { ...one, types: asking };
        // cancel() hits whatever the server has come to.
        const assertCancelled = (/** @type {any} */ error) => {
          assert.ok(kind !== 'text of several statements', error);
          assert.equal(error.code, '57014', error);
        };
        try {
          let rows;
          if (kind === 'query') [rows] = [(await client.query(given)).rows];
          else if (kind === 'batch') {
            [rows] = (await client.batch([given, given])).map((r) => r.rows);
          } else {
            const text = 'select 6 as i; select 7 as i';
            rows = /** @type {any} */ (await client.query({ text, types: asking }))[1].rows;
          }
          assert.deepEqual(rows, [{ i: 7 }]);
          assert.ok(inner.length >= 3);
        } catch (error) {
          assertCancelled(error);
        }
        for (const { status, value, reason } of await Promise.allSettled(inner)) {
          if (status === 'rejected') assertCancelled(reason);
          if (value === undefined) continue;
          const last = Array.isArray(value) ? value[1] : value;
          assert.deepEqual(last.rows, [{ i: 8, t: 'eight' }]);
        }
      });
    }
  }

  it('that sends a query while a batch is written does not split it', async () => {
    const client = await newClient();
    await client.query('create temp table whole (i int)');
    const inner = [];
    let isAsked = false;
    const asking = {
      getTypeParser: (/** @type {number} */ oid, /** @type {any} */ format) => {
        if (isAsked) inner.push(client.query('select 1 as i'));
        isAsked = false;
        return types.getTypeParser(oid, format);
      },
    };
    for (let repeat = 0; repeat < 5; ++repeat) {
      isAsked = true;
      const error = await errorOf(
        client.batch(['insert into whole values (1)', { text: 'select 1 / 0', types: asking }]),
      );
      assert.equal(error.outcome, 'not-run');
      assert.equal(inner.length, repeat + 1);
      assert.deepEqual((await client.query('select * from whole')).rows, []);
    }
    for (const { rows } of await Promise.all(inner)) assert.deepEqual(rows, [{ i: 1 }]);
  });

  it('that sends a query and throws does not affect that query', async () => {
    const client = await newClient();
    const pool = newPool({ max: 1 });
    for (const one of [client, pool]) {
      for (let repeat = 0; repeat < 4; ++repeat) {
        const inner = [];
        const throwing = {
          getTypeParser: () => {
            inner.push(one.query('select 1 as i'), one.batch(['select 2 as i', 'select 3 as i']));
            throw new Error('thrown');
          },
        };
        const before = one.query('select 4 as i');
        const failing = errorOf(one.query({ text: 'select 5 as i', types: throwing }));
        const after = one.query('select 6 as i');
        assert.ok((await failing).cause instanceof ParameterError);
        assert.deepEqual((await before).rows, [{ i: 4 }]);
        assert.deepEqual((await after).rows, [{ i: 6 }]);
        const [single, [, third]] = await Promise.all(inner);
        assert.deepEqual(single.rows, [{ i: 1 }]);
        assert.deepEqual(third.rows, [{ i: 3 }]);
      }
    }
  });

  it('that throws rejects only its query, whatever it throws', async () => {
    const client = await newClient();
    const bare = Object.create(null);
    for (const thrown of [undefined, 'text', new RangeError('mine'), bare, Symbol('x')]) {
      const throwing = {
        getTypeParser: () => {
          throw thrown;
        },
      };
      const before = client.query('select 1 as i');
      const failing = errorOf(client.query({ text: 'select 2 as i', types: throwing }));
      const after = client.query('select 3 as i');
      assert.deepEqual((await before).rows, [{ i: 1 }]);
      assert.deepEqual((await after).rows, [{ i: 3 }]);
      const error = await failing;
      const isPassedOn = thrown instanceof Error;
      const ours = isPassedOn ? error.cause : error;
      assert.ok(ours instanceof ParameterError);
      assert.match(ours.message, /getTypeParser\(\) threw/);
      assert.equal(isPassedOn ? error : ours.cause, thrown);
      assert.equal(error.outcome, 'not-run');
    }
  });
});

describe('a parameter', () => {
  afterEach(endAll);

  it('that throws, queries or changes while it is converted affects only its query', async () => {
    const client = await newClient();
    const inner = [];
    const asking = {
      toPostgres() {
        inner.push(client.query('select $1::int as i', [1]));
        return String(inner.length);
      },
    };
    const results = await Promise.all(
      TEN.map(() => client.query('select $1::int as a, $2::int as b', [asking, asking])),
    );
    assert.deepEqual(
      results.map(({ rows: [{ a, b }] }) => [a, b]),
      TEN.map((n) => [2 * n - 1, 2 * n]),
    );
    for (const { rows } of await Promise.all(inner)) assert.deepEqual(rows, [{ i: 1 }]);
    for (const thrown of [undefined, 'text', Symbol('x'), Object.create(null)]) {
      const throwing = {
        toPostgres() {
          throw thrown;
        },
      };
      const error = await errorOf(client.query('select $1', [throwing]));
      assert.ok(error instanceof ParameterError);
      assert.match(error.message, /^parameter \$1: /);
      assert.equal(error.cause, thrown);
      const json = { toJSON: throwing.toPostgres };
      assert.match((await errorOf(client.query('select $1', [json]))).message, /^parameter \$1: /);
    }
  });

  it('of bytes is sent in full, whatever its length property says', async () => {
    const client = await newClient();
    for (const length of [0, 1, 5, 1 << 20]) {
      const bytes = Buffer.from('abc');
      Object.defineProperty(bytes, 'length', { value: length });
      const parameters = [bytes, 'behind'];
      const { rows } = await client.query('select $1::bytea as b, $2::text as t', parameters);
      assert.deepEqual(rows, [{ b: Buffer.from('abc'), t: 'behind' }]);
    }
  });
});

describe('subscribers of a tracing channel', () => {
  afterEach(endAll);

  it('may freeze their argument', async () => {
    const freeze = { start: Object.freeze, end() {}, asyncStart() {}, asyncEnd() {}, error() {} };
    const channels = ['query', 'connect', 'transaction'].map((name) =>
      tracingChannel(`pg-conduit:${name}`),
    );
    for (const channel of channels) channel.subscribe(freeze);
    try {
      await collectUncaught(async () => {
        const pool = newPool({ max: 1 });
        assert.deepEqual((await pool.query('select 1 as i')).rows, [{ i: 1 }]);
        assert.equal((await errorOf(pool.query('selec'))).code, '42601');
        assert.equal(await pool.transaction(async () => 5), 5);
        const results = await pool.batch(['select 1 as i', 'select 2 as i']);
        assert.deepEqual(results[1].rows, [{ i: 2 }]);
        await pool.end();
      });
    } finally {
      for (const channel of channels) channel.unsubscribe(freeze);
    }
  });
});

describe('a bug of the driver itself, while results are delivered,', () => {
  before(resetSchema);
  afterEach(endAll);

  const { Query } = require('../../lib/query/query');
  const METHODS = ['addRows', 'complete', 'synced', 'failed'];
  for (const method of METHODS) {
    it(`in ${method}() ends its connection, without affecting others`, async () => {
      const faulty = await newClient();
      const clients = await Promise.all(TEN.map(() => newClient()));
      faulty.on('error', () => {});
      const text = method === 'failed' ? 'select 1 / 0 as i -- faulty' : 'select 1 as i -- faulty';
      const plain = /** @type {any} */ (Query.prototype)[method];
      for (let warm = 0; warm < 5; ++warm) {
        await outcomeOf(faulty.query(text));
      }
      let faults = 0;
      /** @type {any} */ (Query.prototype)[method] = function planted(...parameters) {
        if (this.text.endsWith('-- faulty') && ++faults === 1) throw new Error('planted');
        return plain.apply(this, parameters);
      };
      try {
        const uncaught = await collectUncaught(async () => {
          const first = outcomeOf(faulty.query(text));
          const behind = outcomeOf(faulty.query('select 2 as i'));
          const others = clients.map((client) => client.query('select 3 as i'));
          for (const { rows } of await Promise.all(others)) assert.deepEqual(rows, [{ i: 3 }]);
          const outcomes = [await first, await behind];
          for (const { error } of outcomes) {
            assert.ok(error instanceof conduit.ConnectionError);
            assert.equal(error.outcome, 'unknown');
          }
          await faulty.end();
        });
        assert.deepEqual(
          uncaught.map((error) => /** @type {Error} */ (error).message),
          ['planted'],
        );
      } finally {
        /** @type {any} */ (Query.prototype)[method] = plain;
      }
    });
  }
});
